-- Sessions: what events with a $session_id tell together. Only what does not mind being derived twice or in another
-- order rests here (least, greatest, uniq): a client's retry, or an insert repeated after doubt, changes nothing.

CREATE TABLE IF NOT EXISTS session_rows
(
    project_id UInt32,
    session_id String CODEC(ZSTD(1)),
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    end_time SimpleAggregateFunction(max, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    -- These begin with eight bytes that compare like a moment: the later one wins, or the earlier where all bits are
    -- turned round. A text is compared in a tenth of the time that a tuple takes. What follows is of that event; empty
    -- where there is none.
    -- of the first event: its distinct id
    first_seen SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    -- of the first event with a URL: URL, referrer, its domain, five utm, fifteen click ids, a NUL between each two
    entry SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    -- of the last event with a URL: its URL
    exit SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    -- of the last click that led elsewhere: its URL
    external_click SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    -- of the first event that measured it: the bytes of a Float64, in milliseconds
    lcp SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    -- an event counts once, however often it was sent; beyond some ten thousand, nearly
    events AggregateFunction(uniq, UUID) CODEC(ZSTD(1)),
    pageviews AggregateFunction(uniq, UUID) CODEC(ZSTD(1)),
    autocaptures AggregateFunction(uniq, UUID) CODEC(ZSTD(1)),
    screens AggregateFunction(uniq, UUID) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, session_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Events without the word cost a search for it and no more. One that the engine's own reader does not take (a number too
-- long, half of a surrogate pair) still counts for its session.
CREATE MATERIALIZED VIEW IF NOT EXISTS session_rows_of_events TO session_rows AS
WITH
    JSONExtract(properties, 'Tuple(`$session_id` String, `$current_url` String, `$referrer` String, `$referring_domain` String, utm_source String, utm_medium String, utm_campaign String, utm_term String, utm_content String, gclid String, gad_source String, gclsrc String, dclid String, gbraid String, wbraid String, fbclid String, msclkid String, twclid String, li_fat_id String, mc_cid String, igshid String, ttclid String, _kx String, irclid String, `$external_click_url` String, `$web_vitals_LCP_value` Float64)') AS sent,
    if(sent.1 != '', sent.1, extract(properties, '"\\$session_id"\\s*:\\s*"([^"\\\\]+)"')) AS session,
    bitXor(reinterpretAsUInt64(toUnixTimestamp64Micro(timestamp)), 0x8000000000000000) AS moment,
    reverse(reinterpretAsFixedString(moment)) AS late,
    reverse(reinterpretAsFixedString(bitNot(moment))) AS early
SELECT
    project_id,
    session AS session_id,
    min(timestamp) AS start_time,
    max(timestamp) AS end_time,
    max(concat(early, distinct_id)) AS first_seen,
    max(if(sent.2 = '', '', concat(early,
        sent.2, '\0', sent.3, '\0', sent.4, '\0', sent.5, '\0', sent.6, '\0', sent.7, '\0', sent.8, '\0', sent.9, '\0',
        sent.10, '\0', sent.11, '\0', sent.12, '\0', sent.13, '\0', sent.14, '\0', sent.15, '\0', sent.16, '\0', sent.17, '\0',
        sent.18, '\0', sent.19, '\0', sent.20, '\0', sent.21, '\0', sent.22, '\0', sent.23, '\0', sent.24))) AS entry,
    max(if(sent.2 = '', '', concat(late, sent.2))) AS exit,
    max(if(sent.25 = '', '', concat(late, sent.25))) AS external_click,
    max(if(sent.26 > 0, concat(early, reinterpretAsFixedString(sent.26)), '')) AS lcp,
    uniqState(uuid) AS events,
    uniqStateIf(uuid, event = '$pageview') AS pageviews,
    uniqStateIf(uuid, event = '$autocapture') AS autocaptures,
    uniqStateIf(uuid, event = '$screen') AS screens
FROM event_feed
WHERE position(properties, '"$session_id"') > 0 AND session != '' AND length(session) <= 200
GROUP BY project_id, session_id;

-- Sessions of events that were stored before this table was there.
INSERT INTO event_feed (uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, person_mode, pk, pw, pv, gt, gk)
SELECT e.uuid, e.project_id, e.event, e.distinct_id, e.properties, e.timestamp, e.created_at, e.historical_migration, e.person_mode, e.pk, e.pw, e.pv, e.gt, e.gk
FROM event_rows AS e
LEFT ANY JOIN
(
    SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at
    FROM deleted_ids
    GROUP BY project_id, id_hash
) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
WHERE e.created_at > d.id_deleted_at AND position(e.properties, '"$session_id"') > 0;

-- One row a session. channel_type: where its visitor came from, by what the entry's URL and referrer say.
CREATE OR REPLACE VIEW sessions AS
WITH
    splitByChar('\0', substring(entry, 9)) AS entered,
    entered[1] AS entered_url,
    entered[3] AS entered_domain,
    entered[4] AS entered_source,
    entered[5] AS entered_medium,
    entered[6] AS entered_campaign,
    mapFilter((name, value) -> value != '', mapFromArrays(
        ['gclid', 'gad_source', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'fbclid', 'msclkid', 'twclid', 'li_fat_id', 'mc_cid', 'igshid', 'ttclid', '_kx', 'irclid'],
        arrayResize(arraySlice(entered, 9, 15), 15)
    )) AS clicks,
    substring(exit, 9) AS left_url,
    lower(if(entered_source != '', entered_source, entered_domain)) AS came_from,
    lower(entered_medium) AS medium,
    match(medium, '^(.*cp.*|ppc|retargeting|paid.*)$') OR mapContains(clicks, 'gclid') OR mapContains(clicks, 'gad_source') AS paid,
    multiIf(
        match(came_from, '(^|\\.)(amazon|ebay|etsy|walmart|alibaba|aliexpress|shopping|rakuten|mercadolibre|wayfair)(\\.|$)') OR match(lower(entered_campaign), '^(.*(([^a-df-z]|^)shop|shopping).*)$'), 'Shopping',
        match(came_from, '(^|\\.)(google|googleads|adwords|bing|duckduckgo|yahoo|baidu|yandex|ecosia|ask|aol|startpage|qwant|naver|sogou|seznam|perplexity|search\\.brave|kagi)(\\.|$)'), 'Search',
        match(came_from, '(^|\\.)(facebook|fb|instagram|ig|twitter|x\\.com|t\\.co|linkedin|lnkd|pinterest|reddit|tiktok|snapchat|threads|quora|tumblr|vk|weibo|whatsapp|wa\\.me|telegram|t\\.me|discord|mastodon|bsky|medium|ycombinator)(\\.|$)') OR medium IN ('social', 'social-network', 'social-media', 'sm', 'social network', 'social media') OR mapContains(clicks, 'fbclid'), 'Social',
        match(came_from, '(^|\\.)(youtube|youtu|vimeo|twitch|dailymotion|netflix|hulu|wistia)(\\.|$)') OR match(medium, '^(.*video.*)$'), 'Video',
        '') AS place
SELECT
    project_id,
    session_id,
    substring(first_seen, 9) AS distinct_id,
    start_time,
    end_time,
    dateDiff('second', start_time, end_time) AS duration,
    entered_url AS entry_url,
    domain(entered_url) AS entry_hostname,
    path(entered_url) AS entry_pathname,
    left_url AS exit_url,
    domain(left_url) AS exit_hostname,
    path(left_url) AS exit_pathname,
    substring(external_click, 9) AS last_external_click_url,
    entered[2] AS entry_referrer,
    entered_domain AS entry_referring_domain,
    entered_source AS entry_utm_source,
    entered_medium AS entry_utm_medium,
    entered_campaign AS entry_utm_campaign,
    entered[7] AS entry_utm_term,
    entered[8] AS entry_utm_content,
    clicks AS entry_click_ids,
    reinterpretAsFloat64(substring(lcp, 9)) AS vitals_lcp,
    finalizeAggregation(events) AS event_count,
    finalizeAggregation(pageviews) AS pageview_count,
    finalizeAggregation(autocaptures) AS autocapture_count,
    finalizeAggregation(screens) AS screen_count,
    pageview_count + screen_count <= 1 AND autocapture_count = 0 AND duration < 10 AS is_bounce,
    multiIf(
        match(lower(entered_campaign), 'cross-?network'), 'Cross Network',
        paid AND place != '', concat('Paid ', place),
        paid AND mapContains(clicks, 'gad_source'), 'Paid Search',
        paid, 'Paid Unknown',
        entered_domain = '$direct' AND medium = '' AND came_from IN ('', 'direct', '(direct)', '$direct'), 'Direct',
        place != '', concat('Organic ', place),
        medium IN ('affiliate', 'affiliates'), 'Affiliate',
        match(medium, '^(e-?mail|e_mail|newsletter)$') OR match(came_from, '^(e-?mail|newsletter|mail\\.|.*webmail.*)'), 'Email',
        medium = 'audio', 'Audio',
        medium = 'sms' OR came_from = 'sms', 'SMS',
        match(medium, '(push|mobile|notification)') OR came_from = 'firebase', 'Push',
        entered_domain NOT IN ('', '$direct'), 'Referral',
        'Unknown') AS channel_type
FROM session_rows FINAL;
