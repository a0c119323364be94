// Tables of queries as CSV and as JSON lines.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { personalKey, storesOf } from "../../support/server.ts";
import { storeEvents } from "../naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
  const at = Date.UTC(2024, 2, 30, 12);
  await storeEvents(await storesOf(app), 1, [
    {
      uuid: "00000000-0000-4000-8000-000000000001",
      event: "=1+1",
      distinct_id: "ann",
      at,
      properties: { a: [1] },
    },
    {
      uuid: "00000000-0000-4000-8000-000000000002",
      event: "b",
      distinct_id: "bob",
      at: at + 1,
      properties: {},
    },
  ]);
}, startMsMax);

async function send(query: unknown, address = "", headers: Record<string, string> = {}, more: object = {}) {
  const reply = await fetch(`${app.url}/api/projects/1/query/${address}`, {
    method: "POST",
    headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ query, ...more }),
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}

const sql = (query: string) => ({ kind: "HogQLQuery", query });
const cells =
  sql(`select 'a, "b"' as "=name", '=1+1' as formula, -5 as minus, 9007199254740993 as n, null as nothing,
  true as truth, [1, 2] as list, tuple('x', 1) as pair, '' as blank`);

test("a table is CSV with all digits, and formulas as texts", async () => {
  const { status, headers, text } = await send(cells, "?format=csv");
  expect([
    status,
    headers.get("content-type"),
    headers.get("content-disposition"),
    headers.get("x-has-more"),
  ]).toEqual([200, "text/csv; charset=utf-8", 'attachment; filename="query.csv"', "false"]);
  expect(text).toBe(
    "'=name,formula,minus,n,nothing,truth,list,pair,blank\r\n" +
      `"a, ""b""",'=1+1,-5,9007199254740993,,true,"[1,2]","[""x"",1]",\r\n`,
  );
});

test("a table is JSON lines, an object a row", async () => {
  const { status, headers, text } = await send(cells, "?format=jsonl");
  expect([status, headers.get("content-type")]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
  expect(text).toBe(
    '{"=name":"a, \\"b\\"","formula":"=1+1","minus":-5,"n":9007199254740993,"nothing":null,"truth":true,' +
      '"list":[1,2],"pair":["x",1],"blank":""}\n',
  );
});

test("a list of events is a table, too, and so is one within a node", async () => {
  const list = {
    kind: "EventsQuery",
    select: ["event", "properties"],
    after: "2024-03-29",
    orderBy: ["timestamp ASC"],
  };
  for (const query of [list, { kind: "DataTableNode", source: list }]) {
    const { text } = await send(query, "?format=csv");
    expect(text).toBe(`event,properties\r\n'=1+1,"{""a"":[1]}"\r\nb,{}\r\n`);
  }
});

test("the Accept header names the format where the query does not, and JSON comes first", async () => {
  const query = sql("select 1 as a");
  const types: [accept: string, format: string, address?: string][] = [
    ["text/csv", "text/csv; charset=utf-8"],
    ["application/x-ndjson", "application/x-ndjson; charset=utf-8"],
    ["application/jsonl;q=0.9", "application/x-ndjson; charset=utf-8"],
    ["text/csv, application/json", "application/json"],
    ["text/csv;q=0", "application/json"],
    ["*/*", "application/json"],
    ["text/csv", "application/json", "?format=json"],
    ["text/csv", "application/x-ndjson; charset=utf-8", "?format=jsonl"],
  ];
  for (const [accept, type, address] of types) {
    const { headers } = await send(query, address, { accept });
    expect([accept, address, headers.get("content-type")]).toEqual([accept, address, type]);
  }
});

test("a page says whether there is more, and a long one is whole", async () => {
  const page = await send(sql("select number as n from numbers(10) limit 3"), "?format=csv");
  expect([page.text, page.headers.get("x-has-more")]).toEqual(["n\r\n0\r\n1\r\n2\r\n", "true"]);
  const long = await send(
    sql("select number as n, repeat('x', 20) as x from numbers(50000) limit 50000"),
    "?format=jsonl",
  );
  const lines = long.text.trimEnd().split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([50_000, `{"n":49999,"x":"${"x".repeat(20)}"}`]);
});

test("what is no table, two columns of a name, and what is not waited for are refused by name", async () => {
  const trend = { kind: "TrendsQuery", series: [{}] };
  const refused: [query: unknown, address: string, detail: string, more?: object][] = [
    [trend, "?format=csv", "A TrendsQuery is no table: it is answered as JSON."],
    [sql("select 1"), "?format=csv", "A query in the background is answered as JSON.", { async: true }],
    [sql("select 1 as a, 2 as a"), "?format=jsonl", 'Two columns are called "a": give them names with AS.'],
    [sql("select 1"), "?format=parquet", '"parquet" is not a valid choice.'],
  ];
  for (const [query, address, detail, more] of refused) {
    const { status, text } = await send(query, address, {}, more);
    expect([status, JSON.parse(text)]).toMatchObject([400, { attr: "format", detail }]);
  }
  expect((await send(trend, "", { accept: "text/csv" })).status).toBe(400);
  expect((await send(sql("select 1 as a, 2 as a"), "?format=csv")).text).toBe("a,a\r\n1,2\r\n");
  const wrong = await send(sql("select x from events"), "?format=csv");
  expect([wrong.status, wrong.headers.get("content-type")]).toEqual([400, "application/json"]);
});
