// How sessions are derived from events: by the flush from the journal's own blocks, by a deletion and a restored backup
// from stored events. The facts fold by least and greatest: deriving the same events again changes nothing.

import { wordsIn } from "../../core/words.ts";
import type { DerivedInsert } from "../clickhouse/clickhouse.ts";
import { storageLimits } from "../limits.ts";
import { soundObject } from "./property_filter.ts";
import { adNames } from "./session_property.ts";

/** The columns of a journal's block that sessions are derived from. */
const structure =
  "uuid UUID, project_id UInt32, event LowCardinality(String), distinct_id String, properties String, " +
  "timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC')";

/**
 * Settings of such an INSERT: it reads, groups and writes with one thread, since no request waits for it. Many sessions
 * are grouped by way of a file, and become several parts.
 */
export const sessionSettings = {
  max_threads: "1",
  max_bytes_before_external_group_by: String(storageLimits.sessionBytesMax),
  min_insert_block_size_rows: "0",
  min_insert_block_size_bytes: String(storageLimits.sessionBytesMax),
} as const;

/** The properties that are read of an event: `sent.1` to `sent.6`, the last a number. */
export const sessionNames = wordsIn(
  "$session_id $current_url $referrer $referring_domain $external_click_url $web_vitals_LCP_value",
);

/** The longest id of a session, in bytes: events of a longer one have none. */
export const sessionBytesMax = 200;

/**
 * Microseconds. An event counts for its session's bounds and first and last values if it lies from a little before the
 * moment of the session's UUIDv7 (clocks differ) to a day later; without such an id, if it arrived within a day. A
 * stray's moment is moved by RANK, so that it counts where nothing better is there: by one near its arrival, else two.
 * As an entry, one with a source and no address is moved by four, so that it counts where no event has an address.
 */
export const sessionMicros = { SLACK: 300_000_000, DAY: 86_400_000_000, RANK: 2n ** 60n } as const;
const half = sessionMicros.RANK / 2n;

/** Substrings of the keys of `adNames` that find them all: one search spares reading them from most events. */
const adParts = `"utm_ clid" "gad_source" "gclsrc" "gbraid" "wbraid" "msclkid" "li_fat_id" "mc_cid" "igshid" "_kx"`;

const declareTexts = (names: readonly string[]) => names.map((name) => `\`${name}\` String`).join(", ");
const literals = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(", ");
const joinedAds = adNames.map((_, i) => `'\\0', ads.${i + 1}`).join(", ");

/**
 * The properties of an event that a session needs, read once. Events without ads are read as an empty text: within a
 * condition, the engine would read the properties once for each ad.
 */
const read = `
  WITH
    ${soundObject("properties")} AS sound,
    if(multiSearchAny(sound, [${literals(adParts.split(" "))}]), sound, '') AS with_ads,
    JSONExtract(with_ads, 'Tuple(${declareTexts(adNames)})') AS ads,
    concat(${joinedAds}) AS all_ads
  SELECT
    uuid, project_id, event, distinct_id, timestamp, created_at,
    JSONExtract(sound, 'Tuple(${declareTexts(sessionNames.slice(0, -1))}, \`${sessionNames[5]}\` Float64)') AS sent,
    -- Properties that JSONExtract does not accept even so still count for their session.
    if(sent.1 != '', sent.1, extract(properties, '"\\\\$session_id"\\\\s*:\\\\s*"([^"\\\\\\\\]+)"')) AS session,
    if(length(all_ads) > ${adNames.length}, all_ads, '') AS ad`;

/** Events that arrived before their person was deleted are omitted. */
const selectEvents = (rows: string, which: string) => `
  SELECT
    e.uuid AS uuid, e.project_id AS project_id, e.event AS event, e.distinct_id AS distinct_id,
    e.timestamp AS timestamp, e.created_at AS created_at, e.sent AS sent, e.session AS session, e.ad AS ad
  FROM (${read} FROM ${rows} WHERE position(properties, '"$session_id"') > 0${which && ` AND (${which})`}) AS e
  LEFT ANY JOIN (
    SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at FROM deleted_ids GROUP BY project_id, id_hash
  ) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
  WHERE e.created_at > d.id_deleted_at`;

const into = `INSERT INTO session_facts (project_id, session_id, start_time, end_time, began, ended, arrived,
  first_seen, entry, exit, external_click, lcp, counted)`;

/** The time of a moment that is moved by ranks; also in sql/clickhouse/0020_session_bounds.sql. */
const unrankedTime = (moment: string) =>
  `fromUnixTimestamp64Micro(toInt64(bitAnd(${moment} + ${half}, ${half * 2n - 1n}) - ${half}), 'UTC')`;

/**
 * `early` and `late`: eight bytes that sort like the event's moment, inverted where the earliest wins. `hash`: by which
 * the engine's own `uniq` counts a UUID. The columns are explained in sql/clickhouse/0004_sessions.sql.
 */
const insert = (rows: string, which = "") => `${into}
WITH
  toUnixTimestamp64Micro(timestamp) AS micros,
  abs(micros - toUnixTimestamp64Micro(created_at)) <= ${sessionMicros.DAY} AS is_near,
  length(session) = 36 AND match(session, '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7') AS has_moment,
  if(has_moment, unhex(substring(session, 1, 8) || substring(session, 10, 4)), '') AS id_moment,
  micros - 1000 * toInt64(reinterpretAsUInt64(reverse(id_moment))) AS past,
  if(has_moment, past BETWEEN -${sessionMicros.SLACK} AND ${sessionMicros.DAY}, is_near) AS is_within,
  multiIf(is_within, 0, is_near, ${sessionMicros.RANK}, ${2n * sessionMicros.RANK}) AS stray,
  toInt64(micros + stray) AS first_moment, toInt64(micros - stray) AS last_moment,
  reverse(reinterpretAsFixedString(bitXor(reinterpretAsUInt64(last_moment), 0x8000000000000000))) AS late,
  reverse(reinterpretAsFixedString(bitNot(bitXor(reinterpretAsUInt64(first_moment), 0x8000000000000000)))) AS early,
  toInt64(first_moment + ${4n * sessionMicros.RANK}) AS sourced_moment,
  reverse(reinterpretAsFixedString(bitNot(bitXor(reinterpretAsUInt64(sourced_moment), 0x8000000000000000)))) AS sourced,
  reinterpretAsUInt128(uuid) AS number,
  bitXor(bitXor(toUInt64(number), toUInt64(bitShiftRight(number, 64))), 0x4CF2D2BAAE6DA887) AS folded,
  toUInt32(intHash64(bitXor(intHash64(folded), 0x4CF2D2BAAE6DA887))) AS hash,
  transform(event, ['$pageview', '$autocapture', '$screen'], [1, 2, 3], 0) AS kind
SELECT
  project_id, session AS session_id,
  ${unrankedTime("began")} AS start_time, ${unrankedTime("ended")} AS end_time,
  min(first_moment) AS began, max(last_moment) AS ended,
  max(created_at) AS arrived,
  max(concat(early, distinct_id)) AS first_seen,
  max(if(concat(sent.2, sent.3, sent.4, ad) = '', '',
    concat(if(sent.2 = '', sourced, early), sent.2, '\\0', sent.3, '\\0', sent.4, ad))) AS entry,
  max(if(sent.2 = '', '', concat(late, sent.2))) AS exit,
  max(if(sent.5 = '', '', concat(late, sent.5))) AS external_click,
  max(if(sent.6 > 0, concat(early, reinterpretAsFixedString(sent.6)), '')) AS lcp,
  groupUniqArray(65536)(bitOr(bitAnd(hash, 0xFFFFFFFC), kind)) AS counted
FROM (${selectEvents(rows, which)})
WHERE session != '' AND length(session) <= ${sessionBytesMax}
GROUP BY project_id, session_id`;

export const sessionsOfBlocks: DerivedInsert = { structure, text: (rows) => insert(rows) };

/**
 * Derives sessions of Native blocks of events that were folded before, by session and distinct id. After a deletion of
 * persons in between, only some of the events may count: then it is refused, and the events are read one by one.
 */
export const sessionsOfFolds: DerivedInsert = {
  structure:
    "project_id UInt32, session_id String, began Int64, ended Int64, " +
    "arrived DateTime64(6, 'UTC'), first_arrived DateTime64(6, 'UTC'), first_seen String, entry String, " +
    "exit String, external_click String, lcp String, counted Array(UInt32)",
  text: (rows) => `${into}
SELECT
  f.project_id, f.session_id, ${unrankedTime("min(f.began)")}, ${unrankedTime("max(f.ended)")}, min(f.began),
  max(f.ended), max(f.arrived), max(f.first_seen), max(f.entry), max(f.exit), max(f.external_click), max(f.lcp),
  groupUniqArrayArray(65536)(f.counted)
FROM (SELECT *, sipHash64(substring(first_seen, 9)) AS folded_id FROM ${rows}) AS f
LEFT ANY JOIN (
  SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at FROM deleted_ids GROUP BY project_id, id_hash
) AS d ON f.project_id = d.project_id AND f.folded_id = d.id_hash
WHERE f.arrived > d.id_deleted_at
  AND throwIf(f.arrived > d.id_deleted_at AND f.first_arrived <= d.id_deleted_at, 'a person was deleted') = 0
GROUP BY f.project_id, f.session_id`,
};

/** The statement that derives the sessions of those stored events of which `which` is true. */
export const insertStoredSessions = (which: string): string => insert("event_rows", which);
