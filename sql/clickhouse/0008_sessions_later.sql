-- Sessions are derived behind the flush, in big steps: as a view of event_feed they took 3.3 of the 7.9 CPU-seconds that
-- an INSERT cost for each GB, and 19 of the 30 ms of a small one.
DROP TABLE IF EXISTS session_facts_of_events SYNC;

-- Gets stored events once more, from the journal's own blocks: event_rows cannot be asked for the rows of a batch, as
-- they lie in every granule of a year once merged. What is fed twice changes nothing.
CREATE TABLE IF NOT EXISTS session_feed
(
    uuid UUID,
    project_id UInt32,
    event LowCardinality(String),
    distinct_id String,
    properties String,
    timestamp DateTime64(6, 'UTC'),
    created_at DateTime64(6, 'UTC')
)
ENGINE = Null;

-- `early` and `late`: eight bytes that sort like the event's moment, inverted where the earliest wins. `hash`: by which
-- the engine's own `uniq` counts a UUID. `sent` is computed in the innermost query, as the engine would otherwise
-- compute it once for WHERE and again for GROUP BY. Few events carry advertising parameters: one search finds them, for
-- parts of their keys that together find all. They are read at once, since a lambda over the keys would copy the
-- properties for each. Properties that JSONExtract does not accept (a number too long, a lone surrogate) still count for
-- their session. Events that arrived before their person was deleted are left out.
CREATE MATERIALIZED VIEW IF NOT EXISTS session_facts_of_feed TO session_facts AS
WITH
    bitXor(reinterpretAsUInt64(toUnixTimestamp64Micro(timestamp)), 0x8000000000000000) AS moment,
    reverse(reinterpretAsFixedString(moment)) AS late,
    reverse(reinterpretAsFixedString(bitNot(moment))) AS early,
    JSONExtract(properties, 'Tuple(utm_source String, utm_medium String, utm_campaign String, utm_term String, utm_content String, gclid String, gad_source String, gclsrc String, dclid String, gbraid String, wbraid String, fbclid String, msclkid String, twclid String, li_fat_id String, mc_cid String, igshid String, ttclid String, _kx String, irclid String)') AS ads,
    if(
        multiSearchAny(properties, ['"utm_', 'clid"', '"gad_source"', '"gclsrc"', '"gbraid"', '"wbraid"', '"msclkid"', '"li_fat_id"', '"mc_cid"', '"igshid"', '"_kx"']),
        concat('\0', ads.1, '\0', ads.2, '\0', ads.3, '\0', ads.4, '\0', ads.5, '\0', ads.6, '\0', ads.7, '\0', ads.8, '\0', ads.9, '\0', ads.10, '\0', ads.11, '\0', ads.12, '\0', ads.13, '\0', ads.14, '\0', ads.15, '\0', ads.16, '\0', ads.17, '\0', ads.18, '\0', ads.19, '\0', ads.20),
        '') AS ad,
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
FROM
(
    SELECT
        e.uuid AS uuid,
        e.project_id AS project_id,
        e.event AS event,
        e.distinct_id AS distinct_id,
        e.properties AS properties,
        e.timestamp AS timestamp,
        JSONExtract(properties, 'Tuple(`$session_id` String, `$current_url` String, `$referrer` String, `$referring_domain` String, `$external_click_url` String, `$web_vitals_LCP_value` Float64)') AS sent,
        if(sent.1 != '', sent.1, extract(properties, '"\\$session_id"\\s*:\\s*"([^"\\\\]+)"')) AS session
    FROM session_feed AS e
    LEFT ANY JOIN
    (
        SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at
        FROM deleted_ids
        GROUP BY project_id, id_hash
    ) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
    WHERE position(e.properties, '"$session_id"') > 0 AND e.created_at > d.id_deleted_at
)
WHERE session != '' AND length(session) <= 200
GROUP BY project_id, session_id;
