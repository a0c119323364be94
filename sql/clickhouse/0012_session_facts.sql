-- Sessions once more, at three quarters of the cost: four states of `uniq` a session took as long to write as everything else
-- of it together, and a list of numbers says the same.

CREATE TABLE IF NOT EXISTS session_facts
(
    project_id UInt32,
    session_id String,
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    end_time SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    -- These begin with eight bytes that compare like a moment: the later one wins, or the earlier where all bits are
    -- turned round. A text is compared in a tenth of the time that a tuple takes. What follows is of that event; empty
    -- where there is none.
    -- of the first event: its distinct id
    first_seen SimpleAggregateFunction(max, String),
    -- of the first event with a URL: URL, referrer, its domain, and if there are any, five utm and fifteen click ids, a NUL
    -- between each two
    entry SimpleAggregateFunction(max, String),
    -- of the last event with a URL: its URL
    exit SimpleAggregateFunction(max, String),
    -- of the last click that led elsewhere: its URL
    external_click SimpleAggregateFunction(max, String),
    -- of the first event that measured it: the bytes of a Float64, in milliseconds
    lcp SimpleAggregateFunction(max, String),
    -- its events, each once however often it was sent, 65,536 of them at most: thirty bits of the uuid's hash, and what it
    -- is in the last two: 1 a $pageview, 2 an $autocapture, 3 a $screen, 0 any other
    counted SimpleAggregateFunction(groupUniqArrayArray(65536), Array(UInt32))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, session_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Events without the word cost a search for it and no more; of an ad tell few, so its names are searched for as well before
-- they are read one by one. What the engine's own reader does not take (a number too long, half of a surrogate pair) still
-- counts for its session. The hash is the one that `uniq` makes of a uuid, for the sake of those counted before.
CREATE MATERIALIZED VIEW IF NOT EXISTS session_facts_of_events TO session_facts AS
WITH
    JSONExtract(properties, 'Tuple(`$session_id` String, `$current_url` String, `$referrer` String, `$referring_domain` String, `$external_click_url` String, `$web_vitals_LCP_value` Float64)') AS sent,
    if(sent.1 != '', sent.1, extract(properties, '"\\$session_id"\\s*:\\s*"([^"\\\\]+)"')) AS session,
    if(
        multiSearchAny(properties, ['"utm_', 'clid"', '"gad_source"', '"gclsrc"', '"gbraid"', '"wbraid"', '"msclkid"', '"li_fat_id"', '"mc_cid"', '"igshid"', '"_kx"']),
        concat('\0', arrayStringConcat(arrayMap(
            name -> JSONExtractString(properties, name),
            ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'gclid', 'gad_source', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'fbclid', 'msclkid', 'twclid', 'li_fat_id', 'mc_cid', 'igshid', 'ttclid', '_kx', 'irclid']
        ), '\0')),
        '') AS ad,
    bitXor(reinterpretAsUInt64(toUnixTimestamp64Micro(timestamp)), 0x8000000000000000) AS moment,
    reverse(reinterpretAsFixedString(moment)) AS late,
    reverse(reinterpretAsFixedString(bitNot(moment))) AS early,
    reinterpretAsUInt128(uuid) AS number,
    bitXor(bitXor(toUInt64(number), toUInt64(bitShiftRight(number, 64))), 0x4CF2D2BAAE6DA887) AS folded,
    toUInt32(intHash64(bitXor(intHash64(folded), 0x4CF2D2BAAE6DA887))) AS hash
SELECT
    project_id,
    session AS session_id,
    min(timestamp) AS start_time,
    max(timestamp) AS end_time,
    max(concat(early, distinct_id)) AS first_seen,
    max(if(sent.2 = '', '', concat(early, sent.2, '\0', sent.3, '\0', sent.4, ad))) AS entry,
    max(if(sent.2 = '', '', concat(late, sent.2))) AS exit,
    max(if(sent.5 = '', '', concat(late, sent.5))) AS external_click,
    max(if(sent.6 > 0, concat(early, reinterpretAsFixedString(sent.6)), '')) AS lcp,
    groupUniqArray(65536)(bitOr(bitAnd(hash, 0xFFFFFFFC), transform(event, ['$pageview', '$autocapture', '$screen'], [1, 2, 3], 0))) AS counted
FROM event_feed
WHERE position(properties, '"$session_id"') > 0 AND session != '' AND length(session) <= 200
GROUP BY project_id, session_id;

-- Those that were told of before. Of a state of `uniq` the hashes are taken as they rest: a byte, how many there are in as
-- many bytes as that takes, and four bytes each.
INSERT INTO session_facts (project_id, session_id, start_time, end_time, first_seen, entry, exit, external_click, lcp, counted)
WITH
    (state, kind) -> arrayMap(
        number -> bitOr(bitAnd(reinterpretAsUInt32(unhex(number)), 0xFFFFFFFC), kind),
        extractAll(hex(substring(state, 2 + (length(state) - 1) % 4)), '.{8}')
    ) AS hashes,
    -- An event that is of a kind is among all of them as well, behind it here.
    arrayReverseSort(arrayConcat(
        hashes(CAST(events, 'String'), 0),
        hashes(CAST(pageviews, 'String'), 1),
        hashes(CAST(autocaptures, 'String'), 2),
        hashes(CAST(screens, 'String'), 3)
    )) AS numbers
SELECT
    project_id,
    session_id,
    start_time,
    end_time,
    first_seen,
    entry,
    exit,
    external_click,
    lcp,
    arrayFilter(
        (number, before) -> bitShiftRight(number, 2) != bitShiftRight(before, 2),
        numbers,
        arrayShiftRight(numbers, 1, bitXor(numbers[1], 4))
    ) AS counted
FROM session_rows;

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

DROP VIEW IF EXISTS session_rows_of_events;
