-- Events by year instead of by month: a part costs the engine 5 ms however small it is, and an import of ten years brought
-- 120 of them where ten will do. The engine takes no parts over into a table that is parted otherwise: rows are copied.
-- Nobody writes meanwhile. Begun again after any of these statements it starts from whatever event_rows is by then, which
-- has every row at all times. What hangs on event_rows hangs on its name: on the old table until the two are exchanged,
-- on the new one from then on, and so the copied rows are not derived once more.

-- What an earlier try has left: its copy, or the table of months, which has been copied whole.
DROP TABLE IF EXISTS event_rows_by_year SETTINGS max_table_size_to_drop = 0;

CREATE TABLE event_rows_by_year
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
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- A part after the other, so that what is written together is of few years; all rows, also those that replace each other.
INSERT INTO event_rows_by_year
    (uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, _batch, _row,
     person_mode, pk, pw, pv, gt, gk)
SETTINGS max_partitions_per_insert_block = 0, optimize_on_insert = 0, async_insert = 0, max_threads = 1
SELECT uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, _batch, _row,
    person_mode, pk, pw, pv, gt, gk
FROM event_rows;

EXCHANGE TABLES event_rows_by_year AND event_rows;

DROP TABLE event_rows_by_year SETTINGS max_table_size_to_drop = 0;
