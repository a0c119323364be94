-- The table that E0 fills: the events' table of c3da0212, kept as it was, so that what later changes in Sluice's own is not
-- credited to both. auto_statistics_types is the engine's default, which Sluice's own tables go without.
CREATE TABLE event_rows_alone
(
    uuid UUID,
    project_id UInt32,
    event LowCardinality(String),
    distinct_id String CODEC(ZSTD(1)),
    properties String CODEC(ZSTD(1)),
    timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    historical_migration Bool,
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    person_mode UInt8,
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String) CODEC(ZSTD(1)),
    gt Array(LowCardinality(String)),
    gk Array(String) CODEC(ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1,
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYear(timestamp)
ORDER BY (project_id, toDate(timestamp), event, cityHash64(distinct_id), uuid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 45,
    auto_statistics_types = 'basic, uniq_v2';
