-- Ingestion warnings: events that were ignored or altered, events that lack what their kind needs, and spikes. The
-- first ones of each type, project and minute have a row each, the others share one row: sum(count) counts all.

CREATE TABLE IF NOT EXISTS ingestion_warnings
(
    project_id UInt32,
    type LowCardinality(String),
    -- JSON text of an object
    details String CODEC(ZSTD(1)),
    event String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    -- how many events this row stands for
    count UInt64 DEFAULT 1,
    timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    -- as in event_rows
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(timestamp)
ORDER BY (project_id, timestamp)
TTL toDateTime(timestamp) + INTERVAL 90 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;
