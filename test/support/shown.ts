// A project with something of everything, and what a server shows of it. Never compares.

import { expect } from "bun:test";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { ask } from "./ask.ts";
import { bodyOf, event } from "./recordings.ts";
import { get, post, projectKey, rested, type Server, until } from "./server.ts";

const home = "/api/projects/1";
const session = "0190a5c8-7b0e-7000-8000-000000000001";

/** Lets the project record, and resolves when capture knows. */
export async function recordFrom(server: Server): Promise<void> {
  expect((await ask(server, "PATCH", `${home}/`, { session_recording_opt_in: true })).status).toBe(200);
  await until(async () => {
    await fillProject(server, "first");
    await rested(server);
    const listed = await get(server, `${home}/session_recordings/`);
    return ((await listed.json()) as { results: unknown[] }).results.length > 0;
  });
}

/** Persons, groups, a session, a recording, events of many years. */
export async function fillProject(server: Server, name: string): Promise<void> {
  const batch = [
    {
      event: "$identify",
      distinct_id: `${name} known`,
      properties: { $anon_distinct_id: `${name} anonymous` },
    },
    { event: "$set", distinct_id: `${name} known`, properties: { $set: { plan: "free" } } },
    {
      event: "$groupidentify",
      distinct_id: `${name} known`,
      properties: { $group_type: "company", $group_key: name, $group_set: { seats: 3 } },
    },
    ...Array.from({ length: 30 }, (_, i) => ({
      event: "seen",
      distinct_id: `${name} ${i % 3 === 0 ? "anonymous" : i}`,
      timestamp: new Date(Date.UTC(2019 + (i % 5), i % 12, 3)).toISOString(),
      properties: { i, $session_id: session, $groups: { company: name }, $current_url: "https://a.example/" },
    })),
    { event: "", distinct_id: "no name" },
  ];
  const body = { api_key: projectKey, historical_migration: name === "moved", batch };
  expect((await post(server, "/batch/", body)).status).toBe(200);
  const at = Date.now() - 60_000;
  const events = [event.page(at, "https://a.example/"), event.whole(at + 1), event.click(at + 900)];
  const piece = { session, distinct_id: `${name} known`, events };
  expect((await post(server, "/s/", bodyOf(piece))).status).toBe(200);
}

/** What the API shows, without what differs between two servers; and what views of `clickhouse` have. */
export async function shownBy(server: Server, clickhouse?: ClickHouse): Promise<Record<string, unknown>> {
  const paths = [
    "/api/projects/",
    "/api/personal_api_keys/",
    `${home}/events/?limit=1000`,
    `${home}/persons/`,
    `${home}/groups/?group_type=company`,
    `${home}/session_recordings/`,
    `${home}/batch_exports/`,
    `${home}/insights/`,
    `${home}/dashboards/`,
    `${home}/subscriptions/`,
    `${home}/ingestion_warnings/`,
  ];
  const texts = await Promise.all(
    paths.map(async (path) => {
      const reply = await get(server, path);
      expect([path, reply.status]).toEqual([path, 200]);
      return (await reply.text()).replaceAll(server.url, "");
    }),
  );
  const names = clickhouse ? ["sessions", "person_distinct_ids", "group_types"] : [];
  const views = names.map(async (view) => [
    view,
    await clickhouse?.query(`SELECT * FROM ${view} ORDER BY ALL`),
  ]);
  const snapshots = await get(server, `${home}/session_recordings/${session}/snapshots/`);
  const bodies = texts.map((text) => JSON.parse(text) as Listed);
  return {
    ...Object.fromEntries(paths.map((path, i) => [path, withoutStrays(bodies[i]!)])),
    ...Object.fromEntries(await Promise.all(views)),
    snapshots: await snapshots.text(),
  };
}

interface Listed {
  count?: number;
  results: { type?: string; count?: number }[];
  types?: { type: string }[];
}

/** Without warnings of derived sessions, which come when these are derived, and again where a journal is read again. */
function withoutStrays(listed: Listed): Listed {
  if (!listed.types) return listed;
  const isOther = ({ type }: { type?: string }) => type !== "event_outside_session";
  const { count: _, ...others } = listed;
  return { ...others, results: listed.results.filter(isOther), types: listed.types.filter(isOther) };
}
