-- Session recordings. A chunk is what a client's recorder sent as one $snapshot: rrweb events, and what they tell. It
-- rests once per (project, session, uuid), however often it was sent. All of a recording's numbers come from its chunks.

CREATE TABLE IF NOT EXISTS snapshot_chunks
(
    project_id UInt32,
    session_id String CODEC(ZSTD(1)),
    -- what lists are made of and recordings found by: many times shorter to compare
    session_hash UInt64 MATERIALIZED sipHash64(session_id),
    uuid UUID,
    window_id String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    -- of its earliest and latest rrweb event, by the client's clock
    first_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    last_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    expires_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    event_count UInt32 CODEC(ZSTD(1)),
    click_count UInt32 CODEC(ZSTD(1)),
    keypress_count UInt32 CODEC(ZSTD(1)),
    mouse_activity_count UInt32 CODEC(ZSTD(1)),
    console_log_count UInt32 CODEC(ZSTD(1)),
    console_warn_count UInt32 CODEC(ZSTD(1)),
    console_error_count UInt32 CODEC(ZSTD(1)),
    -- the seconds since 1970 in which somebody moved, clicked or typed: numbers with commas between
    active_at String CODEC(ZSTD(1)),
    start_url String CODEC(ZSTD(1)),
    snapshot_source LowCardinality(String),
    -- bytes of data
    size UInt32 CODEC(ZSTD(1)),
    -- JSON text: an rrweb event or an array of them, as the client sent them
    data String CODEC(ZSTD(3)),
    -- the journal's batch these rows came in: asking for any row of it tells whether an insert took place
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    -- the first arrival wins, as with events
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (project_id, session_hash, session_id, uuid)
TTL toDateTime(expires_at)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- When each recording began: for lists, which would otherwise read every chunk. Only least and greatest rest here, so
-- that deriving a chunk twice changes nothing. Small granules: a list finds some hundreds of sessions among millions by key.
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

-- One row a recording. Seconds count as active from one movement, click or keypress to the next, when no more than five
-- lie between; the last of such a stretch counts as one.
CREATE OR REPLACE VIEW session_recordings AS
WITH
    arraySort(arrayDistinct(arrayMap(second -> toUInt32OrZero(second),
        splitByChar(',', arrayStringConcat(groupArrayIf(active_at, active_at != ''), ','))))) AS seconds,
    arraySum(arrayMap(gap -> if(gap <= 5, gap, 1), arrayPopFront(arrayDifference(seconds)))) + 1 AS active
SELECT
    project_id,
    session_hash,
    session_id,
    argMin(distinct_id, (first_at, uuid)) AS distinct_id,
    min(first_at) AS start_time,
    max(last_at) AS end_time,
    toUInt32(dateDiff('second', start_time, end_time)) AS recording_duration,
    toUInt32(least(recording_duration, if(seconds[1] = 0, 0, active))) AS active_seconds,
    toUInt32(recording_duration - active_seconds) AS inactive_seconds,
    toUInt32(sum(chunk.click_count)) AS click_count,
    toUInt32(sum(chunk.keypress_count)) AS keypress_count,
    toUInt32(sum(chunk.mouse_activity_count)) AS mouse_activity_count,
    toUInt32(sum(chunk.console_log_count)) AS console_log_count,
    toUInt32(sum(chunk.console_warn_count)) AS console_warn_count,
    toUInt32(sum(chunk.console_error_count)) AS console_error_count,
    argMinIf(chunk.start_url, (first_at, uuid), chunk.start_url != '') AS start_url,
    argMin(chunk.snapshot_source, (first_at, uuid)) AS snapshot_source,
    'clickhouse' AS storage,
    max(created_at) AS last_received_at,
    last_received_at > now64(6) - INTERVAL 5 MINUTE AS ongoing,
    round(least(100, 100 * (active_seconds + click_count + keypress_count + console_error_count)
        / greatest(1, recording_duration + mouse_activity_count + console_log_count + console_warn_count + console_error_count)), 2) AS activity_score,
    count() AS chunk_count,
    sum(size) AS size
FROM
(
    -- What was sent twice counts once. Not FINAL, which takes four times as long for a page of recordings.
    SELECT * , session_hash
    FROM snapshot_chunks
    LIMIT 1 BY project_id, session_hash, session_id, uuid
) AS chunk
GROUP BY project_id, session_hash, session_id;
