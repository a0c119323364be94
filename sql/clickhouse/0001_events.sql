-- Events, and the feeds from which everything else about events is derived. event_rows keeps one row for each
-- (project, day, event, distinct id, uuid), the first that arrived: a client's retry never moves an event into a
-- later export interval. Read events through the views `events` (0002) and `stored_events`.

-- One partition a year: each part costs the engine 5 ms however small it is, and months would make 120 parts of an
-- import of ten years. Without these settings the engine neither syncs parts nor keeps merged ones for a while: an
-- acknowledged row must survive a power loss.
CREATE TABLE IF NOT EXISTS event_rows
(
    uuid UUID,
    project_id UInt32,
    event LowCardinality(String),
    distinct_id String CODEC(ZSTD(1)),
    properties String CODEC(ZSTD(1)),
    timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    historical_migration Bool,
    -- the journal's batch: whether any row of a batch is there tells whether its INSERT was stored
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    -- the earlier created_at, the higher the version: ReplacingMergeTree keeps the first arrival
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    -- whose event it is: 0 a person's; 1 nobody's ($process_person_profile: false); 2 a person's, and it sets
    -- properties of its first group
    person_mode UInt8,
    -- changed keys of person and group; operations: 0 set, 1 set once, 2 unset, 3 set of the group; values as raw
    -- JSON
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String) CODEC(ZSTD(1)),
    -- types and keys of the event's groups
    gt Array(LowCardinality(String)),
    gk Array(String) CODEC(ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1,
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYear(timestamp)
ORDER BY (project_id, toDate(timestamp), event, cityHash64(distinct_id), uuid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Distinct ids of deleted persons, as hashes, since the ids themselves are what was deleted. Rows that arrived before
-- deleted_at are not derived, however late they are stored or derived again.
CREATE TABLE IF NOT EXISTS deleted_ids
(
    project_id UInt32,
    id_hash UInt64,
    deleted_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(deleted_at)
ORDER BY (project_id, id_hash)
TTL toDateTime(deleted_at) + INTERVAL 90 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Tables derived from events read this feed: it gets every stored row, and once more the rows of batches that must be
-- derived again because the engine may have died between storing a batch and running its views. Materialized views
-- are attached here, not to event_rows.
CREATE TABLE IF NOT EXISTS event_feed
(
    uuid UUID,
    project_id UInt32,
    event LowCardinality(String),
    distinct_id String,
    properties String,
    timestamp DateTime64(6, 'UTC'),
    created_at DateTime64(6, 'UTC'),
    historical_migration Bool,
    person_mode UInt8,
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String),
    gt Array(LowCardinality(String)),
    gk Array(String)
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS event_feed_of_rows TO event_feed AS
SELECT
    e.uuid AS uuid,
    e.project_id AS project_id,
    e.event AS event,
    e.distinct_id AS distinct_id,
    e.properties AS properties,
    e.timestamp AS timestamp,
    e.created_at AS created_at,
    e.historical_migration AS historical_migration,
    e.person_mode AS person_mode,
    e.pk AS pk,
    e.pw AS pw,
    e.pv AS pv,
    e.gt AS gt,
    e.gk AS gk
FROM event_rows AS e
LEFT ANY JOIN
(
    SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at
    FROM deleted_ids
    GROUP BY project_id, id_hash
) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
WHERE e.created_at > d.id_deleted_at;

-- Events that change a person or a group. An INSERT pays for each view that its rows reach, even where the view keeps
-- none of them; most events change nothing, and with this feed they pay for one condition only.
CREATE TABLE IF NOT EXISTS change_feed
(
    uuid UUID,
    project_id UInt32,
    distinct_id String,
    timestamp DateTime64(6, 'UTC'),
    created_at DateTime64(6, 'UTC'),
    person_mode UInt8,
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String),
    gt Array(LowCardinality(String)),
    gk Array(String)
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS change_feed_of_events TO change_feed AS
SELECT uuid, project_id, distinct_id, timestamp, created_at, person_mode, pk, pw, pv, gt, gk
FROM event_feed
WHERE notEmpty(pk) OR person_mode = 2;

-- Events without their persons: queries that need none do not pay for the join of `events`.
CREATE OR REPLACE VIEW stored_events AS
SELECT
    uuid,
    project_id,
    event,
    distinct_id,
    properties,
    timestamp,
    created_at,
    historical_migration,
    gt AS group_types,
    gk AS group_keys
FROM event_rows FINAL
-- Duplicates have the same day, so each partition can be made final by itself.
SETTINGS do_not_merge_across_partitions_select_final = 1;
