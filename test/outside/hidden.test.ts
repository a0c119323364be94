// Each reader beside each exclusion: what has expired or is deleted, and still lies in the store, is shown by none. The
// work that deletes it is held, so that only what reads omit is seen. PostHog/posthog#14159, #13129, #102120, #28684.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { rested, storesOf, until } from "../support/server.ts";
import { openWebSink, type WebSink } from "../support/web_sink.ts";

const folder = makeFolder();
const dayMs = 86_400_000;
const now = Date.now();
let app: RunningApp;
let stores: Stores;
let sink: WebSink;

beforeAll(async () => {
  app = await startApp({
    FLUSH_INTERVAL_MS: "50",
    EXPORT_FILE_DIR: folder,
    ALLOW_PRIVATE_DESTINATIONS: "1",
    EVENT_RETENTION_DAYS: "60",
  });
  stores = await storesOf(app);
  sink = openWebSink();
  await stores.sql`
    UPDATE passes SET owner = gen_random_uuid(), leased_until = now() + interval '1 hour', passed_at = now()`;
}, startMsMax);
afterAll(cleanUp, startMsMax);

interface Home {
  base: string;
  key: string;
}

async function makeProject(name: string): Promise<Home> {
  const { body } = await ask(app, "POST", "/api/projects/", { name, session_recording_opt_in: true });
  return { base: `/api/projects/${Number(body["id"])}`, key: String(body["api_token"]) };
}

/** Two page views in a session of their own, and its recording. */
async function send({ key: api_key }: Home, mark: string, daysAgo: number): Promise<string> {
  const at = now - daysAgo * dayMs;
  const session = `${mark}-session`;
  const batch = ["first", "next"].map((page, i) => ({
    event: "$pageview",
    distinct_id: mark,
    timestamp: new Date(at + i * 10_000).toISOString(),
    properties: {
      mark,
      $session_id: session,
      $current_url: `https://x.example/${mark}/${page}`,
      $pathname: `/${mark}/${page}`,
    },
  }));
  const sent = { api_key, historical_migration: daysAgo > 1, batch };
  await until(async () => (await ask(app, "POST", "/batch/", sent, "")).status === 200);
  const url = `https://x.example/${mark}`;
  const pieces = bodyOf({
    session,
    distinct_id: mark,
    events: [event.page(now - 5000, url), event.whole(now - 4000), event.click(now)],
  });
  for (const piece of pieces as { properties: object }[]) Object.assign(piece.properties, { token: api_key });
  expect((await ask(app, "POST", "/s/", pieces, "")).status).toBe(200);
  await rested(app);
  return session;
}

const read = async (home: Home, path: string) => (await ask(app, "GET", `${home.base}/${path}`)).text;

async function query(home: Home, asked: object): Promise<string> {
  const answer = await ask(app, "POST", `${home.base}/query/`, { query: asked, refresh: "force_blocking" });
  return `${answer.status} ${answer.text}`;
}

const sql = (text: string) => (home: Home) => query(home, { kind: "HogQLQuery", query: text });

const series = [{ kind: "EventsNode", event: "$pageview" }];
const dateRange = { date_from: "-90d" };
const byMark = { breakdown: "mark", breakdown_type: "event" };

let exported = 0;

/** The rows of a backfill of ninety days. */
async function readExport(home: Home, model: string, type: "File" | "HTTP"): Promise<string> {
  const path = `export-${++exported}`;
  sink.posted.length = 0;
  const config = type === "File" ? { path } : { url: `${sink.url}/batch`, token: "phc_token" };
  const created = await ask(app, "POST", `${home.base}/batch_exports/`, {
    name: path,
    model,
    interval: "week",
    paused: true,
    destination: { type, config },
  });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  const own = `${home.base}/batch_exports/${String(created.body["id"])}/`;
  const [start_at, end_at] = [now - 90 * dayMs, now - dayMs].map((at) => new Date(at).toISOString());
  const asked = await ask(app, "POST", `${own}backfills/`, { start_at, end_at });
  expect([asked.status, asked.text]).toEqual([201, expect.any(String)]);
  await until(async () => {
    const { body } = await ask(app, "GET", `${own}backfills/${String(asked.body["backfill_id"])}/`);
    return body["status"] === "Completed" || body["status"] === "Failed";
  });
  const runs = (await ask(app, "GET", `${own}runs/?limit=200`)).body["results"] as { status: string }[];
  expect([...new Set(runs.map(({ status }) => status))]).toEqual(["Completed"]);
  if (type === "HTTP") return JSON.stringify(sink.posted.map(({ body }) => body));
  if (!existsSync(join(folder, path))) return "";
  return readdirSync(join(folder, path))
    .map((file) => readFileSync(join(folder, path, file), "utf8"))
    .join("\n");
}

/** Readers of events: each shows the mark of every event. */
const readers: Record<string, (home: Home) => Promise<string>> = {
  "SQL of events": sql("select properties.mark from events"),
  "SQL of sessions": sql("select $entry_current_url from sessions"),
  "SQL of a join": sql(
    "select e.session.$entry_current_url from events e where timestamp > now() - interval 90 day",
  ),
  "the list of events": (home) => read(home, "events/?after=-90d"),
  "the list of events as CSV": (home) => read(home, "events/?after=-90d&format=csv"),
  "values of a property": (home) => read(home, "events/values/?key=mark"),
  "values of a session's property": (home) => read(home, "sessions/values/?key=$entry_current_url"),
  "an events query": (home) =>
    query(home, { kind: "EventsQuery", select: ["properties.mark"], after: "-90d" }),
  trends: (home) => query(home, { kind: "TrendsQuery", series, dateRange, breakdownFilter: byMark }),
  "trends of all time": (home) =>
    query(home, { kind: "TrendsQuery", series, dateRange: { date_from: "all" }, breakdownFilter: byMark }),
  funnels: (home) =>
    query(home, { kind: "FunnelsQuery", series: [...series, ...series], dateRange, breakdownFilter: byMark }),
  paths: (home) =>
    query(home, { kind: "PathsQuery", pathsFilter: { includeEventTypes: ["$pageview"] }, dateRange }),
  "a table of pages": (home) =>
    query(home, { kind: "WebStatsTableQuery", breakdownBy: "Page", properties: [], dateRange }),
  "a table of entries": (home) =>
    query(home, { kind: "WebStatsTableQuery", breakdownBy: "InitialPage", properties: [], dateRange }),
  "an export into files": (home) => readExport(home, "events", "File"),
  "an export by HTTP": (home) => readExport(home, "events", "HTTP"),
};

/** Readers of recordings: each shows the mark of every recording. */
const recordingReaders: Record<string, (home: Home) => Promise<string>> = {
  "SQL of recordings": sql("select session_id, start_url from session_recordings"),
  "the list of recordings": (home) => read(home, "session_recordings/"),
  "the list by the events in them": (home) =>
    read(home, `session_recordings/?events=${encodeURIComponent('[{"id":"$pageview","type":"events"}]')}`),
  "a recording": async (home) =>
    `${await read(home, "session_recordings/GONE-session/")} ${await read(home, "session_recordings/KEPT-session/")}`,
  "a recording's events": async (home) =>
    (await read(home, "session_recordings/GONE-session/snapshots/?source=blob")) +
    (await read(home, "session_recordings/KEPT-session/snapshots/?source=blob")),
};

const all = { ...readers, ...recordingReaders };

/** Expects which of the two marks each reader shows. */
async function expectShown(home: Home, asked: typeof readers, marks: string[]): Promise<void> {
  for (const [name, readMarks] of Object.entries(asked)) {
    // A remote ClickHouse writes no files here.
    if (app.remote && name === "an export into files") continue;
    const text = await readMarks(home);
    const shown = ["GONE", "KEPT"].filter((mark) => text.includes(mark));
    expect([name, shown, shown.join() === marks.join() ? "" : text.slice(0, 2000)]).toEqual([
      name,
      marks,
      "",
    ]);
  }
}

async function findPerson(home: Home): Promise<string> {
  const { body } = await ask(app, "GET", `${home.base}/persons/?distinct_id=GONE`);
  return (body["results"] as { uuid: string }[])[0]!.uuid;
}

test("events beyond the retention of their project", async () => {
  const home = await makeProject("Own");
  await send(home, "GONE", 6);
  await send(home, "KEPT", 2);
  await expectShown(home, readers, ["GONE", "KEPT"]);
  expect((await ask(app, "PATCH", `${home.base}/`, { event_retention_days: 4 })).status).toBe(200);
  await until(async () => !(await readers["SQL of events"]!(home)).includes("GONE"));
  await expectShown(home, readers, ["KEPT"]);
  expect((await ask(app, "PATCH", `${home.base}/`, { event_retention_days: null })).status).toBe(200);
  await until(async () => (await readers["SQL of events"]!(home)).includes("GONE"));
});

test("events beyond the server's retention, from the moment they arrive", async () => {
  const home = await makeProject("Server");
  await send(home, "KEPT", 2);
  await send(home, "GONE", 61);
  await expectShown(home, readers, ["KEPT"]);
});

test("a deleted person with its events and recordings", async () => {
  const home = await makeProject("Person");
  await send(home, "GONE", 3);
  await send(home, "KEPT", 2);
  await expectShown(home, all, ["GONE", "KEPT"]);
  const path = `${home.base}/persons/${await findPerson(home)}/?delete_events=true`;
  expect((await ask(app, "DELETE", path)).status).toBe(204);
  const stored = "SELECT uuid FROM event_rows WHERE distinct_id = 'GONE' AND properties LIKE '%GONE%'";
  // On a cluster the deletion was awaited.
  if (!stores.clickhouse.cluster) expect((await stores.clickhouse.query(stored)).length).toBeGreaterThan(0);
  await expectShown(home, all, ["KEPT"]);
});

test("a deleted person without its events", async () => {
  const home = await makeProject("Profile");
  await send(home, "GONE", 3);
  await send(home, "KEPT", 2);
  const persons = {
    "SQL of persons": sql("select distinct_id from person_distinct_ids"),
    "the list of persons": (asked: Home) => read(asked, "persons/"),
    "a query of actors": (asked: Home) => query(asked, { kind: "ActorsQuery", select: ["person"] }),
  };
  await expectShown(home, persons, ["GONE", "KEPT"]);
  expect((await ask(app, "DELETE", `${home.base}/persons/${await findPerson(home)}/`)).status).toBe(204);
  await expectShown(home, persons, ["KEPT"]);
  await expectShown(home, readers, ["GONE", "KEPT"]);
});

test("a deleted recording", async () => {
  const home = await makeProject("Recording");
  await send(home, "GONE", 0);
  await send(home, "KEPT", 0);
  await expectShown(home, recordingReaders, ["GONE", "KEPT"]);
  expect((await ask(app, "DELETE", `${home.base}/session_recordings/GONE-session/`)).status).toBe(204);
  await expectShown(home, recordingReaders, ["KEPT"]);
  await send(home, "GONE", 0);
  await expectShown(home, recordingReaders, ["KEPT"]);
});

test("a recording that has expired", async () => {
  const home = await makeProject("Expired");
  await send(home, "KEPT", 0);
  await send(home, "GONE", 0);
  for (const table of ["snapshot_chunks", "session_recording_days"])
    await stores.clickhouse.command(
      `ALTER TABLE ${stores.clickhouse.tables.local(table)} UPDATE expires_at = now() - 1
       WHERE project_id = {id:UInt32} AND distinct_id = 'GONE'`,
      { id: Number(home.base.split("/")[3]) },
      { settings: { mutations_sync: 2 } },
    );
  await until(async () => !(await recordingReaders["SQL of recordings"]!(home)).includes("GONE"));
  await expectShown(home, recordingReaders, ["KEPT"]);
});
