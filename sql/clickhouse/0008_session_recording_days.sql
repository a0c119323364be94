-- Which recordings had something on a day (UTC, by the client's clock), in place of when each began: in the order of days
-- a list reads the newest alone, where that table, in the order of sessions, had to be read whole. A recording over
-- midnight has a row on either day; its start is the least of them all. Only least and greatest rest here, so that
-- deriving a chunk twice changes nothing.
CREATE TABLE IF NOT EXISTS session_recording_days
(
    project_id UInt32,
    day Date32,
    session_hash UInt64,
    distinct_id String CODEC(ZSTD(1)),
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    expires_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    INDEX distinct_id distinct_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, day, session_hash, distinct_id)
TTL toDateTime(expires_at)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE MATERIALIZED VIEW IF NOT EXISTS session_recording_days_of_chunks TO session_recording_days AS
SELECT
    project_id,
    toDate32(first_at) AS day,
    session_hash,
    distinct_id,
    min(first_at) AS start_time,
    max(expires_at) AS expires_at
FROM snapshot_chunks
GROUP BY project_id, day, session_hash, distinct_id;

-- Recordings that were stored before this table was there; a session after the other, so that memory suffices for any
-- number of them.
INSERT INTO session_recording_days (project_id, day, session_hash, distinct_id, start_time, expires_at)
SELECT project_id, toDate32(first_at) AS day, session_hash, distinct_id, min(first_at), max(expires_at)
FROM snapshot_chunks
GROUP BY project_id, session_hash, day, distinct_id
SETTINGS optimize_aggregation_in_order = 1;

DROP VIEW IF EXISTS session_recording_spans_of_chunks;

DROP TABLE IF EXISTS session_recording_spans;
