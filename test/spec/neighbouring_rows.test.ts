// Lists, insights, links and exports compute what a client sends for rows of its own project only. Two projects have rows
// in the same granules of every table; what fails on each row that is not its own fails nowhere.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { operators } from "../../src/storage/events/property_value.ts";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeBackfill, makeExport, runsOf } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { hostileTexts } from "../support/hostile_values.ts";
import { type Neighbours, startNeighbours } from "../support/neighbours.ts";
import { storesMode } from "../support/remote_clickhouse.ts";
import { post, projectKey, rested, until } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let neighbours: Neighbours;
beforeAll(async () => {
  neighbours = await startNeighbours({ EXPORT_FILE_DIR: makeFolder() });
}, startMsMax);

/** A filter whose second pattern is none: it fails on the values that the first one does not find. */
const filter = (type: string, key: string, first = "mine") => ({
  type,
  key,
  operator: "regex",
  value: [first, "("],
  ...(type === "group" && { group_type_index: 0 }),
});
const listed = (path: string, name: string, type: string, key: string) => (first: string) =>
  `${path}?${name}=${encodeURIComponent(JSON.stringify([filter(type, key, first)]))}`;

const lists: ((first: string) => string)[] = [
  listed("events/", "properties", "event", "plan"),
  listed("events/", "properties", "event", "$session_id"),
  listed("events/", "properties", "person", "email"),
  listed("events/", "properties", "group", "name"),
  listed("events/", "properties", "session", "$entry_current_url"),
  listed("persons/", "properties", "person", "email"),
  listed("persons/", "properties", "person", "plan"),
  listed("session_recordings/", "properties", "event", "$current_url"),
  listed("session_recordings/", "properties", "person", "email"),
  listed("session_recordings/", "properties", "session", "$entry_current_url"),
];

test("no filter of a list is computed for another project's rows", async () => {
  for (const list of lists) {
    const mine = await neighbours.send("GET", list("mine"));
    expect([list("mine"), mine.status, mine.body["detail"]]).toEqual([list("mine"), 200, undefined]);
    expect([list("theirs"), (await neighbours.send("GET", list("theirs"))).status]).toEqual([
      list("theirs"),
      400,
    ]);
  }
}, 1_800_000);

/** Fails on each row of another project. */
const call = (id: string) => `intDiv(1, if(${id} like 'mine%', 1, 0))`;
const hogql = { type: "hogql", key: `${call("distinct_id")} = 1` };
/** Over events that the project has. */
function queriesOf(word: string): object[] {
  const series = [{ event: word }];
  const trend = { kind: "TrendsQuery", series };
  const retentionFilter = { targetEntity: { id: word }, returningEntity: { id: word } };
  const pathsFilter = { includeEventTypes: ["custom_event"] };
  const source = { ...trend, properties: [hogql] };
  return [
    source,
    { ...trend, series: [{ event: word, math: "hogql", math_hogql: `sum(${call("distinct_id")})` }] },
    { ...trend, series: [{ event: word, properties: [hogql] }] },
    { ...trend, breakdownFilter: { breakdown: call("event"), breakdown_type: "hogql" } },
    { ...trend, properties: [filter("person", "email"), filter("event", "plan")] },
    { kind: "FunnelsQuery", series: [...series, { event: `${word} more` }], properties: [hogql] },
    { kind: "LifecycleQuery", series, properties: [hogql] },
    { kind: "StickinessQuery", series, properties: [hogql] },
    { kind: "RetentionQuery", retentionFilter, properties: [hogql] },
    { kind: "PathsQuery", pathsFilter, properties: [hogql] },
    { kind: "EventsQuery", select: ["event", call("distinct_id")], after: "-1d" },
    { kind: "EventsQuery", select: ["event"], where: [hogql.key], after: "-1d" },
    { kind: "ActorsQuery", select: ["id"], properties: [filter("person", "email")] },
    { kind: "ActorsQuery", select: ["id"], source: { kind: "InsightActorsQuery", source } },
    { kind: "SessionsQuery", select: ["session_id", call("session_id")], after: "-1d" },
  ];
}

test("no expression of a query is computed for another project's rows", async () => {
  const { send, other } = neighbours;
  const theirs = queriesOf("theirs");
  for (const [i, query] of queriesOf("mine").entries()) {
    const mine = await send("POST", "query/", { query });
    expect([query, mine.status, mine.body["detail"]]).toEqual([query, 200, undefined]);
    const failed = await send("POST", "query/", { query: theirs[i]! }, other.id);
    expect([query, failed.status]).toEqual([query, 400]);
  }
}, 1_800_000);

test("nor is one of a list of events, or of an insight behind a link", async () => {
  const { send, app } = neighbours;
  const where = encodeURIComponent(JSON.stringify([`${call("distinct_id")} = 1`]));
  const list = await send("GET", `events/?where=${where}`);
  expect([list.status, list.body["detail"]]).toEqual([200, undefined]);
  const query = {
    kind: "TrendsQuery",
    series: [{ event: "mine", math: "hogql", math_hogql: "sum(intDiv(1, if(event = 'mine', 1, 0)))" }],
  };
  const { body } = await send("POST", "insights/", { query });
  const change = { enabled: true, shown_properties: ["event"] };
  const link = await send("PATCH", `insights/${String(body["id"])}/sharing/`, change);
  const shown = await fetch(`${app.url}/shared/${String(link.body["access_token"])}/`);
  const { tiles } = (await shown.json()) as { tiles: { results: { count: number }[] }[] };
  expect([shown.status, tiles[0]?.results[0]?.count]).toEqual([200, 16]);
}, 1_800_000);

/** Fails where the distinct id is another project's. */
const moment = "toUnixTimestamp(if(startsWith(distinct_id, 'mine'), '2024-01-01 00:00:00', 'x'))";
const exported = (["events", "persons"] as const).flatMap((model) => [
  { model, native_query: `select distinct_id, ${moment} as at from ${model}` },
  { model, native_query: `select distinct_id from ${model} where ${moment} > 0` },
  { model, filters: [filter(model === "events" ? "event" : "person", "plan")] },
]);

/** A failure that may be temporary is tried again later. */
const open = new Set(["Starting", "Running"]);

/** File destinations need the embedded engine. */
const testFiles = test.skipIf(storesMode !== "embedded");

testFiles(
  "no query or filter of an export is computed for another project's rows",
  async () => {
    const { stores, app, other } = neighbours;
    const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
    const run = async (made: (typeof exported)[number], project_id: number, i: number) => {
      const destination = { type: "File", config: { path: `out/${project_id}/${i}` } };
      const id = await makeExport(stores, app, { ...made, ...destination, project_id });
      await makeBackfill(stores, id, "hour", { start: new Date(end.getTime() - 3_600_000), end });
      const tried = async () => (await runsOf(stores, id)).filter(({ status }) => !open.has(status));
      await until(async () => (await tried()).length > 0);
      return (await tried())[0]!;
    };
    for (const [i, made] of exported.entries()) {
      const mine = await run(made, 1, i);
      expect([made, mine.status, mine.latest_error]).toEqual([made, "Completed", null]);
      expect(mine.records_completed).toBeGreaterThan(0);
      expect([made, (await run(made, other.id, i)).status]).toEqual([made, expect.stringMatching("Failed")]);
    }
  },
  1_800_000,
);

const day = "2024-02-29";
const dates = { is_date_exact: day, is_date_before: day, is_date_after: day };
const values: Readonly<Record<string, unknown>> = { ...dates, between: [1, 2], not_between: [1, 2] };
/** Lists with a filter on a property of these owners, by each operator; patterns alone can be wrong. */
const filtered = Object.entries({
  "events/": "event person",
  "persons/": "person",
  "session_recordings/": "event person",
})
  .flatMap(([path, types]) => types.split(" ").map((type) => ({ path, type })))
  .flatMap(({ path, type }) =>
    operators.map((operator) => {
      const filters = [{ type, key: "hostile", operator, value: values[operator] ?? 1 }];
      return `${path}?properties=${encodeURIComponent(JSON.stringify(filters))}`;
    }),
  );
const searched = [
  "events/values/?key=hostile&value=a",
  "persons/values/?key=hostile&value=a",
  "persons/?search=a",
  "groups/?group_type_index=0&search=a",
];

test("no operator of a list's filter, and no search, fails on a value of a row", async () => {
  const { app, send, sql } = neighbours;
  const nested = `${"[".repeat(90)}${"]".repeat(90)}`;
  const numbers = ["1e400", "-1e-400", "-0", "9".repeat(400), '{"a":1e400}', "null", "{}", nested];
  const moments = [
    "99999999999999",
    "2024-02-30",
    "9999-12-31T99:99:99Z",
    "0000-00-00",
    `${day}T00:00:00+99:99`,
  ];
  const texts = [...moments, ...Object.values(hostileTexts(300)), "\0\t\u2028\ud800", ""];
  const hostile = [...numbers, ...texts.map((text) => JSON.stringify(text))];
  const batch = hostile.map((json, i) => {
    const members = `"hostile":${json},"$elements_chain":${json},"$set":{"hostile":${json}}`;
    return `{"event":"mine","distinct_id":"mine hostile ${i}","properties":{"$session_id":"mine recorded",${members}}}`;
  });
  await post(app, "/batch/", `{"api_key":"${projectKey}","batch":[${batch.join(",")}]}`);
  await rested(app);
  const stored = await sql("select count() from events where distinct_id like 'mine hostile %'");
  expect(stored.body["results"]).toEqual([[hostile.length]]);
  for (const path of [...filtered, ...searched]) {
    const { status, body } = await send("GET", path);
    expect([path, status, body["detail"]]).toEqual([path, 200, undefined]);
  }
}, 1_800_000);
