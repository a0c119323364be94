// An expression fails on rows of its own project only: beside another project's rows, in the same granules, it gives
// what it gave without them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { sqlTables } from "../../../src/query/sql/compile/lists/tables.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";
import { storeEvents } from "../naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
const noon = Date.UTC(2024, 2, 30, 12);

/** Again while the machine is too busy: the parser's bound is of CPU time, which neighbours of a core lengthen. */
async function run(query: string | object): Promise<Answer> {
  const body = { query: typeof query === "string" ? { kind: "HogQLQuery", query } : query };
  for (;;) {
    const answer = await ask({ url: app.url } as never, "POST", "/api/projects/1/query/", body);
    if (answer.status !== 503 && !answer.text.includes("takes too long to be read")) return answer;
  }
}

/** In the order of the query, which the queries below have. */
async function answerTo(query: string | object): Promise<unknown[]> {
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
  "toUnixTimestamp(if(event = '(', 'x', '2024-01-01 00:00:00'))",
  "dayOfWeek(if(event = '(', 'x', '2024-01-01 00:00:00'))",
  "round(1.5, if(event = '(', 10000000000, 1))",
  "lcm(toInt(properties.n), 6)",
  "factorial(if(event = '(', 100, 2))",
  "length(leftPad(event, if(event = '(', -1, 9)))",
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
/** What an expression may stand in; each keeps a number a number. */
const wrappers: ((expression: string) => string)[] = [
  (one) => `${one} + 1`,
  (one) => `-1 * ${one}`,
  (one) => `toFloat(toString(${one}))`,
  (one) => `coalesce(${one}, 1)`,
  (one) => `greatest(${one}, 0)`,
  (one) => `if(distinct_id = 'nobody', 0, ${one})`,
  (one) => `multiIf(properties.n = 0, 0, ${one} > 5, 5, 1)`,
  (one) => `case when ${one} > 0 then 1 else 2 end`,
  (one) => `arrayMap(x -> x + 1, [${one}])[1]`,
  (one) => `tuple(${one}, 1).1`,
  (one) => `length(concat(toString(${one}), event))`,
  (one) => `toInt(${one} in (1, 2, 3)) + 1`,
  (one) => `toInt(${one} between 0 and 9 and distinct_id != 'x') + 1`,
  (one) => `toInt(${one} > 0 or event = '(') + 1`,
  (one) => `arraySum(arrayFilter(x -> x >= 0, [ifNull(${one}, 0), 1]))`,
  (one) => `JSONExtractInt(concat('{"a":', toString(toInt(${one})), '}'), 'a') + 1`,
];
const further: ((expression: string) => string)[] = [
  (one) => `select ${one} as found, count() from events where found > 0 group by found order by found`,
  (one) => `select uuid from events where ${one} > 0 and timestamp > '2024-03-30' order by uuid limit 3`,
  (one) => `select person_id, max(${one}) from events where ${one} > 0 group by person_id order by person_id`,
  (one) => `select max(k) from (select ${one} as k, event from events where distinct_id != 'x') where k > 0`,
  (one) => `select count() from events prewhere ${one} > 0 where event != 'x'`,
  (one) => `select uuid, sum(${one}) over (order by uuid) from events order by uuid limit 3`,
  (one) => `select event, uuid from events where ${one} > 0 order by event, uuid limit 1 by event`,
  (one) => `select count() from events where uuid in (select uuid from events where ${one} > 0)`,
  (one) => `select sumIf(1, ${one} > 0), countIf(event = 'seen' and ${one} > 0) from events`,
  (one) => `select k, count() from events array join [${one}] as k group by k order by k`,
];
const mixed = fc
  .tuple(fc.constantFrom(...failing), fc.array(fc.constantFrom(...wrappers), { maxLength: 1 }))
  .map(([kernel, around]) => around.reduce((inner, wrap) => wrap(inner), kernel));
const somewhere = fc
  .tuple(mixed, fc.constantFrom(...places, ...further))
  .map(([expression, place]) => place(expression));

const dateRange = { date_from: "2024-03-30", date_to: "2024-03-31" };
/** Other kinds, in whose statements expressions stand, too. */
const kinds: ((expression: string) => object)[] = [
  (one) => ({
    kind: "TrendsQuery",
    series: [{}],
    dateRange,
    properties: [{ type: "hogql", key: `${one} > 0` }],
  }),
  (one) => ({ kind: "TrendsQuery", series: [{ math: "hogql", math_hogql: `sum(${one})` }], dateRange }),
  (one) => ({
    kind: "TrendsQuery",
    series: [{ math: "first_time_for_user", properties: [{ type: "hogql", key: `${one} > 0` }] }],
    dateRange,
    breakdownFilter: { breakdown: one, breakdown_type: "hogql" },
  }),
  (one) => ({
    kind: "FunnelsQuery",
    series: [{ event: "seen", properties: [{ type: "hogql", key: `${one} > 0` }] }, { event: "shop" }],
    dateRange,
  }),
  (one) => ({
    kind: "StickinessQuery",
    series: [{}],
    dateRange,
    properties: [{ type: "hogql", key: `${one} > 0` }],
  }),
  (one) => ({
    kind: "RetentionQuery",
    dateRange,
    retentionFilter: { targetEntity: { id: "seen", properties: [{ type: "hogql", key: `${one} > 0` }] } },
  }),
];

const asked: (string | object)[] = [
  ...failing.map((one, i) => kinds[i % kinds.length]!(one)),
  ...failing.flatMap((one, i) => places.map((place, j) => ((i + j) % 3 === 0 ? place(one) : ""))),
  ...fc.sample(somewhere, { numRuns: 120, seed: 32 }),
].filter((one) => one !== "");

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
  const { clickhouse } = stores;
  await clickhouse.command(`OPTIMIZE TABLE ${clickhouse.tables.local("event_rows")} FINAL`);
}, 1_800_000);

test("another project's rows make no expression fail", async () => {
  expect(alone.filter(([, status]) => status !== 200)).toEqual([]);
  for (const before of alone) expect(await answerTo(before[0] as string | object)).toEqual(before);
}, 1_800_000);

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
