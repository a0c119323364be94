// Lists of sessions as PostHog's test_sessions_query_runner.py asks for them; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject, type Project } from "../support/projects.ts";

let project: Project;
/** A session, which a click makes longer. */
const session = (who: string, at: string, click?: object) => {
  const $session_id = Bun.randomUUIDv7("hex", Date.parse(at));
  const $set = { name: `Person ${who}`, ...(who !== "carol" && { email: `${who}@x.example` }) };
  const later = new Date(Date.parse(at) + 600_000).toISOString();
  return [
    made("$pageview", who, at, { $session_id, $current_url: "https://x.example/", $set }),
    ...(click ? [made("clicked", who, later, { $session_id, ...click })] : []),
  ];
};
beforeAll(async () => {
  const app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  project = await openProject(app, "sessions", [
    ...session("ann", "2024-01-01T12:00:00Z", { plan: "pro" }),
    ...session("bob", "2024-01-02T12:00:00Z"),
    ...session("carol", "2024-01-03T12:00:00Z"),
    ...session("ann", "2024-01-04T12:00:00Z"),
    made("$identify", "bob", "2024-01-02T12:30:00Z", { $anon_distinct_id: "bob's phone" }),
  ]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const list = (more: object) =>
  project.query({
    kind: "SessionsQuery",
    select: ["distinct_id"],
    after: "2024-01-01",
    before: "2024-01-31",
    orderBy: ["$start_timestamp ASC"],
    ...more,
  });
const person = (key: string, value: string, operator = "exact") => ({ key, value, operator, type: "person" });
const properties = (...filters: object[]) => ({ properties: filters });

test.each([
  ["by the email of a person", properties(person("email", "bob@x.example")), ["bob"]],
  ["by a part of it", properties(person("email", "ANN", "icontains")), ["ann", "ann"]],
  ["without it", properties(person("email", "ann", "not_icontains")), ["bob", "carol"]],
  ["without any", properties(person("email", "", "is_not_set")), ["carol"]],
  ["by another id", properties(person("distinct_id", "bob's phone")), ["bob"]],
  [
    "by length",
    { fixedProperties: [{ key: "$session_duration", value: 100, operator: "gt", type: "session" }] },
    ["ann"],
  ],
  ["with an event", { event: "clicked" }, ["ann"]],
  ["with an event of other days", { event: "clicked", after: "2024-01-03" }, []],
  ["with any event", { event: "" }, ["ann", "bob", "carol", "ann"]],
  ["by name", { orderBy: ["person_display_name -- Person DESC"] }, ["bob", "ann", "ann", "carol"]],
])("sessions %s", async (_, more, expected) => {
  expect((await list(more)).flat()).toEqual(expected);
});

test("sessions have the names and properties of their persons", async () => {
  const select = ["person_display_name -- Person", "person.properties.name -- Name", "$session_duration"];
  const rows = (await list({ select })) as [{ display_name: string; distinct_id: string }, string, number][];
  expect(
    rows.map(([{ display_name, distinct_id }, ...rest]) => [display_name, distinct_id, ...rest]),
  ).toEqual([
    ["ann@x.example", "ann", "Person ann", 600],
    ["bob@x.example", "bob", "Person bob", 0],
    ["Person carol", "carol", "Person carol", 0],
    ["ann@x.example", "ann", "Person ann", 0],
  ]);
  const [[whole]] = (await list({ select: [], limit: 1 })) as [[Record<string, unknown>]];
  expect(whole).toMatchObject({ distinct_id: "ann", $session_duration: 600 });
});

// events_query_runner.py: without columns events are whole, too.
test("events without columns are whole", async () => {
  const query = { kind: "EventsQuery", select: [], after: "2024-01-01", event: "clicked" };
  const reply = await project.reply(query);
  expect([reply["columns"], (reply["results"] as [[{ event: string }]])[0][0].event]).toEqual([
    ["*"],
    "clicked",
  ]);
});

// test_trends.py, test_breakdown_by_event_metadata; first times by such a filter.
test("trends by an event's own columns", async () => {
  const lines = async (series: object, more: object = {}) => {
    const dateRange = { date_from: "2024-01-01", date_to: "2024-01-04" };
    const query = { kind: "TrendsQuery", series: [{ event: "$pageview", ...series }], dateRange, ...more };
    const found = await project.query<{ breakdown_value?: string; count: number }>(query);
    return found.map(({ breakdown_value, count }) => [breakdown_value, count]);
  };
  const breakdownFilter = { breakdown: "distinct_id", breakdown_type: "event_metadata" };
  const all = [
    ["ann", 2],
    ["bob", 1],
    ["carol", 1],
  ];
  expect(await lines({}, { breakdownFilter })).toEqual(all);
  const first = { math: "first_time_for_user" };
  expect(await lines(first, { breakdownFilter })).toEqual(all.map(([who]) => [who, 1]));
  const filter = { type: "event_metadata", key: "distinct_id", value: ["ann"], operator: "exact" };
  expect(await lines(first, properties(filter))).toEqual([[undefined, 1]]);
});
