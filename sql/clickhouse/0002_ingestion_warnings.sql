-- Ingestion warnings: what became of events that were ignored, altered, or lack what their kind needs, and spikes.
-- The first of each type, project and minute one by one, the rest as one row that counts them: sum(count) is all.

CREATE TABLE IF NOT EXISTS ingestion_warnings
(
    project_id UInt32,
    type LowCardinality(String),
    -- JSON text of an object
    details String CODEC(ZSTD(1)),
    event String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    -- events this row stands for
    count UInt64 DEFAULT 1,
    timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    -- the journal's batch these rows came in: asking for any row of it tells whether an insert took place
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(timestamp)
ORDER BY (project_id, timestamp)
TTL toDateTime(timestamp) + INTERVAL 90 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;
