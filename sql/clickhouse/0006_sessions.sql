-- Sessions: what events with a $session_id tell together. Only what does not mind being derived twice or in another
-- order rests here (least, greatest, uniq): a client's retry, or an insert repeated after doubt, changes nothing.

CREATE TABLE IF NOT EXISTS session_rows
(
    project_id UInt32,
    session_id String CODEC(ZSTD(1)),
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    end_time SimpleAggregateFunction(max, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    -- whose the first event is
    first_seen SimpleAggregateFunction(min, Tuple(at DateTime64(6, 'UTC'), tie UUID, distinct_id String)) CODEC(ZSTD(1)),
    -- of the first event with a URL; its moment is in 2299 where no event has one
    entry SimpleAggregateFunction(min, Tuple(
        at DateTime64(6, 'UTC'), tie UUID, url String, referrer String, referring_domain String,
        utm_source String, utm_medium String, utm_campaign String, utm_term String, utm_content String,
        click_ids Map(String, String)
    )) CODEC(ZSTD(1)),
    -- of the last event with a URL; its moment is in 1970 where no event has one
    exit SimpleAggregateFunction(max, Tuple(at DateTime64(6, 'UTC'), tie UUID, url String)) CODEC(ZSTD(1)),
    -- of the last click that led elsewhere
    external_click SimpleAggregateFunction(max, Tuple(at DateTime64(6, 'UTC'), tie UUID, url String)) CODEC(ZSTD(1)),
    -- of the first event that measured it; its moment is in 2299 where none did
    lcp SimpleAggregateFunction(min, Tuple(at DateTime64(6, 'UTC'), tie UUID, milliseconds Float64)) CODEC(ZSTD(1)),
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
    mapFilter((name, value) -> value != '', map(
        'gclid', sent.10, 'gad_source', sent.11, 'gclsrc', sent.12, 'dclid', sent.13, 'gbraid', sent.14,
        'wbraid', sent.15, 'fbclid', sent.16, 'msclkid', sent.17, 'twclid', sent.18, 'li_fat_id', sent.19,
        'mc_cid', sent.20, 'igshid', sent.21, 'ttclid', sent.22, '_kx', sent.23, 'irclid', sent.24)) AS clicked,
    toDateTime64('2299-12-31 00:00:00', 6, 'UTC') AS never,
    toDateTime64('1970-01-01 00:00:00', 6, 'UTC') AS before_all
SELECT
    project_id,
    session AS session_id,
    min(timestamp) AS start_time,
    max(timestamp) AS end_time,
    min((timestamp, uuid, distinct_id)) AS first_seen,
    min((if(sent.2 != '', timestamp, never), uuid, sent.2, sent.3, sent.4, sent.5, sent.6, sent.7, sent.8, sent.9, clicked)) AS entry,
    max((if(sent.2 != '', timestamp, before_all), uuid, sent.2)) AS exit,
    max((if(sent.25 != '', timestamp, before_all), uuid, sent.25)) AS external_click,
    min((if(sent.26 > 0, timestamp, never), uuid, sent.26)) AS lcp,
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
    lower(if(entry.utm_source != '', entry.utm_source, entry.referring_domain)) AS came_from,
    lower(entry.utm_medium) AS medium,
    match(medium, '^(.*cp.*|ppc|retargeting|paid.*)$') OR mapContains(entry.click_ids, 'gclid') OR mapContains(entry.click_ids, 'gad_source') AS paid,
    multiIf(
        match(came_from, '(^|\\.)(amazon|ebay|etsy|walmart|alibaba|aliexpress|shopping|rakuten|mercadolibre|wayfair)(\\.|$)') OR match(lower(entry.utm_campaign), '^(.*(([^a-df-z]|^)shop|shopping).*)$'), 'Shopping',
        match(came_from, '(^|\\.)(google|googleads|adwords|bing|duckduckgo|yahoo|baidu|yandex|ecosia|ask|aol|startpage|qwant|naver|sogou|seznam|perplexity|search\\.brave|kagi)(\\.|$)'), 'Search',
        match(came_from, '(^|\\.)(facebook|fb|instagram|ig|twitter|x\\.com|t\\.co|linkedin|lnkd|pinterest|reddit|tiktok|snapchat|threads|quora|tumblr|vk|weibo|whatsapp|wa\\.me|telegram|t\\.me|discord|mastodon|bsky|medium|ycombinator)(\\.|$)') OR medium IN ('social', 'social-network', 'social-media', 'sm', 'social network', 'social media') OR mapContains(entry.click_ids, 'fbclid'), 'Social',
        match(came_from, '(^|\\.)(youtube|youtu|vimeo|twitch|dailymotion|netflix|hulu|wistia)(\\.|$)') OR match(medium, '^(.*video.*)$'), 'Video',
        '') AS place
SELECT
    project_id,
    session_id,
    first_seen.distinct_id AS distinct_id,
    start_time,
    end_time,
    dateDiff('second', start_time, end_time) AS duration,
    entry.url AS entry_url,
    domain(entry.url) AS entry_hostname,
    path(entry.url) AS entry_pathname,
    exit.url AS exit_url,
    domain(exit.url) AS exit_hostname,
    path(exit.url) AS exit_pathname,
    external_click.url AS last_external_click_url,
    entry.referrer AS entry_referrer,
    entry.referring_domain AS entry_referring_domain,
    entry.utm_source AS entry_utm_source,
    entry.utm_medium AS entry_utm_medium,
    entry.utm_campaign AS entry_utm_campaign,
    entry.utm_term AS entry_utm_term,
    entry.utm_content AS entry_utm_content,
    entry.click_ids AS entry_click_ids,
    lcp.milliseconds AS vitals_lcp,
    finalizeAggregation(events) AS event_count,
    finalizeAggregation(pageviews) AS pageview_count,
    finalizeAggregation(autocaptures) AS autocapture_count,
    finalizeAggregation(screens) AS screen_count,
    pageview_count + screen_count <= 1 AND autocapture_count = 0 AND duration < 10 AS is_bounce,
    multiIf(
        match(lower(entry.utm_campaign), 'cross-?network'), 'Cross Network',
        paid AND place != '', concat('Paid ', place),
        paid AND mapContains(entry.click_ids, 'gad_source'), 'Paid Search',
        paid, 'Paid Unknown',
        entry.referring_domain = '$direct' AND medium = '' AND came_from IN ('', 'direct', '(direct)', '$direct'), 'Direct',
        place != '', concat('Organic ', place),
        medium IN ('affiliate', 'affiliates'), 'Affiliate',
        match(medium, '^(e-?mail|e_mail|newsletter)$') OR match(came_from, '^(e-?mail|newsletter|mail\\.|.*webmail.*)'), 'Email',
        medium = 'audio', 'Audio',
        medium = 'sms' OR came_from = 'sms', 'SMS',
        match(medium, '(push|mobile|notification)') OR came_from = 'firebase', 'Push',
        entry.referring_domain NOT IN ('', '$direct'), 'Referral',
        'Unknown') AS channel_type
FROM session_rows FINAL;
