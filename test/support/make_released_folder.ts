// Makes the data folder that a release leaves, to be opened by every later version, and what its API says of it:
//
//   bun test/support/make_released_folder.ts
//
// It writes test/fixtures/released/<version>.tar.zst and <version>.json, once, when that version is released; later
// versions change neither. The folder is a killed server's: some of its events are only in the journal.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readVersion } from "../../src/core/version.ts";
import { cleanUp } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";
import { bodyOf } from "./recordings.ts";
import { packReleased } from "./released.ts";
import {
  get,
  type Listening,
  personalKey,
  post,
  projectKey,
  rested,
  startServer,
  storesOf,
  until,
} from "./server.ts";

const home = "/api/projects/1";

/** What is read of a released folder; each list by what every version must say of its rows. */
export const releasedPaths = [
  `${home}/`,
  `${home}/events/?limit=1000`,
  `${home}/persons/?limit=1000`,
  `${home}/groups/?group_type_index=0`,
  `${home}/event_definitions/`,
  `${home}/property_definitions/`,
  `${home}/session_recordings/`,
  `${home}/insights/`,
  `${home}/dashboards/`,
  `${home}/subscriptions/`,
  `${home}/batch_exports/`,
  "/api/personal_api_keys/",
];

/** The rows of all lists, without what tells when or where they were read. */
export async function readReleased(server: Listening): Promise<Record<string, unknown>> {
  const read = async (path: string) => {
    const reply = await get(server, path);
    const body = (await reply.json()) as { results?: object[] };
    const rows = (body.results ?? [body]).map((row) => withoutMoments(row));
    const sorted = rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    return [path, { status: reply.status, rows: sorted }] as const;
  };
  return Object.fromEntries(await Promise.all(releasedPaths.map(read)));
}

/** Results and times of computing change with each read; a null says no more than a field that a version lacks. */
function withoutMoments(row: object): object {
  const passing =
    /^(result|last_refresh|last_modified_at|last_viewed_at|last_used_at|next_delivery_date|.*_url|is_cached)$/;
  return Object.fromEntries(
    Object.entries(row).filter(([name, value]) => !passing.test(name) && value !== null),
  );
}

/** Sends the folder's content: every kind of thing that it keeps. */
async function fill(server: Listening): Promise<void> {
  const batch = [
    {
      event: "$pageview",
      distinct_id: "anon",
      properties: { $session_id: "s-1", $current_url: "https://example.com/" },
    },
    {
      event: "$identify",
      distinct_id: "zoe",
      properties: { $anon_distinct_id: "anon", $set: { email: "zoe@example.com" } },
    },
    {
      event: "bought",
      distinct_id: "zoe",
      properties: { price: 12.5, name: "Zoë 🚲", $groups: { company: "acme" } },
    },
    {
      event: "$groupidentify",
      distinct_id: "zoe",
      properties: { $group_type: "company", $group_key: "acme", $group_set: { seats: 3 } },
    },
  ].map((one, i) => ({ ...one, timestamp: `2026-03-04T10:00:0${i}Z` }));
  const old = [2019, 2020].map((year) => ({
    event: "old",
    distinct_id: "dan",
    timestamp: `${year}-01-02T03:04:05Z`,
  }));
  await accepted(post(server, "/batch/", { api_key: projectKey, batch }));
  await accepted(post(server, "/batch/", { api_key: projectKey, historical_migration: true, batch: old }));
  const events = [
    { type: 4, timestamp: Date.parse("2026-03-04T10:00:00Z"), data: { href: "https://example.com/" } },
  ];
  await accepted(post(server, "/s/", bodyOf({ session: "0198c0de-0000-7000-8000-000000000001", events })));
  const make = (path: string, body: object) =>
    accepted(post(server, path, body, { authorization: `Bearer ${personalKey}` }));
  const source = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "bought" }] };
  const insight = (await make(`${home}/insights/`, {
    name: "Sales",
    query: { kind: "InsightVizNode", source },
  })) as { id: number };
  const dashboard = (await make(`${home}/dashboards/`, { name: "Shop" })) as { id: number };
  await accepted(
    fetch(`${server.url}${home}/insights/${insight.id}/`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
      body: JSON.stringify({ dashboards: [dashboard.id] }),
    }),
  );
  await make(`${home}/subscriptions/`, {
    insight: insight.id,
    target_type: "email",
    target_value: "zoe@example.com",
    frequency: "yearly",
    start_date: "2026-01-01T00:00:00Z",
  });
  await make(`${home}/batch_exports/`, {
    name: "Nightly",
    interval: "day",
    paused: true,
    destination: { type: "HTTP", config: { url: "https://example.com/batch/", token: "a token" } },
  });
}

async function accepted(answer: Promise<Response>): Promise<unknown> {
  const reply = await answer;
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${reply.url}: ${reply.status} ${text}`);
  return JSON.parse(text);
}

/** Empties what Postgres does not read again, but overwrites: its logs before a position, also in recycled files. */
function trimLogs(folder: string, begin: bigint): void {
  const files = readdirSync(folder).filter((name) => /^[0-9A-F]{24}$/.test(name));
  for (const path of files.map((name) => join(folder, name))) {
    const bytes = readFileSync(path);
    // Each page has its position; the first one has what all of a file need.
    for (let page = pageBytes; page < bytes.length; page += pageBytes) {
      const end = bytes.readBigUInt64LE(page + 8) + BigInt(pageBytes);
      if (end <= begin) bytes.fill(0, page, page + pageBytes);
    }
    // A recycled file begins with the position that it had.
    if (bytes.readBigUInt64LE(8) + BigInt(bytes.length) <= begin) rmSync(path);
    else writeFileSync(path, bytes);
  }
}

const pageBytes = 8192;

if (import.meta.main) {
  const folder = resolve(import.meta.dir, "../fixtures/released");
  const version = readVersion();
  mkdirSync(folder, { recursive: true });
  const dataDir = join(makeFolder(), "data");
  const first = await startServer({}, dataDir);
  await fill(first);
  await rested(first);
  await first.end("SIGTERM");
  const second = await startServer({ FLUSH_INTERVAL_MS: "3600000" }, dataDir);
  const last = {
    api_key: projectKey,
    event: "in the journal",
    distinct_id: "zoe",
    timestamp: "2026-03-04T11:00:00Z",
  };
  await accepted(post(second, "/capture/", last));
  const { sql } = await storesOf(second);
  const [log] = await sql<{ begin: string }[]>`SELECT redo_lsn - '0/0' AS begin FROM pg_control_checkpoint()`;
  await second.end("SIGKILL");
  trimLogs(join(dataDir, "postgres/pg_wal"), BigInt(log!.begin));
  await until(() =>
    packReleased(version, dataDir).then(
      () => true,
      () => false,
    ),
  );
  const third = await startServer({}, dataDir);
  await rested(third);
  await Bun.write(join(folder, `${version}.json`), `${JSON.stringify(await readReleased(third), null, 1)}\n`);
  await third.end("SIGTERM");
  await cleanUp();
}
