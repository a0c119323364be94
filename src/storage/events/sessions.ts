// How sessions are derived from stored events: by the flush, and again by a deletion for the events it leaves.

import { storageLimits } from "../limits.ts";

const adKeys = (
  "utm_source utm_medium utm_campaign utm_term utm_content gclid gad_source gclsrc dclid gbraid wbraid fbclid " +
  "msclkid twclid li_fat_id mc_cid igshid ttclid _kx irclid"
).split(" ");
/** Read at once: a lambda over the keys would copy the properties for each of them. */
const adType = `Tuple(${adKeys.map((key) => `${key} String`).join(", ")})`;
const adTexts = adKeys.map((_, i) => `'\\0', ads.${i + 1}`).join(", ");

/** Parts of these keys that together find all of them. */
const adParts =
  `'"utm_', 'clid"', '"gad_source"', '"gclsrc"', '"gbraid"', '"wbraid"', '"msclkid"', '"li_fat_id"', '"mc_cid"', ` +
  `'"igshid"', '"_kx"'`;

const sentType =
  "Tuple(`$session_id` String, `$current_url` String, `$referrer` String, `$referring_domain` String, " +
  "`$external_click_url` String, `$web_vitals_LCP_value` Float64)";

/**
 * The statement that folds those stored events into session_facts of which `which` is true. Doing so again changes
 * nothing: it folds by least, greatest and sets. Events that arrived before their person was deleted are left out.
 *
 * `early` and `late`: eight bytes that sort like the event's moment, inverted where the earliest wins. `hash`: by which
 * the engine's own `uniq` counts a UUID. `sent` is computed in the innermost query, as the engine would otherwise
 * compute it once for WHERE and again for GROUP BY. Few events carry advertising parameters: one search finds them.
 * Properties that JSONExtract does not accept (a number too long, a lone surrogate) still count for their session.
 */
export const sessionsOf = (which: string): string => String.raw`
INSERT INTO session_facts
  (project_id, session_id, start_time, end_time, first_seen, entry, exit, external_click, lcp, counted)
WITH
  bitXor(reinterpretAsUInt64(toUnixTimestamp64Micro(timestamp)), 0x8000000000000000) AS moment,
  reverse(reinterpretAsFixedString(moment)) AS late,
  reverse(reinterpretAsFixedString(bitNot(moment))) AS early,
  JSONExtract(properties, '${adType}') AS ads,
  if(multiSearchAny(properties, [${adParts}]), concat(${adTexts}), '') AS ad,
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
  groupUniqArray(65536)(bitOr(
    bitAnd(hash, 0xFFFFFFFC),
    transform(event, ['$pageview', '$autocapture', '$screen'], [1, 2, 3], 0))) AS counted
FROM (
  SELECT
    uuid, project_id, event, distinct_id, properties, timestamp,
    JSONExtract(properties, '${sentType}') AS sent,
    if(sent.1 != '', sent.1, extract(properties, '"\\$session_id"\\s*:\\s*"([^"\\\\]+)"')) AS session
  FROM event_rows AS e
  LEFT ANY JOIN (
    SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at FROM deleted_ids GROUP BY project_id, id_hash
  ) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
  WHERE ${which} AND position(properties, '"$session_id"') > 0
    AND created_at > id_deleted_at
)
WHERE session != '' AND length(session) <= 200
GROUP BY project_id, session_id
SETTINGS max_bytes_before_external_group_by = ${storageLimits.sessionsBytesMax}`;
