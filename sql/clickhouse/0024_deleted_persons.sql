-- Older servers: go on.
-- Takes: a moment.
-- Distinct ids of deleted persons, in projects with an export of persons, which reports them. They are forgotten after a
-- month: longer than a run may wait.
CREATE TABLE IF NOT EXISTS deleted_persons
(
    project_id UInt32,
    distinct_id String CODEC(ZSTD(1)),
    person_id UUID,
    version UInt64,
    created_at DateTime64(6, 'UTC'),
    -- arrivals of its first event and of its last change
    arrived DateTime64(6, 'UTC'),
    changed DateTime64(6, 'UTC'),
    deleted_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(deleted_at)
ORDER BY (project_id, distinct_id)
TTL toDateTime(deleted_at) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- A deletion is a change like any other: a person that appears again moves to the later interval. Rows from before it
-- may still be stored for a moment. arrived, changed: of the person that was deleted.
CREATE OR REPLACE VIEW exported_persons AS
SELECT
    d.project_id AS project_id,
    d.project_id AS team_id,
    d.distinct_id AS distinct_id,
    d.person_id AS person_id,
    p.properties AS properties,
    greatest(d.version, u.version) AS person_distinct_id_version,
    toUInt64(toUnixTimestamp64Micro(p.changed_at)) AS person_version,
    p.created_at AS created_at,
    p.changed_at AS _inserted_at,
    false AS is_deleted,
    p.changed_at AS arrived,
    p.changed_at AS changed
FROM person_distinct_ids AS d
INNER JOIN
(
    SELECT project_id, person_id, properties, created_at, changed_at
    FROM persons
) AS p ON d.project_id = p.project_id AND d.person_id = p.person_id
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(version) AS version
    FROM merged_ids
    WHERE is_deleted = 1
    GROUP BY project_id, distinct_id
) AS u ON d.project_id = u.project_id AND d.distinct_id = u.distinct_id
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(deleted_at) AS deleted_at
    FROM deleted_persons
    GROUP BY project_id, distinct_id
) AS x ON d.project_id = x.project_id AND d.distinct_id = x.distinct_id
WHERE d.changed_at > x.deleted_at
UNION ALL
SELECT
    x.project_id AS project_id,
    x.project_id AS team_id,
    x.distinct_id AS distinct_id,
    x.person_id AS person_id,
    '{}' AS properties,
    greatest(x.version, u.version) AS person_distinct_id_version,
    toUInt64(toUnixTimestamp64Micro(x.deleted_at)) AS person_version,
    x.created_at AS created_at,
    x.deleted_at AS _inserted_at,
    true AS is_deleted,
    x.arrived AS arrived,
    x.changed AS changed
FROM
(
    SELECT project_id, distinct_id, person_id, version, created_at, arrived, changed, deleted_at
    FROM deleted_persons FINAL
) AS x
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(version) AS version
    FROM merged_ids
    WHERE is_deleted = 1
    GROUP BY project_id, distinct_id
) AS u ON x.project_id = u.project_id AND x.distinct_id = u.distinct_id
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(greatest(arrived, changed)) AS changed_at
    FROM seen
    WHERE (project_id, distinct_id) IN (SELECT project_id, distinct_id FROM deleted_persons)
    GROUP BY project_id, distinct_id
) AS s ON x.project_id = s.project_id AND x.distinct_id = s.distinct_id
WHERE s.changed_at <= x.deleted_at;
