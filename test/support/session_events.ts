// Events of sessions, usual and odd ones, the same in every run; and what sessions are made of.

import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";

export interface SessionEvent {
  uuid: number;
  event: string;
  distinct_id: string;
  properties: string;
  timestamp: number;
  created_at: number;
}

/** Choices that do not change between runs. */
export function choices(seed: number) {
  let state = seed;
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  return { below, of: <T>(list: readonly T[]): T => list[below(list.length)]! };
}

export const texts = [
  '""',
  '"a"',
  '"https://a.example/a/long/path?with=a&query=of#some-length"',
  '"https://a.example/é靴/\u{1f600}"',
  "null",
];
export const odd = [
  '"with \\"escapes\\""',
  '"\\ud83d\\ude00"',
  "12",
  "1.50",
  "true",
  "false",
  "[1,2]",
  '{"a":"b"}',
  '"' + "long".repeat(60) + '"',
];
export const vitals = [
  "2500",
  "1523.7000000476837",
  "0.1",
  "0",
  "-3",
  "1e3",
  '"12.5"',
  "null",
  "123456789012345678",
];
/** Members beside those that are read; of the last ones some make the engine's reader refuse all of the text. */
export const others = [
  '"a":1',
  '"b":[1,-2.5,{"c":"}"}]',
  '"quote":"\\"$session_id\\":\\"no\\""',
  '"$initial_gclid":null',
  '"nested":{"$session_id":"inner","utm_source":"inner"}',
  '"escaped":"\\u00e9\\n\\\\"',
  '"pair":"\\uD83D\\uDE00"',
  '"":0',
  '"$session":"a"',
  '"number":0.30000000000000004',
  '"\\u0024session_id":"written otherwise"',
  '"exponent":1e-7',
  '"big":1e999',
  '"digits":123456789012345678901234567890',
  '"deep":[[[[[[[["a"]]]]]]]]',
];
const ads = ["utm_source", "utm_campaign", "gclid", "gad_source", "_kx", "irclid", "li_fat_id"];
export const names = [
  "$current_url",
  "$current_url",
  "$referrer",
  "$referring_domain",
  "$external_click_url",
  "$web_vitals_LCP_value",
];

/** Ids with a moment near 1970, near the events' arrival, and some that are not quite one. */
const momentIds = [
  "00000000-03e8-7000-8000-000000000000",
  "000000000-3e8-7000-8000-000000000000",
  "018BCFE5-6800-7abc-8000-00000000000a",
  "018bcfe5-6800-7abc-8000-00000000000",
  "018bcfe5-680g-7abc-8000-00000000000a",
  "018bcfe5-6800-4abc-8000-00000000000a",
];

/** Half of the events are as sites send them; of the others each may be odd in any place. */
export function sessionEvents(seed: number, count: number): SessionEvent[] {
  const { below, of } = choices(seed);
  return Array.from({ length: count }, (_, i) => {
    const isUsual = below(2) === 0;
    const members: string[] = [];
    const blank = isUsual ? "" : of(["", "", " ", "\n"]);
    const add = (name: string, value: string) => members.push(`"${name}"${blank}:${blank}${value}`);
    const session = below(4) === 0 ? `"${of(momentIds)}"` : `"s${below(40)}"`;
    if (isUsual || below(8) > 0)
      add("$session_id", isUsual || below(6) > 0 ? session : of([...texts, ...odd]));
    for (const name of names) {
      if (below(3) > 0) continue;
      if (name === "$web_vitals_LCP_value") add(name, isUsual ? of(vitals.slice(0, 3)) : of(vitals));
      else add(name, isUsual || below(4) > 0 ? of(texts) : of(odd));
    }
    if (below(5) === 0) add(of(ads), isUsual || below(4) > 0 ? of(texts) : of(odd));
    for (let more = below(4); more > 0; more--) members.push(isUsual ? of(others.slice(0, 2)) : of(others));
    const turned = below(members.length + 1);
    members.push(...members.splice(0, turned));
    // Some happen in one moment, some before 1970.
    const timestamp = (below(20) - 2) * 1_000_000 * (below(10) === 0 ? 1_000_000_000 : 1);
    return {
      uuid: seed * 1_000_000 + i,
      event: of(["$pageview", "$autocapture", "$screen", "bought", "$pageviews"]),
      distinct_id: `id${below(3)}`,
      properties: `{${blank}${members.join(`${blank},${blank}`)}${blank}}`,
      timestamp: below(4) === 0 ? 1_700_000_000_000_000 + timestamp : timestamp,
      created_at: 1_700_000_000_000_000 + seed * 1000 + below(5),
    };
  });
}

/** All that the view of a project's sessions shows, each folded to one row; start_time and end_time only lie around. */
export async function sessionFactsOf(
  clickhouse: ClickHouse,
  project_id: number,
  table = "session_facts",
): Promise<object[]> {
  return await clickhouse.query(
    `SELECT hex(session_id) AS id, min(began), max(ended), toString(max(arrived)),
       hex(max(first_seen)), hex(max(entry)), hex(max(exit)), hex(max(external_click)), hex(max(lcp)),
       arraySort(groupUniqArrayArray(65536)(counted)) AS counted
     FROM {table:Identifier} WHERE project_id = {project_id:UInt32} GROUP BY session_id ORDER BY session_id`,
    { project_id, table },
    { settings: { compile_aggregate_expressions: 0 } },
  );
}
