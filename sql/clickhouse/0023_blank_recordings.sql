-- Older servers: go on.
-- Takes: a moment.
-- Which recordings show no page, since no full snapshot has arrived for them, and when their last piece did. Pieces of
-- older servers count as if they had one.
ALTER TABLE snapshot_chunks ADD COLUMN IF NOT EXISTS lacks_full_snapshot UInt8 DEFAULT 0 CODEC(ZSTD(1));

-- Bytes that the compressed events of a piece inflate to, as far as they declare it.
ALTER TABLE snapshot_chunks ADD COLUMN IF NOT EXISTS inflated_size UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE session_recording_days ADD COLUMN IF NOT EXISTS lacks_full_snapshot SimpleAggregateFunction(min, UInt8) DEFAULT 0;

ALTER TABLE session_recording_days ADD COLUMN IF NOT EXISTS last_received_at SimpleAggregateFunction(max, DateTime64(6, 'UTC'));

ALTER TABLE session_recording_days_of_chunks MODIFY QUERY
SELECT
    project_id,
    toDate32(first_at) AS day,
    session_hash,
    distinct_id,
    min(first_at) AS start_time,
    max(expires_at) AS expires_at,
    min(lacks_full_snapshot) AS lacks_full_snapshot,
    max(created_at) AS last_received_at
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
    min(chunk.lacks_full_snapshot) AS lacks_full_snapshot,
    max(created_at) AS last_received_at,
    last_received_at > now64(6) - INTERVAL 5 MINUTE AS ongoing,
    round(least(100, 100 * (active_seconds + click_count + keypress_count + console_error_count)
        / greatest(1, recording_duration + mouse_activity_count + console_log_count + console_warn_count + console_error_count)), 2) AS activity_score,
    count() AS chunk_count,
    sum(size) AS size
FROM
(
    -- A chunk that was sent twice counts once. FINAL would take four times as long for a page of recordings.
    SELECT *, session_hash
    FROM snapshot_chunks
    WHERE (project_id, session_hash) NOT IN (SELECT project_id, session_hash FROM deleted_recordings)
    LIMIT 1 BY project_id, session_hash, session_id, uuid
) AS chunk
GROUP BY project_id, session_hash, session_id;
