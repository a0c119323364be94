// An expression fails on rows of its own project only: beside another project's rows, in the same granules, it gives
// what it gave without them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";
import { sqlTables } from "../../../src/query/sql/compile/lists/tables.ts";
import { storeEvents } from "../naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
const noon = Date.UTC(2024, 2, 30, 12);

function run(query: string): Promise<Answer> {
  const body = { query: { kind: "HogQLQuery", query } };
  return ask({ url: app.url } as never, "POST", "/api/projects/1/query/", body);
}

/** In the order of the query, which the queries below have. */
async function answerTo(query: string): Promise<unknown[]> {
  const { status, body } = await run(query);
  return [query, status, body["results"] ?? body["detail"]];
}

function rowsOf(first: string, event: (i: number) => string, n: (i: number) => number) {
  return Array.from({ length: 60 }, (_, i) => ({
    uuid: `${first}0000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
    event: event(i),
    distinct_id: `${first}user ${i % 4}`,
    at: noon + i * 60_000,
    properties: { n: n(i), name: event(i) },
  }));
}

/** Each fails where the event is `(`, or `n` is 0. */
const failing = [
  "intDiv(10, length(event) - 1)",
  "modulo(10, length(event) - 1)",
  "intDiv(10, toInt(properties.n))",
  "positiveModulo(10, toInt(properties.n))",
  "toInt(match('seen', event))",
  "toInt(match('seen', ifNull(properties.name, '')))",
  "toInt('seen' =~ lower(event))",
  "length(replaceRegexpAll('seen', event, 'x'))",
  "length(base64Decode(event))",
  "IPv4StringToNum(replaceRegexpAll(event, '[a-z]+', '127.0.0.1'))",
  "IPv4StringToNum(if(event = '(', 'x', '127.0.0.1'))",
  "length(base64Decode(toLowCardinality(event)))",
  "length(range(if(event = '(', 1000000000000, 2)))",
  "length(repeat('aaaaaaaaaa', if(event = '(', 100000000, 2)))",
  "length(arrayWithConstant(length(event) - 2, 1))",
  "length(arrayZip([1], if(event = '(', [1, 2], [1])))",
  "length(mapFromArrays([1], if(event = '(', [1, 2], [1])))",
  "length(arrayMap((a, b) -> a, [1], if(event = '(', [1, 2], [1])))",
  "toInt(dotProduct([1], if(event = '(', [1, 2], [1])))",
  "length(arrayResize([1], if(event = '(', 100000000000, 2)))",
];

const places: ((expression: string) => string)[] = [
  (one) => `select count() from events where ${one} > 0`,
  (one) => `select uuid from events where ${one} > 0 and event = 'seen' order by uuid limit 3`,
  (one) => `select sum(${one}) from events where distinct_id != 'x' or ${one} > 0`,
  (one) => `select ${one} as found, count() from events group by found order by found`,
  (one) => `select event, max(${one}) as m from events group by event having max(${one}) >= 0 order by event`,
  (one) => `select uuid from events order by ${one}, uuid limit 3`,
  (one) =>
    `select count() from events e join (select ${one} as k, uuid as id from events) f on e.uuid = f.id and f.k >= 0`,
];
const asked = failing.flatMap((one) => places.map((place) => place(one)));

let alone: unknown[][];
beforeAll(async () => {
  app = await startApp();
  const stores = await storesOf(app);
  const names = ["seen", "shop"];
  await storeEvents(
    stores,
    1,
    rowsOf(
      "0",
      (i) => names[i % 2]!,
      (i) => i + 1,
    ),
  );
  alone = [];
  for (const query of asked) alone.push(await answerTo(query));
  await storeEvents(
    stores,
    2,
    rowsOf(
      "2",
      () => "(",
      () => 0,
    ),
  );
  await stores.clickhouse.command("OPTIMIZE TABLE event_rows FINAL", {});
}, 240_000);

test("another project's rows make no expression fail", async () => {
  expect(alone.filter(([, status]) => status !== 200)).toEqual([]);
  for (const before of alone) expect(await answerTo(String(before[0]))).toEqual(before);
}, 120_000);

test("each fails on such a row of the project's own", async () => {
  await storeEvents(
    await storesOf(app),
    1,
    rowsOf(
      "3",
      () => "(",
      () => 0,
    ),
  );
  for (const one of failing) {
    const query = `select sum(${one}) from events`;
    expect([query, (await run(query)).status]).toEqual([query, 400]);
  }
});

test("no column has the engine's dictionary, which projects share", async () => {
  for (const [name, { columns }] of Object.entries(sqlTables)) {
    const { status, body } = await run(`select ${Object.keys(columns).join(", ")} from ${name}`);
    expect([name, status]).toEqual([name, 200]);
    expect(JSON.stringify(body["types"])).not.toContain("LowCardinality");
  }
});
