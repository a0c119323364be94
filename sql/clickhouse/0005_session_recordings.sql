-- Session recordings. A chunk is what a client's recorder sent as one $snapshot: rrweb events, with figures read from
-- them. A chunk is stored once for each (project, session, uuid). All of a recording's figures are computed from its
-- chunks.

-- Small granules, as a recording is read by its key.
CREATE TABLE IF NOT EXISTS snapshot_chunks
(
    project_id UInt32,
    session_id String CODEC(ZSTD(1)),
    -- by which lists and look-ups find a recording: many times faster to compare than the id
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
    -- seconds since 1970 in which the visitor moved, clicked or typed, separated by commas
    active_at String CODEC(ZSTD(1)),
    start_url String CODEC(ZSTD(1)),
    snapshot_source LowCardinality(String),
    -- bytes of data
    size UInt32 CODEC(ZSTD(1)),
    -- JSON text: an rrweb event or an array of them, as the client sent them
    data String CODEC(ZSTD(3)),
    -- as in event_rows
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    -- the first arrival wins, as in event_rows
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (project_id, session_hash, session_id, uuid)
TTL toDateTime(expires_at)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- The recordings that have chunks of a day (UTC, by the client's clock). Ordered by day, so that a list of the newest
-- reads only these. A recording over midnight has a row for each day; its start is the least of them. Deriving a
-- chunk again changes nothing.
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

-- One row a recording. Active seconds run from one movement, click or keypress to the next if at most five seconds
-- lie between; the last one of such a stretch counts as one second.
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
    -- A chunk that was sent twice counts once. FINAL would take four times as long for a page of recordings.
    SELECT * , session_hash
    FROM snapshot_chunks
    LIMIT 1 BY project_id, session_hash, session_id, uuid
) AS chunk
GROUP BY project_id, session_hash, session_id;
