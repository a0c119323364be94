// Sessions, persons and groups derived from events: the same whether a batch is derived once or twice.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { deriveStored } from "../../src/capture/store.ts";
import { silentLog } from "../../src/core/log.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openTestStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let twice: ClickHouse;
let once: ClickHouse;

/** Every seventh event is of one large session; the last of them have ads, clicks, vitals, or a reader's trouble. */
const events = `
  SELECT
    number AS i,
    UUIDNumToString(reinterpretAsFixedString(sipHash128(number)))::UUID AS uuid,
    ['$pageview', '$autocapture', '$screen', 'bought'][number % 4 + 1] AS event,
    concat('id', toString(number % 50)) AS distinct_id,
    if(number % 7 = 0, 'large', concat('s', toString(number % 300))) AS session,
    concat('{"$session_id" : "', session, '"',
      if(number % 3 = 0, concat(',"$current_url":"https://a.example/', toString(number % 11), '"'), ''),
      if(number % 5 = 0, ',"$referrer":"r","$referring_domain":"d"', ''),
      if(number % 9 = 0, concat(',"', ['utm_term', 'gclid', 'msclkid', 'li_fat_id', '_kx', 'mc_cid'][intDiv(number, 9) % 6 + 1], '":"ad"'), ''),
      if(number % 8 = 0, ',"$external_click_url":"https://b.example","$web_vitals_LCP_value":1.5', ''),
      if(number % 97 = 0, ',"big":1e999', ''), '}') AS properties,
    toDateTime64('1969-12-31 12:00:00', 6, 'UTC') + number * 13 AS timestamp,
    toDateTime64('2024-06-01 00:00:00', 6, 'UTC') + number AS created_at,
    toUInt8(if(number % 10 = 9, 2, 0)) AS person_mode,
    if(person_mode = 2, ['size', 'k'], if(number % 2 = 0, ['a', 'b', 'c'], [])) AS pk,
    if(person_mode = 2, [3, 0], if(number % 2 = 0, if(number % 3 = 0, [0, 1, 2], [1, 1, 0]), []))::Array(Int8) AS pw,
    arrayMap(key -> concat('"', key, toString(number), '"'), pk) AS pv,
    if(person_mode = 2, ['company'], []) AS gt,
    if(person_mode = 2, [toString(number % 3)], []) AS gk`;

async function store(clickhouse: ClickHouse, from: number, to: number, parts = 1): Promise<void> {
  const columns =
    "uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row, person_mode, pk, pw, pv, gt, gk";
  await clickhouse.command(
    `INSERT INTO event_rows (${columns}) SELECT ${columns.replace("project_id", "1").replace("_batch, _row", "i, i")} FROM (${events}
     FROM numbers({from:UInt64}, {rows:UInt64}))`,
    { from, rows: to - from },
  );
  // Each row is a batch of its own here.
  const batches = Array.from({ length: to - from }, (_, i) => BigInt(from + i));
  for (let part = 0; part < parts; part++) await deriveStored(clickhouse, batches, { parts, part });
}

beforeAll(async () => {
  const stores = [await openTestStores(), await openTestStores()];
  for (const each of stores) await migrate(each, { log: silentLog });
  [twice, once] = stores.map(({ clickhouse }) => clickhouse) as [ClickHouse, ClickHouse];
  await store(twice, 0, 3000);
  // Half of them once more: a batch whose outcome was in doubt; and derived in parts.
  await store(twice, 1500, 4000, 4);
  await store(once, 0, 4000);
}, 2 * storesStartMsMax);

async function both(text: string): Promise<unknown[]> {
  const settings = { compile_aggregate_expressions: 0 };
  const ask = (clickhouse: ClickHouse) => clickhouse.query<{ events?: string }>(text, {}, { settings });
  const [of, to] = [await ask(twice), await ask(once)];
  expect(of).toEqual(to);
  expect(to.length).toBeGreaterThan(1);
  return to;
}

test("a session in two batches is one, and each of its events counts once", async () => {
  await both("SELECT * FROM sessions ORDER BY session_id");
  const arrived = "SELECT session_id, arrived FROM sessions ORDER BY session_id";
  const sent = `SELECT session AS session_id, max(created_at) AS arrived FROM (${events} FROM numbers(4000))
    GROUP BY session ORDER BY session_id`;
  expect(await both(arrived)).toEqual(await both(sent));
  const counted = await both(
    `SELECT event, toUInt64(count()) AS events FROM (${events} FROM numbers(4000)) WHERE session = 'large'
     GROUP BY event ORDER BY event`,
  );
  const [large] = await twice.query<Record<string, string>>(
    `SELECT event_count, autocapture_count, pageview_count, screen_count FROM sessions WHERE session_id = 'large'`,
  );
  const numbers = counted.map((row) => (row as { events: string }).events);
  expect(Object.values(large!).slice(1)).toEqual(numbers.slice(0, 3));
  expect(Number(large!["event_count"])).toBe(numbers.reduce((sum, events) => sum + Number(events), 0));
});

test("the names of an ad are found among an entry's properties, whichever it has", async () => {
  const ads = await both(
    `SELECT arrayJoin(if(entry_utm_term != '', ['utm_term'], mapKeys(entry_click_ids))) AS name, count() AS sessions
     FROM sessions GROUP BY name ORDER BY name`,
  );
  const names = ads.map((row) => (row as { name: string }).name);
  expect(names).toEqual(["_kx", "gclid", "li_fat_id", "mc_cid", "msclkid", "utm_term"]);
});

test("what is derived of persons and groups is the same, and a moment before 1970 is the earliest", async () => {
  const folded = (table: string, keys: string, rest: string) =>
    both(`SELECT ${keys}, ${rest} FROM ${table} GROUP BY ${keys} ORDER BY ${keys}`);
  await folded("person_props", "distinct_id, key, kind", "max(w)");
  await folded("group_props", "group_type, group_key, key", "max(w)");
  await folded("groups_seen", "group_type, group_key", "min(first), min(arrived), max(changed)");
  const seen = await folded(
    "seen",
    "distinct_id",
    "min(first) AS first, max(last), min(arrived), max(changed)",
  );
  expect(seen[0]).toMatchObject({ distinct_id: "id0", first: "1969-12-31 12:00:00.000000" });
});
