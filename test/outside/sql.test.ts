// SQL as strangers expect it. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey } from "../support/server.ts";

let app: RunningApp;
const hour = 3_600_000;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const day = (second: number): string => `2024-03-04T10:00:0${second}Z`;
  const session = (hours: number): string => {
    const hex = Date.UTC(2024, 2, 4, hours).toString(16).padStart(12, "0");
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`;
  };
  const view = (hours: string, second: number, properties: object) => ({
    event: "view",
    timestamp: new Date(Date.parse(`2024-03-04T${hours}:00:00Z`) + second * 1000).toISOString(),
    properties,
  });
  const batch = [
    { event: "case", properties: { id: "held", n: 1, t: "apple", on: true } },
    { event: "case", properties: { id: "other", n: 5, t: "pear", on: false } },
    { event: "case", properties: { id: "null", n: null, t: null, on: null } },
    { event: "case", properties: { id: "missing" } },
    { event: "step", timestamp: day(1), properties: { name: "a" } },
    { event: "step", timestamp: day(2), properties: { name: "b" } },
    { event: "order", timestamp: "2024-03-04T10:00:00Z" },
    { event: "order", timestamp: at(-72 * hour) },
    { event: "order", timestamp: at(3 * hour) },
    ...[0, 30, 60].map((second) => view("10", second, { $session_id: session(10), os: "x" })),
    ...[0, 300].map((second) => view("12", second, { $session_id: session(12), os: "y" })),
    view("14", 0, { os: "z" }),
    { event: "$identify", properties: { $anon_distinct_id: "anon-1", $set: { plan: "pro" } } },
  ].map((event) => ({ distinct_id: "user-1", ...event }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function query(
  text: string,
  more: object = {},
): Promise<{ status: number; detail: unknown; rows: unknown[][] }> {
  const { status, body } = await ask(app, "POST", "/api/projects/1/query/", {
    query: { kind: "HogQLQuery", query: text, ...more },
  });
  return { status, detail: body["detail"], rows: body["results"] as unknown[][] };
}

async function rowsOf(text: string, more: object = {}): Promise<unknown[][]> {
  const { status, detail, rows } = await query(text, more);
  expect({ status, detail }).toEqual({ status: 200, detail: undefined });
  return rows;
}

const orders = "select count() from events where event = 'order' and";

/** Which of the four events a condition holds for: that with the value, with another, with null, without any. */
const [held, other, none, missing] = ["held", "other", "null", "missing"];
// As PostHog prints them: null differs from all values, matches and is among none, is beside no range, and is not false.
const conditions: [condition: string, ids: (string | undefined)[]][] = [
  ["properties.n = 1", [held]],
  ["properties.n != 1", [other, none, missing]],
  ["not properties.n = 1", [other, none, missing]],
  ["notEquals(properties.n, 1)", [other, none, missing]],
  ["properties.n > 1", [other]],
  ["not properties.n > 1", [held, none, missing]],
  ["properties.n in (1, 2)", [held]],
  ["properties.n not in (1, 2)", [other, none, missing]],
  ["not properties.n in (1, 2)", [other, none, missing]],
  ["properties.n between 0 and 2", [held]],
  ["properties.n not between 0 and 2", [other]],
  ["not properties.n between 0 and 2", [other, none, missing]],
  ["properties.n between 0 and null", []],
  ["properties.n not between 2 and null", [held]],
  ["properties.t not between 'a' and 'b'", [other]],
  ["properties.t like 'a%'", [held]],
  ["properties.t not like 'a%'", [other, none, missing]],
  ["properties.t not ilike 'A%'", [other, none, missing]],
  ["not properties.t like 'a%'", [other, none, missing]],
  ["properties.t =~ '^a'", [held]],
  ["properties.t !~ '^a'", [other, none, missing]],
  ["properties.t !~* '^A'", [other, none, missing]],
  ["properties.t not in ('apple')", [other, none, missing]],
  ["properties.n is distinct from 1", [other, none, missing]],
  ["properties.n is not distinct from null", [none, missing]],
  ["properties.n is null", [none, missing]],
  ["not properties.n is null", [held, other]],
  ["properties.on", [held]],
  ["not properties.on", [other]],
  ["not(properties.on)", [other]],
  ["properties.on = false", [other]],
  ["properties.on != true", [other, none, missing]],
  ["not (properties.on and event = 'case')", [other]],
  ["not (properties.on and event = 'none')", [held, other, none, missing]],
  ["not (properties.on or event = 'none')", [other]],
  ["not (properties.n = 1 and properties.t = 'apple')", [other, none, missing]],
  ["not (properties.n = 1 or properties.t = 'pear')", [none, missing]],
];

// PostHog/posthog#20009, and what PostHog's printer puts around operators.
test.each(conditions)("%s holds for the events that PostHog returns", async (condition, ids) => {
  const where = `select arraySort(groupArray(properties.id)) from events where event = 'case' and (${condition})`;
  const counted = `select countIf(${condition}) from events where event = 'case'`;
  const [[list], [count]] = [...(await rowsOf(where)), ...(await rowsOf(counted))] as [[string[]], [number]];
  expect({ list, count }).toEqual({ list: ids.map(String).toSorted(), count: ids.length });
});

// PostHog's database schema: a person has as many rows of pdi as distinct ids.
test.each([
  ["select arraySort(groupArray(pdi.distinct_id)) from persons", ["anon-1", "user-1"]],
  ["select groupArray(properties.plan) from persons where pdi.distinct_id = 'anon-1'", ["pro"]],
  [
    "select arraySort(groupUniqArray(person.pdi.distinct_id)) from events where event = '$identify'",
    ["anon-1", "user-1"],
  ],
  [
    "select arraySort(groupUniqArray(e.person.pdi.distinct_id)) from events e where e.event = '$identify'",
    ["anon-1", "user-1"],
  ],
  ["select groupArray(person.properties.plan) from person_distinct_ids", ["pro", "pro"]],
])("%s reads all ids of a person", async (text, values) => {
  expect(await rowsOf(text)).toEqual([[values]]);
});

// ClickHouse/ClickHouse#26115, PostHog/posthog#36786.
test.each([
  ["lag(timestamp)", [null, "2024-03-04T10:00:01.000000Z"]],
  ["lead(timestamp)", ["2024-03-04T10:00:02.000000Z", null]],
  ["lag(event)", [null, "step"]],
  ["leadInFrame(event)", ["step", null]],
  ["lagInFrame(1)", [null, 1]],
  ["lag(event, 1, 'first')", ["first", "step"]],
  ["nth_value(event, 2)", [null, "step"]],
  ["lag([1])", [[], [1]]],
])("%s is null beyond the edge of its window", async (call, values) => {
  const text = `select ${call} over (order by timestamp) as x from events where event = 'step' order by timestamp`;
  expect((await rowsOf(text)).flat()).toEqual(values);
});

test("first_value of an empty frame is null", async () => {
  const frame = "order by timestamp rows between 1 preceding and 1 preceding";
  const text = `select first_value(event) over (${frame}) from events where event = 'step' order by timestamp`;
  expect((await rowsOf(text)).flat()).toEqual([null, "step"]);
});

// PostHog/posthog#17154, #59886, #73833.
test.each([
  ["timestamp >= {filters.dateRange.from} and timestamp <= {filters.dateRange.to}", {}, 2],
  ["timestamp >= {filters.dateRange.from} and timestamp <= {filters.dateRange.to}", { date_from: "-7d" }, 1],
  ["timestamp >= {filters.dateRange.from} and timestamp <= {filters.dateRange.to}", { date_to: "-1d" }, 2],
  ["timestamp >= {filters.dateRange.from}", { date_from: "all" }, 3],
  ["toDate(timestamp) >= toDate({filters.dateRange.from}) - interval 1 day", { date_from: "all" }, 3],
  ["greaterOrEquals(timestamp, {filters.dateRange.from})", {}, 3],
  ["timestamp between {filters.dateRange.from} and {filters.dateRange.to}", {}, 2],
  ["timestamp not between {filters.dateRange.from} and {filters.dateRange.to}", {}, 1],
  ["{filters}", { date_from: "-7d" }, 1],
  ["{filters}", {}, 3],
])("%s with the range %j leaves out no event of the range", async (condition, dateRange, count) => {
  expect(await rowsOf(`${orders} ${condition}`, { filters: { dateRange } })).toEqual([[count]]);
});

// PostHog's parser ignores it: the limit would be of any rows.
test.each([
  "(select 1 as x union all select 2) order by x desc limit 1",
  "(select 1 as x union all select 2 order by x) order by x desc",
  "(select 1) order by 1",
  "select x from ((select 1 as x union all select 2) order by x desc) limit 1",
])("%s is refused, since its order would be ignored", async (text) => {
  expect(await query(text)).toMatchObject({ status: 400, detail: expect.stringContaining("ORDER BY") });
});

test.each([
  ["select * from (select 1 as x union all select 2) order by x desc limit 1", [2]],
  ["select 'order by' as x /* order by */ order by x -- order by", ["order by"]],
  ["with toYear(timestamp) as y select y, count() from events where event = 'step' group by y", [2024, 2]],
  ["with y + 1 as z, toYear(timestamp) as y select z from events where event = 'step' limit 1", undefined],
  ["with toYear(timestamp) as y, y + 1 as z select z from events where event = 'step' limit 1", [2025]],
  ["with 3 as n select e.event, n from events e where event = 'step' limit 1", ["step", 3]],
  ["select (1 as x) + 1, x", [2, 1]],
  ["select count() from events where event = 'step' and (toYear(timestamp) as y) = 2024 and y < 2025", [2]],
  ["select (1 as x) + (2 as x)", undefined],
  ["select arrayMap(v -> (v + 1 as w), [1]), 1", [[2], 1]],
])("%s is answered, or refused where a name has no meaning", async (text, row) => {
  if (row) expect((await rowsOf(text))[0]).toEqual(row);
  else expect((await query(text)).status).toBe(400);
});

const computed = ["$virt_is_bot", "$virt_initial_channel_type", "$session_duration"];
const trend = (more: object, breakdownFilter?: object) => ({
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "view", ...more }],
  dateRange: { date_from: "2024-03-01", date_to: "2024-03-31" },
  trendsFilter: { display: "BoldNumber" },
  ...(breakdownFilter && { breakdownFilter }),
});

// PostHog/posthog#32956, #52206: a name that matches nothing would look as if nobody had it.
test.each(computed)(
  "%s, which PostHog computes, is refused by name wherever events and persons have none",
  async (key) => {
    const filter = [{ key, type: "event", operator: "is_not", value: "x" }];
    const ofPersons = [{ ...filter[0], type: "person" }];
    const queries = [
      { kind: "HogQLQuery", query: `select properties.${key} from events` },
      { kind: "HogQLQuery", query: `select properties['${key}'] from persons` },
      { kind: "HogQLQuery", query: "select 1 from events where {filters}", filters: { properties: filter } },
      { kind: "EventsQuery", select: [`properties.${key}`] },
      { kind: "ActorsQuery", select: ["id"], properties: ofPersons },
      trend({ properties: filter }),
      trend({ properties: ofPersons }),
      trend({}, { breakdown: key, breakdown_type: "event" }),
      trend({}, { breakdowns: [{ property: key, type: "person" }] }),
      trend({ math: "unique", math_property: key }),
      ...(key === "$session_duration" ? [] : [trend({ math: "avg", math_property: key })]),
    ];
    const asked = [
      ...queries.map((body) => ask(app, "POST", "/api/projects/1/query/", { query: body })),
      ...["events", "persons"].map((list) => {
        const properties = encodeURIComponent(JSON.stringify(list === "events" ? filter : ofPersons));
        return ask(app, "GET", `/api/projects/1/${list}/?properties=${properties}`);
      }),
    ];
    for (const [i, { status, body }] of (await Promise.all(asked)).entries())
      expect({ i, status, detail: body["detail"] }).toEqual({
        i,
        status: 400,
        detail: expect.stringContaining(key),
      });
  },
);

// PostHog/posthog#12109, #44361: sessions of 60 and 300 seconds, with three and two events, and an event of none.
test.each([
  ["avg", 180],
  ["sum", 360],
  ["min", 60],
  ["max", 300],
  ["median", 180],
])("%s of $session_duration is of the sessions, each once", async (math, value) => {
  for (const math_property_type of [undefined, "session_properties"]) {
    const source = trend({ math, math_property: "$session_duration", math_property_type });
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query: source });
    const [line] = body["results"] as { aggregated_value: number }[];
    expect([status, line?.aggregated_value]).toEqual([200, value]);
  }
  const lines = trend(
    { math, math_property: "$session_duration" },
    { breakdown: "os", breakdown_type: "event" },
  );
  const { body } = await ask(app, "POST", "/api/projects/1/query/", { query: lines });
  const values = (body["results"] as { breakdown_value: string; aggregated_value: number }[]).map((line) => [
    line.breakdown_value,
    line.aggregated_value,
  ]);
  expect(Object.fromEntries(values)).toMatchObject({ x: 60, y: 300 });
});
