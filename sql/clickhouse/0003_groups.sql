-- Groups, derived from events in the same way as persons. A group exists once a $groupidentify has named it.

-- The types of groups a project has, five at most. They are decided in Postgres and mirrored here.
CREATE TABLE IF NOT EXISTS group_type_rows
(
    project_id UInt32,
    group_type String,
    place UInt8,
    -- of the transaction in Postgres; rises, so that a deletion wins over a row that was sent before it
    version UInt64,
    is_deleted UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (project_id, group_type)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE OR REPLACE VIEW group_types AS
SELECT project_id, group_type, place FROM group_type_rows FINAL;

CREATE TABLE IF NOT EXISTS groups_seen
(
    project_id UInt32,
    group_type LowCardinality(String),
    group_key String,
    first SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    arrived SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    changed SimpleAggregateFunction(max, DateTime64(6, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, group_type, group_key)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE MATERIALIZED VIEW IF NOT EXISTS groups_seen_of_events TO groups_seen AS
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    min(timestamp) AS first,
    min(created_at) AS arrived,
    max(created_at) AS changed
FROM change_feed
WHERE person_mode = 2
GROUP BY project_id, group_type, group_key;

-- One row for each key; w as in person_props.
CREATE TABLE IF NOT EXISTS group_props
(
    project_id UInt32,
    group_type LowCardinality(String),
    group_key String,
    key LowCardinality(String),
    w SimpleAggregateFunction(max, Tuple(at Int64, tie UInt128, op Int8, value String)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, group_type, group_key, key)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE MATERIALIZED VIEW IF NOT EXISTS group_props_of_events TO group_props AS
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    key,
    (toUnixTimestamp64Micro(timestamp), reinterpretAsUInt128(reverse(UUIDToNum(uuid))), op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM change_feed
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE person_mode = 2 AND op = 3;

CREATE OR REPLACE VIEW groups AS
SELECT
    s.project_id AS project_id,
    s.group_type AS group_type,
    s.group_key AS group_key,
    if(p.properties = '', '{}', p.properties) AS properties,
    s.created_at AS created_at,
    s.changed_at AS changed_at
FROM
(
    SELECT project_id, group_type, group_key, min(first) AS created_at, max(changed) AS changed_at
    FROM groups_seen
    WHERE (project_id, group_type) IN (SELECT project_id, group_type FROM group_types)
    GROUP BY project_id, group_type, group_key
) AS s
LEFT ANY JOIN
(
    SELECT
        project_id,
        group_type,
        group_key,
        arraySort(groupArray((key, latest.4))) AS members,
        concat('{', arrayStringConcat(arrayMap(
            member -> concat(toJSONString(toString(member.1)), ':', member.2), members
        ), ','), '}') AS properties
    FROM
    (
        SELECT project_id, group_type, group_key, key, max(w) AS latest
        FROM group_props
        GROUP BY project_id, group_type, group_key, key
    )
    GROUP BY project_id, group_type, group_key
) AS p ON s.project_id = p.project_id AND s.group_type = p.group_type AND s.group_key = p.group_key;
