// Time zones over HTTP: a name or alias of the IANA database has its days and hours at every door, any other text is
// refused before the engine sees it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { exportWish } from "../support/batch_exports.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";
import { hostileZones } from "../support/zones.ts";
import { storeEvents } from "./naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let sql: Postgres;

/** 22:30 of the day before in Los Angeles, 06:30 in Berlin, 11:00 in Kolkata. */
const at = Date.UTC(2024, 2, 29, 5, 30);

beforeAll(async () => {
  app = await startApp();
  const stores = await storesOf(app);
  ({ sql } = stores);
  const uuid = "00000000-0000-4000-8000-000000000001";
  await storeEvents(stores, 1, [{ uuid, event: "seen", distinct_id: "a", at, properties: {} }]);
}, startMsMax);

const query = (body: object): Promise<Answer> => ask(app, "POST", "/api/projects/1/query/", { query: body });

/** The reply's zone, and the events of 28 and 29 March by day. */
async function countDays(): Promise<unknown[]> {
  const dateRange = { date_from: "2024-03-28", date_to: "2024-03-29" };
  const { status, body } = await query({ kind: "TrendsQuery", series: [{ event: "seen" }], dateRange });
  const [line] = (body["results"] ?? []) as { data: number[] }[];
  return [status, body["timezone"], line?.data];
}

/** The hour of `now()`'s zone for the event, in SQL. */
async function readHour(): Promise<unknown[]> {
  const { status, body } = await query({
    kind: "HogQLQuery",
    query: "select toString(timestamp) from events",
  });
  return [status, (body["results"] as string[][] | undefined)?.[0]?.[0]?.slice(0, 16)];
}

const patch = (timezone: unknown): Promise<Answer> => ask(app, "PATCH", "/api/projects/1/", { timezone });

test("an alias is stored and shown as it was sent, and has its zone's days", async () => {
  for (const [zone, days, hour] of [
    ["US/Pacific", [1, 0], "2024-03-28 22:30"],
    ["Asia/Calcutta", [0, 1], "2024-03-29 11:00"],
    ["Etc/UTC", [0, 1], "2024-03-29 05:30"],
    ["America/Los_Angeles", [1, 0], "2024-03-28 22:30"],
  ] as const) {
    expect((await patch(zone)).body["timezone"]).toBe(zone);
    expect((await ask(app, "GET", "/api/projects/1/")).body["timezone"]).toBe(zone);
    expect(await countDays()).toEqual([200, zone, [...days]]);
    expect(await readHour()).toEqual([200, hour]);
  }
});

test("no other text becomes a project's zone", async () => {
  await patch("Europe/Berlin");
  for (const zone of [...hostileZones, 1, null, ["UTC"], {}]) {
    const { status, body } = await patch(zone);
    expect([zone, status, body["attr"]]).toEqual([zone, 400, "timezone"]);
    const made = await ask(app, "POST", "/api/projects/", { name: "x", timezone: zone });
    expect([zone, made.status, made.body["attr"]]).toEqual([zone, 400, "timezone"]);
  }
  expect((await ask(app, "GET", "/api/projects/1/")).body["timezone"]).toBe("Europe/Berlin");
});

test("a zone that an earlier version stored in another case has its days, and one that is none those of UTC", async () => {
  for (const [zone, hour] of [
    ["europe/berlin", "2024-03-29 06:30"],
    ["utc", "2024-03-29 05:30"],
    ["Fixed/UTC+01:00:00", "2024-03-29 05:30"],
  ] as const) {
    await sql`UPDATE projects SET timezone = ${zone} WHERE id = 1`;
    expect(await countDays()).toEqual([200, zone, [0, 1]]);
    expect(await readHour()).toEqual([200, hour]);
    expect((await ask(app, "PATCH", "/api/projects/1/", { name: "Renamed" })).status).toBe(200);
  }
});

test("after four own zones that no other project has, a project is refused a fifth, and keeps the others", async () => {
  const made = await ask(app, "POST", "/api/projects/", { name: "Traveller" });
  const home = `/api/projects/${String(made.body["id"])}/`;
  const move = async (timezone: string): Promise<unknown[]> => {
    expect((await ask(app, "PATCH", home, { timezone })).status).toBe(200);
    const count = { kind: "HogQLQuery", query: "select count() from events" };
    const { status, body } = await ask(app, "POST", `${home}query/`, { query: count });
    return [status, body["detail"]];
  };
  for (const zone of ["Asia/Tokyo", "Asia/Seoul", "Asia/Manila", "Asia/Dubai"])
    expect(await move(zone)).toEqual([200, undefined]);
  expect(await move("Asia/Tbilisi")).toEqual([
    400,
    expect.stringContaining("The time zone is one too many."),
  ]);
  for (const zone of ["UTC", "Asia/Tokyo", "Japan", "US/Pacific"])
    expect(await move(zone)).toEqual([200, undefined]);
});

const quoted = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;

/** The parser drops a NUL. */
const writtenZones = hostileZones.filter((zone) => !zone.includes("\u0000"));

/** The hour of `timestamp` in a zone: each function that takes one; a number, or a text that begins with it. */
const hours: readonly ((zone: string) => string)[] = [
  (zone) => `toHour(toTimeZone(timestamp, ${zone}))`,
  (zone) => `toHour(toDateTime(timestamp, ${zone}))`,
  (zone) => `toHour(toDateTime64(timestamp, 6, ${zone}))`,
  (zone) => `formatDateTime(timestamp, '%H', ${zone})`,
  (zone) => `substring(toString(timestamp, ${zone}), 12, 2)`,
  (zone) => `dateName('hour', timestamp, ${zone})`,
  (zone) => `dateDiff('hour', dateTrunc('day', timestamp, ${zone}), timestamp, ${zone})`,
  (zone) => `toHour(toStartOfInterval(timestamp, toIntervalMinute(1), ${zone}))`,
  (zone) => `(toUnixTimestamp(timestamp) - toUnixTimestamp('2024-03-29 00:00:00', ${zone})) / 3600`,
  (zone) =>
    `(toUnixTimestamp(timestamp) - toUnixTimestamp(toDateTime('2024-03-29 00:00:00', ${zone}))) / 3600`,
];

const sqlQuery = (text: string): Promise<Answer> =>
  query({ kind: "HogQLQuery", query: `select ${text} from events` });

const trend = (series: object, more: object = {}): Promise<Answer> =>
  query({
    kind: "TrendsQuery",
    series: [{ event: "seen", ...series }],
    dateRange: { date_from: "2024-03-28", date_to: "2024-03-29" },
    ...more,
  });

const exportOf = (fields: object): Promise<Answer> =>
  ask(app, "POST", "/api/projects/1/batch_exports/", { ...exportWish, ...fields });

/** All other places where a client writes an expression, and the replies' figures. */
const doors: Readonly<Record<string, (expression: string) => Promise<Answer>>> = {
  SQL: sqlQuery,
  "math in SQL": (text) => trend({ math: "hogql", math_hogql: `max(${text})` }),
  "a breakdown": (text) => trend({}, { breakdownFilter: { breakdown_type: "hogql", breakdown: text } }),
  "a filter": (text) => trend({}, { properties: [{ type: "hogql", key: `${text} = 11` }] }),
  "a list of events": (text) => query({ kind: "EventsQuery", select: [text], after: "2024-03-28" }),
  "an export": (text) => exportOf({ native_query: `select ${text} as hour from events` }),
  "an export by its other name": (text) => exportOf({ hogql_query: `select ${text} as hour from events` }),
};

/** Whether the zone was refused, by the compiler, or the text for its length. */
const isRefused = ({ status, body }: Answer): boolean =>
  status === 400 && /time zone|characters/i.test(String(body["detail"]));

test.each(Object.keys(doors))("a text that is no zone is refused in %s", async (door) => {
  const failed: unknown[] = [];
  for (const zone of writtenZones) {
    const answer = await doors[door]!(hours[0]!(quoted(zone)));
    if (!isRefused(answer)) failed.push([zone, answer.status, answer.body["detail"]]);
  }
  expect(failed).toEqual([]);
});

test("a text that is no zone is refused in every function, and a zone is a constant of the text", async () => {
  const failed: unknown[] = [];
  const worst = ["", "utc", "europe/berlin", "Factory", "Fixed/UTC+01:00:00", "file:/proc/self/fd/7"];
  const written = [
    "event",
    "concat('U', 'TC')",
    "if(1 = 1, 'UTC', 'GMT')",
    "properties.zone",
    "NULL",
    "1",
    "lower('UTC')",
  ];
  for (const hour of hours) {
    for (const zone of [...worst.map(quoted), ...written]) {
      const answer = await sqlQuery(hour(zone));
      if (!isRefused(answer)) failed.push([hour(zone).slice(0, 100), answer.status, answer.body["detail"]]);
    }
  }
  expect(failed).toEqual([]);
});

test("a zone of a variable or value is checked like one of the text", async () => {
  const of = (zone: string): Promise<Answer> =>
    query({
      kind: "HogQLQuery",
      query: "select toHour(toTimeZone(timestamp, {zone})) from events",
      values: { zone },
    });
  for (const zone of hostileZones) expect([zone, isRefused(await of(zone))]).toEqual([zone, true]);
  expect((await of("Asia/Calcutta")).body["results"]).toEqual([[11]]);
});

test("a saved query with a zone that was accepted once shows the refusal", async () => {
  const zone = "'Europe/Berlin'";
  const saved = { kind: "HogQLQuery", query: `select ${hours[0]!(zone)} from events` };
  const made = await ask(app, "POST", "/api/projects/1/insights/", { query: saved });
  const path = `/api/projects/1/insights/${String(made.body["id"])}/?refresh=blocking`;
  expect((await ask(app, "GET", path)).body["result"]).toEqual([[6]]);
  await sql`UPDATE insights SET query = replace(query::text, 'Europe/Berlin', 'Fixed/UTC+01:00:00')::jsonb`;
  const { status, body } = await ask(app, "GET", path);
  const query_status = { error: true, error_message: expect.stringContaining("is no time zone") };
  expect([status, body]).toMatchObject([200, { result: null, query_status }]);
});

test("an alias has its hour in every function that takes a zone", async () => {
  for (const [zone, hour] of [
    ["Asia/Calcutta", 11],
    ["Zulu", 5],
  ] as const) {
    const { status, body } = await sqlQuery(hours.map((read) => read(quoted(zone))).join(", "));
    const row = (body["results"] as unknown[][] | undefined)?.[0] ?? [];
    expect([status, body["detail"], row.map((value) => Math.floor(Number(value)))]).toEqual([
      200,
      undefined,
      hours.map(() => hour),
    ]);
  }
});

test("an alias has its hour at every door", async () => {
  const text = hours[0]!("'Asia/Calcutta'");
  const figures = async (door: string): Promise<unknown> => {
    const { status, body } = await doors[door]!(text);
    return status === 201 ? body["native_query"] : body["results"];
  };
  const line = { data: [0, 1] };
  await patch("UTC");
  expect(await figures("SQL")).toEqual([[11]]);
  expect(await figures("math in SQL")).toMatchObject([{ data: [0, 11] }]);
  expect(await figures("a breakdown")).toMatchObject([{ ...line, breakdown_value: "11" }]);
  expect(await figures("a filter")).toMatchObject([line]);
  expect(await figures("a list of events")).toEqual([[11]]);
  for (const door of ["an export", "an export by its other name"])
    expect(await figures(door)).toBe(`select ${text} as hour from events`);
});

test("a project's queries name three zones that no project uses, and another's as many", async () => {
  const homes: string[] = [];
  for (const name of ["First", "Second"]) {
    const made = await ask(app, "POST", "/api/projects/", { name });
    homes.push(`/api/projects/${String(made.body["id"])}/query/`);
  }
  const read = async (home: string, zone: string): Promise<unknown[]> => {
    const text = `select toTimeZone(now(), '${zone}')`;
    const { status, body } = await ask(app, "POST", home, { query: { kind: "HogQLQuery", query: text } });
    return [status, body["detail"]];
  };
  const [first, second] = homes as [string, string];
  const zones = [
    "Africa/Cairo",
    "Africa/Lagos",
    "Africa/Accra",
    "Africa/Tunis",
    "Africa/Tripoli",
    "Africa/Windhoek",
  ];
  for (const zone of zones.slice(0, 3)) expect(await read(first, zone)).toEqual([200, undefined]);
  expect(await read(first, zones[3]!)).toEqual([
    400,
    expect.stringMatching(/^The time zone is one too many\..*column 8\.\)/),
  ]);
  for (const zone of zones.slice(3)) expect(await read(second, zone)).toEqual([200, undefined]);
  for (const zone of zones) expect(await read(first, zone)).toEqual([200, undefined]);
});
