-- Spans once more, in smaller granules: a list finds its sessions by key, some hundreds among millions, and would
-- otherwise read nearly every granule. All of it is derived from the chunks, so it is made anew.

DROP VIEW IF EXISTS session_recording_spans_of_chunks;
DROP TABLE IF EXISTS session_recording_spans;

CREATE TABLE IF NOT EXISTS session_recording_spans
(
    project_id UInt32,
    session_hash UInt64,
    session_id String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    expires_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, session_hash, session_id, distinct_id)
TTL toDateTime(expires_at)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE MATERIALIZED VIEW IF NOT EXISTS session_recording_spans_of_chunks TO session_recording_spans AS
SELECT
    project_id,
    session_hash,
    session_id,
    distinct_id,
    min(first_at) AS start_time,
    max(expires_at) AS expires_at
FROM snapshot_chunks
GROUP BY project_id, session_hash, session_id, distinct_id;

INSERT INTO session_recording_spans (project_id, session_hash, session_id, distinct_id, start_time, expires_at)
SELECT c.project_id, c.session_hash, c.session_id, c.distinct_id, min(c.first_at), max(c.expires_at)
FROM snapshot_chunks AS c
GROUP BY c.project_id, c.session_hash, c.session_id, c.distinct_id;
