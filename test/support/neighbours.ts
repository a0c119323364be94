// Rows of two projects side by side: each has something in every table that clients read, all of it with a word of its
// own. Never checks what comes back.

import type { Stores } from "../../src/storage/stores.ts";
import { type RunningApp, startApp } from "./app.ts";
import { type Answer, ask } from "./ask.ts";
import { event } from "./recordings.ts";
import { post, projectKey, rested, storesOf, until } from "./server.ts";

export interface Neighbours {
  app: RunningApp;
  stores: Stores;
  other: { id: number; key: string };
  /** The tables that have rows of both projects in one part. */
  mixed: string[];
  /** A management request of a project, the first by default; again for as long as the machine is too busy. */
  send(method: string, path: string, body?: object, project?: number): Promise<Answer>;
  /** The answer to a query in SQL. */
  sql(text: string, project?: number): Promise<Answer>;
}

/** The application with a project whose texts begin with `mine`, and another with `theirs`, side by side. */
export async function startNeighbours(environment: Record<string, string> = {}): Promise<Neighbours> {
  const app = await startApp({ ALLOW_PRIVATE_DESTINATIONS: "1", ...environment });
  const stores = await storesOf(app);
  const made = await ask(app, "POST", "/api/projects/", { name: "Other" });
  const other = { id: Number(made.body["id"]), key: String(made.body["api_token"]) };
  const send: Neighbours["send"] = async (method, path, body, project = 1) => {
    for (;;) {
      const answer = await ask(app, method, `/api/projects/${project}/${path}`, body);
      if (answer.status !== 503) return answer;
    }
  };
  const sql: Neighbours["sql"] = (query, project) =>
    send("POST", "query/", { query: { kind: "HogQLQuery", query }, refresh: "force_blocking" }, project);
  await stores.sql`UPDATE projects SET session_recording_opt_in = true`;
  await fillProject(app, projectKey, "mine");
  await fillProject(app, other.key, "theirs");
  // The server learns within seconds that a project has opted in, and derives sessions behind its events.
  const has = async (table: string, project?: number): Promise<boolean> =>
    JSON.stringify((await sql(`select count() from ${table}`, project)).body["results"]) !== "[[0]]";
  await until(async () => (await has("sessions")) && (await has("sessions", other.id)));
  await until(async () => {
    if ((await has("session_recordings")) && (await has("session_recordings", other.id))) return true;
    await sendRecording(app, projectKey, "mine");
    await sendRecording(app, other.key, "theirs");
    return false;
  });
  return { app, stores, other, mixed: await mixProjects(stores), send, sql };
}

/** Events, persons, groups, sessions, recordings and warnings of a project; every text of theirs begins with `word`. */
export async function fillProject(server: { url: string }, key: string, word: string): Promise<void> {
  const at = Date.now() - 3_600_000;
  const common = { $session_id: `${word} session`, $current_url: `https://${word}.example.com/`, plan: word };
  const one = (name: string, i: number, properties: object = {}) => ({
    event: name,
    distinct_id: `${word} user ${i % 3}`,
    timestamp: new Date(at + i * 1000).toISOString(),
    properties: { ...common, ...properties },
  });
  const batch = [
    ...Array.from({ length: 30 }, (_, i) => one(i % 2 ? word : `${word} more`, i, { n: i })),
    ...[0, 1, 2].map((i) => one("$identify", i, { $set: { email: `${word}@example.com`, plan: word } })),
    one("$groupidentify", 1, { $group_type: word, $group_key: `${word} key`, $group_set: { name: word } }),
    one(word, 2, { $groups: { [word]: `${word} key` } }),
    // Ignored, with a warning that names it.
    { ...one(word, 3), distinct_id: "", properties: { ...common, large: word } },
  ];
  await post(server, "/batch/", { api_key: key, batch });
  await sendRecording(server, key, word);
  await rested(server);
}

/** A recording of the project; it is stored as soon as the server knows that the project has opted in. */
async function sendRecording(server: { url: string }, key: string, word: string): Promise<void> {
  const at = Date.now() - 3_600_000;
  const properties = { token: key, distinct_id: `${word} user 0`, $session_id: `${word} recorded` };
  const $snapshot_data = [event.page(at, `https://${word}.example.com/`), event.click(at + 1000)];
  const snapshot = {
    uuid: crypto.randomUUID(),
    event: "$snapshot",
    properties: { ...properties, $window_id: "w1", $snapshot_bytes: 1, $snapshot_data, $lib: "web" },
    offset: 5,
  };
  await post(server, "/s/", [snapshot]);
}

/**
 * Merges every table, so that rows of all projects lie in one part and granule; the tables that have rows of several
 * projects in one.
 */
export async function mixProjects({ clickhouse }: Stores): Promise<string[]> {
  const tables = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
       AND (name, 'project_id') IN (SELECT table, name FROM system.columns WHERE database = currentDatabase())`,
  );
  const mixed: string[] = [];
  for (const { name } of tables) {
    await clickhouse.command(`OPTIMIZE TABLE ${name} FINAL`);
    const parts = await clickhouse.query(
      `SELECT _part FROM ${name} GROUP BY _part HAVING uniqExact(project_id) > 1`,
    );
    if (parts.length > 0) mixed.push(name.replace(/_local$/, ""));
  }
  return mixed;
}
