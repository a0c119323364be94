-- Older servers: go on.
-- Takes: a moment.
-- Recordings that were deleted, by the hash of their session: a page that is still open sends further pieces, which no
-- query shows. Longer than late pieces are looked for and removed.
CREATE TABLE IF NOT EXISTS deleted_recordings
(
    project_id UInt32,
    session_hash UInt64,
    deleted_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (project_id, session_hash)
TTL toDateTime(deleted_at) + INTERVAL 90 DAY
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 90;

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
    WHERE (project_id, session_hash) NOT IN (SELECT project_id, session_hash FROM deleted_recordings)
    LIMIT 1 BY project_id, session_hash, session_id, uuid
) AS chunk
GROUP BY project_id, session_hash, session_id;
