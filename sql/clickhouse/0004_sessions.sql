-- Sessions: what the events of one $session_id say together. The aggregates are idempotent: neither a client's retry
-- nor an INSERT that was repeated in doubt changes anything.

CREATE TABLE IF NOT EXISTS session_facts
(
    project_id UInt32,
    session_id String,
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    end_time SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    -- These begin with eight bytes that sort like the event's moment, inverted where the earliest wins; the rest is
    -- of that event. Empty = no such event. Comparing texts takes a tenth of the time that comparing tuples takes. of
    -- the first event: its distinct id
    first_seen SimpleAggregateFunction(max, String),
    -- of the first event with a URL, separated by NUL: URL, referrer, its domain; if any is there, five utm and
    -- fifteen click ids
    entry SimpleAggregateFunction(max, String),
    -- of the last event with a URL: its URL
    exit SimpleAggregateFunction(max, String),
    -- of the last click on an external link: its URL
    external_click SimpleAggregateFunction(max, String),
    -- of the first event that measured it: the bytes of a Float64, in milliseconds
    lcp SimpleAggregateFunction(max, String),
    -- its events, each once however often it was sent, 65,536 at most: thirty bits of the uuid's hash, and two bits
    -- of kind: 1 $pageview, 2 $autocapture, 3 $screen, 0 any other. A list costs three quarters of what four states
    -- of uniq cost
    counted SimpleAggregateFunction(groupUniqArrayArray(65536), Array(UInt32))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, session_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Events without the text "$session_id" cost one search. `sent` is computed in the innermost query, as the engine
-- would otherwise compute it once for WHERE and again for GROUP BY. Few events carry advertising parameters, so they
-- are looked for in one event of each session only: its first with a URL (`entered` sorts like `entry`).
CREATE MATERIALIZED VIEW IF NOT EXISTS session_facts_of_events TO session_facts AS
WITH
    if(
        multiSearchAny(entered_properties, ['"utm_', 'clid"', '"gad_source"', '"gclsrc"', '"gbraid"', '"wbraid"', '"msclkid"', '"li_fat_id"', '"mc_cid"', '"igshid"', '"_kx"']),
        concat('\0', arrayStringConcat(arrayMap(
            name -> JSONExtractString(entered_properties, name),
            ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'gclid', 'gad_source', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'fbclid', 'msclkid', 'twclid', 'li_fat_id', 'mc_cid', 'igshid', 'ttclid', '_kx', 'irclid']
        ), '\0')),
        '') AS ad
SELECT
    project_id,
    session_id,
    start_time,
    end_time,
    first_seen,
    if(entered = '', '', concat(entered, ad)) AS entry,
    exit,
    external_click,
    lcp,
    counted
FROM
(
    WITH
        bitXor(reinterpretAsUInt64(toUnixTimestamp64Micro(timestamp)), 0x8000000000000000) AS moment,
        reverse(reinterpretAsFixedString(moment)) AS late,
        reverse(reinterpretAsFixedString(bitNot(moment))) AS early,
        if(sent.2 = '', '', concat(early, sent.2, '\0', sent.3, '\0', sent.4)) AS came,
        -- The hash by which the engine's own `uniq` counts a UUID.
        reinterpretAsUInt128(uuid) AS number,
        bitXor(bitXor(toUInt64(number), toUInt64(bitShiftRight(number, 64))), 0x4CF2D2BAAE6DA887) AS folded,
        toUInt32(intHash64(bitXor(intHash64(folded), 0x4CF2D2BAAE6DA887))) AS hash
    SELECT
        project_id,
        session AS session_id,
        min(timestamp) AS start_time,
        max(timestamp) AS end_time,
        max(concat(early, distinct_id)) AS first_seen,
        max(came) AS entered,
        argMax(properties, came) AS entered_properties,
        max(if(sent.2 = '', '', concat(late, sent.2))) AS exit,
        max(if(sent.5 = '', '', concat(late, sent.5))) AS external_click,
        max(if(sent.6 > 0, concat(early, reinterpretAsFixedString(sent.6)), '')) AS lcp,
        groupUniqArray(65536)(bitOr(bitAnd(hash, 0xFFFFFFFC), transform(event, ['$pageview', '$autocapture', '$screen'], [1, 2, 3], 0))) AS counted
    FROM
    (
        -- Properties that JSONExtract does not accept (a number too long, a lone surrogate) still count for their
        -- session.
        SELECT
            uuid,
            project_id,
            event,
            distinct_id,
            properties,
            timestamp,
            JSONExtract(properties, 'Tuple(`$session_id` String, `$current_url` String, `$referrer` String, `$referring_domain` String, `$external_click_url` String, `$web_vitals_LCP_value` Float64)') AS sent,
            if(sent.1 != '', sent.1, extract(properties, '"\\$session_id"\\s*:\\s*"([^"\\\\]+)"')) AS session
        FROM event_feed
        WHERE position(properties, '"$session_id"') > 0
    )
    WHERE session != '' AND length(session) <= 200
    GROUP BY project_id, session_id
);

-- One row a session. channel_type: where the visitor came from, by the entry's URL and referrer.
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
    arrayMap(number -> bitAnd(number, 3), counted) AS kinds,
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
    length(counted) AS event_count,
    countEqual(kinds, 1) AS pageview_count,
    countEqual(kinds, 2) AS autocapture_count,
    countEqual(kinds, 3) AS screen_count,
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
FROM session_facts FINAL;
