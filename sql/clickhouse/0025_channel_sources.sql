-- Older servers: go on.
-- Takes: a moment.
-- Channels of visits, as PostHog's: of several gad_source only 1 is search, a campaign of videos is one, the text null is
-- no source, mail programs are e-mail before their owner is a search engine, and without a referrer unknown sources
-- leave a visit direct.
CREATE OR REPLACE VIEW sessions AS
WITH
    fromUnixTimestamp64Micro(toInt64(bitAnd(began + 576460752303423488, 1152921504606846975) - 576460752303423488), 'UTC') AS first_time,
    fromUnixTimestamp64Micro(toInt64(bitAnd(ended + 576460752303423488, 1152921504606846975) - 576460752303423488), 'UTC') AS last_time,
    splitByChar('\0', substring(entry, 9)) AS entered,
    entered[1] AS entered_url,
    entered[3] AS entered_domain,
    entered[4] AS entered_source,
    entered[5] AS entered_medium,
    entered[6] AS entered_campaign,
    mapFilter((name, value) -> value NOT IN ('', 'null'), mapFromArrays(
        ['gclid', 'gad_source', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'fbclid', 'msclkid', 'twclid', 'li_fat_id', 'mc_cid', 'igshid', 'ttclid', '_kx', 'irclid'],
        arrayResize(arraySlice(entered, 9, 15), 15)
    )) AS clicks,
    substring(exit, 9) AS left_url,
    arrayMap(number -> bitAnd(number, 3), counted) AS kinds,
    -- The text null is none, as at PostHog.
    arrayMap(name -> if(name = 'null', '', name), [lower(entered_source), lower(entered_medium), lower(entered_campaign)]) AS campaign_texts,
    campaign_texts[1] AS source,
    campaign_texts[2] AS medium,
    campaign_texts[3] AS campaign,
    -- What a campaign's source says, and what the referrer says.
    arrayMap(name -> multiIf(
        match(name, '^(mail\\.|.*webmail.*|com\\.google\\.android\\.gm$)'), 'Email',
        match(name, '(^|\\.)plus\\.google(\\.|$)'), 'Social',
        match(name, '(^|\\.)(amazon|ebay|etsy|walmart|alibaba|aliexpress|shopping|rakuten|mercadolibre|wayfair)(\\.|$)'), 'Shopping',
        match(name, '(^|\\.)(google|googleads|adwords|bing|duckduckgo|yahoo|baidu|yandex|ecosia|ask|aol|startpage|qwant|naver|sogou|seznam|perplexity|search\\.brave|kagi)(\\.|$)'), 'Search',
        match(name, '(^|\\.)(facebook|fb|instagram|ig|twitter|x\\.com|t\\.co|linkedin|lnkd|pinterest|reddit|tiktok|snapchat|threads|quora|tumblr|vk|weibo|whatsapp|wa\\.me|telegram|t\\.me|discord|mastodon|bsky|medium|ycombinator)(\\.|$)'), 'Social',
        match(name, '(^|\\.)(youtube|youtu|vimeo|twitch|dailymotion|netflix|hulu|wistia)(\\.|$)'), 'Video',
        ''), [source, lower(entered_domain)]) AS places,
    match(medium, '^(cpc|cpm|cpv|cpa|ppc|retargeting|paid.*)$') OR mapContains(clicks, 'gclid') OR mapContains(clicks, 'gad_source') AS paid,
    multiIf(
        places[1] != '', places[1],
        match(campaign, '(([^a-df-z]|^)shop|shopping)'), 'Shopping',
        medium IN ('social', 'social-network', 'social-media', 'sm', 'social network', 'social media'), 'Social',
        match(medium, 'video'), 'Video',
        '') AS campaign_place,
    multiIf(places[2] != '', places[2], match(campaign, 'video'), 'Video', mapContains(clicks, 'fbclid'), 'Social', '') AS referrer_place,
    multiIf(campaign_place NOT IN ('', 'Email'), campaign_place, referrer_place != 'Email', referrer_place, '') AS place
SELECT
    project_id,
    session_id,
    substring(first_seen, 9) AS distinct_id,
    first_time AS start_time,
    last_time AS end_time,
    dateDiff('second', first_time, last_time) AS duration,
    arrived,
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
        match(campaign, 'cross-?network'), 'Cross Network',
        paid AND place != '', concat('Paid ', place),
        paid AND clicks['gad_source'] = '1', 'Paid Search',
        paid, 'Paid Unknown',
        entered_domain = '$direct' AND medium = '' AND source IN ('', 'direct', '(direct)', '$direct') AND NOT mapContains(clicks, 'fbclid'), 'Direct',
        campaign_place NOT IN ('', 'Email'), concat('Organic ', campaign_place),
        match(medium, '^(affiliates?|partnerships?)$'), 'Affiliate',
        campaign_place = 'Email' OR match(medium, '^(e[-_ ]?mail|newsletter)$') OR match(source, '^(e-?mail|newsletter)'), 'Email',
        medium IN ('referral', 'link', 'app'), 'Referral',
        medium = 'audio', 'Audio',
        medium = 'sms' OR source = 'sms', 'SMS',
        match(medium, '(push|mobile|notification)') OR source = 'firebase', 'Push',
        referrer_place = 'Email', 'Email',
        referrer_place != '', concat('Organic ', referrer_place),
        entered_domain NOT IN ('', '$direct'), 'Referral',
        entered_domain = '$direct', 'Direct',
        'Unknown') AS channel_type
FROM session_facts FINAL;
