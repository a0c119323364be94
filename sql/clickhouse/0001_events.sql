-- Events. Rows rest in event_rows, once per (project, day, event, distinct id, uuid): the first arrival wins, so a
-- client's retry never moves an event into a later export interval. Read them through the view `events`.

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
    -- the journal's batch these rows came in: asking for any row of it tells whether an insert took place
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    -- the smaller created_at, the bigger the version: ReplacingMergeTree keeps the first arrival
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1,
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(timestamp)
ORDER BY (project_id, toDate(timestamp), event, cityHash64(distinct_id), uuid)
-- The engine neither syncs nor keeps merged parts for a while unless told: an acknowledged row must survive power loss.
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- A person's id is computed: UUIDv5 of "<project>:<distinct id>" under a fixed namespace.
-- Duplicates share their day, so each month can be made final by itself.
CREATE OR REPLACE VIEW events AS
WITH
    SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', distinct_id)) AS person_hash,
    reinterpretAsUInt64(reverse(substring(person_hash, 1, 8))) AS person_high,
    reinterpretAsUInt64(reverse(substring(person_hash, 9, 8))) AS person_low
SELECT
    uuid,
    project_id,
    event,
    distinct_id,
    properties,
    timestamp,
    created_at,
    reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(person_high, 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(person_low, 0x3FFFFFFFFFFFFFFF), 0x8000000000000000))
    )) AS person_id,
    historical_migration
FROM event_rows FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
