import { afterAll, beforeAll, expect, test } from "bun:test";
import { ownPersonId } from "../../src/persons/identity.ts";
import { listValues } from "../../src/sessions/store.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";
import { textExpressions } from "../../src/storage/events/session_property.ts";
import { addStranger, type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

const start = Date.parse("2026-03-04T10:00:00Z");
let server: Server;

interface Step {
  event?: string;
  /** Seconds after the session's start. */
  at: number;
  properties?: Record<string, unknown>;
}

async function play(session: string, steps: Step[]): Promise<void> {
  const batch = steps.map(({ event = "$pageview", at, properties = {} }) => ({
    uuid: crypto.randomUUID(),
    event,
    distinct_id: `visitor of ${session}`,
    timestamp: new Date(start + at * 1000).toISOString(),
    properties: { $session_id: session, ...properties },
  }));
  // A client that did not hear the answer sends the same again.
  for (let time = 0; time < 2; time++) await post(server, "/batch/", { api_key: projectKey, batch });
}

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  await play("from an ad", [
    // Arrives first, happened last.
    { at: 90, properties: { $current_url: "https://shop.example/thanks", utm_source: "late" } },
    { at: 0, event: "loaded" },
    {
      at: 1,
      properties: {
        $current_url: "https://shop.example/shoes?size=42",
        $referrer: "https://www.google.com/",
        $referring_domain: "www.google.com",
        utm_source: "google",
        utm_medium: "cpc",
        gclid: "abc",
      },
    },
    { at: 50, event: "$autocapture", properties: { $current_url: "https://shop.example/cart" } },
  ]);
  await play("bounced", [
    { at: 5, properties: { $current_url: "https://shop.example/shoes", $referring_domain: "$direct" } },
  ]);
  await play("on a phone", [
    { at: 0, event: "$screen", properties: { $screen_name: "Home" } },
    { at: 3, event: "$screen", properties: { $screen_name: "Cart" } },
  ]);
  const odd = `{"$session_id" : "odd", "big": 1e999, "half": "\\ud800", "$current_url": "https://odd.example/"}`;
  await post(
    server,
    "/batch/",
    `{"api_key":"${projectKey}","batch":[{"event":"e","distinct_id":"d","properties":${odd}}]}`,
  );
  await rested(server);
});

async function values(query: string): Promise<unknown> {
  const { status, text } = await ask(server, "GET", `/api/environments/1/sessions/values?${query}`);
  return status === 200 ? JSON.parse(text) : status;
}

test("values are those that sessions have, the most frequent first", async () => {
  expect(await values("key=$entry_hostname")).toEqual([{ name: "shop.example" }, { name: "odd.example" }]);
  expect(await values("key=$entry_pathname")).toEqual([{ name: "/shoes" }, { name: "/" }]);
  expect(await values("key=$entry_utm_source")).toEqual([{ name: "google" }]);
  expect(await values("key=$end_pathname")).toEqual([{ name: "/" }, { name: "/shoes" }, { name: "/thanks" }]);
  expect(await values("key=$entry_gclid")).toEqual([{ name: "abc" }]);
  expect(await values("key=$entry_current_url")).toEqual([
    { name: "https://odd.example/" },
    { name: "https://shop.example/shoes" },
    { name: "https://shop.example/shoes?size=42" },
  ]);
});

test("only the newest sessions by their ids are read for a list of values", async () => {
  const stores = await storesOf(server);
  const reads = toReads(stores.clickhouse, 1);
  const list = (newest: number) =>
    listValues(reads, textExpressions["$entry_pathname"]!, { part: "", limit: 9, newest });
  // By their ids: bounced, from an ad, odd, on a phone.
  expect(await list(2)).toEqual(["/"]);
  expect(await list(3)).toEqual(["/", "/shoes"]);
});

test("values can be searched and cut", async () => {
  expect(await values("key=$entry_current_url&value=SIZE%3D")).toEqual([
    { name: "https://shop.example/shoes?size=42" },
  ]);
  expect(await values("key=$entry_current_url&limit=1")).toHaveLength(1);
  expect(await values("key=$entry_current_url&value=%25")).toEqual([]);
});

test("fixed values need no session, numbers have no list, and what is no property has none either", async () => {
  expect(await values("key=$channel_type&value=sms")).toEqual([{ name: "SMS" }]);
  expect(await values("key=$is_bounce")).toEqual([{ name: "1" }, { name: "0" }]);
  expect(await values("key=$session_duration")).toEqual([]);
  expect(await values("key=properties'%3B%20DROP")).toEqual([]);
});

test("a request that names no property gets no values", async () => {
  expect(await values("")).toEqual([]);
  expect(await values("key=")).toBe(400);
});

test("definitions say what each property is", async () => {
  const { status, body }: Answer = await ask(
    server,
    "GET",
    "/api/environments/1/sessions/property_definitions?search=duration",
  );
  expect(status).toBe(200);
  expect(body).toEqual({
    count: 1,
    results: [
      {
        id: "$session_duration",
        name: "$session_duration",
        is_numerical: true,
        property_type: "Duration",
        is_seen_on_filtered_events: null,
        tags: [],
      },
    ],
  });
});

test("a stranger's project has none of them", async () => {
  const { sql } = await storesOf(server);
  const { key, organization_id } = await addStranger(sql);
  const [project] = await sql<{ id: number }[]>`
    SELECT id FROM projects WHERE organization_id = ${organization_id}`;
  const path = `/api/projects/${project?.id}/sessions/values/?key=$entry_hostname`;
  const theirs = await ask(server, "GET", path, undefined, key);
  expect([theirs.status, theirs.text]).toEqual([200, "[]"]);
});

test("the view has one row a session; an event counts once however often it was sent", async () => {
  // The engine cannot read its number, and reads what stands beside it.
  const odd = "https://odd.example/";
  const { clickhouse } = await storesOf(server);
  const rows = await clickhouse.query<Record<string, unknown>>(
    `SELECT session_id, distinct_id, start_time, end_time, duration, entry_url, exit_url, event_count,
       pageview_count, autocapture_count, screen_count, is_bounce, channel_type
     FROM sessions WHERE project_id = 1 ORDER BY session_id`,
  );
  expect(rows.map((row) => Object.values(row))).toEqual([
    [
      "bounced",
      "visitor of bounced",
      "2026-03-04 10:00:05.000000",
      "2026-03-04 10:00:05.000000",
      "0",
      "https://shop.example/shoes",
      "https://shop.example/shoes",
      "1",
      "1",
      "0",
      "0",
      1,
      "Direct",
    ],
    [
      "from an ad",
      "visitor of from an ad",
      "2026-03-04 10:00:00.000000",
      "2026-03-04 10:01:30.000000",
      "90",
      "https://shop.example/shoes?size=42",
      "https://shop.example/thanks",
      "4",
      "2",
      "1",
      "0",
      0,
      "Paid Search",
    ],
    ["odd", "d", expect.any(String), expect.any(String), "0", odd, odd, "1", "0", "0", "0", 1, "Unknown"],
    [
      "on a phone",
      "visitor of on a phone",
      "2026-03-04 10:00:00.000000",
      "2026-03-04 10:00:03.000000",
      "3",
      "",
      "",
      "2",
      "0",
      "0",
      "2",
      0,
      "Unknown",
    ],
  ]);
});

test("sessions of a person who is deleted with their events are gone", async () => {
  const uuid = ownPersonId(1, "visitor of bounced");
  const path = `/api/projects/1/persons/${uuid}/?delete_events=true`;
  expect((await ask(server, "DELETE", path)).status).toBeLessThan(300);
  expect(await values("key=$entry_current_url")).toEqual([
    { name: "https://odd.example/" },
    { name: "https://shop.example/shoes?size=42" },
  ]);
  const { clickhouse } = await storesOf(server);
  // No read of the server's shows what is erased a moment later.
  await until(async () => {
    const left = await clickhouse.query<{ session_id: string }>(
      "SELECT session_id FROM sessions WHERE project_id = 1 ORDER BY session_id",
    );
    return left.map(({ session_id }) => session_id).join() === "from an ad,odd,on a phone";
  });
});
