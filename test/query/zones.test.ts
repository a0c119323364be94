// Time zones over HTTP: a name or alias of the IANA database has its days and hours at every door, any other text is
// refused before the engine sees it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
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
