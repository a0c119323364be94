// Deletions of persons in exports of persons, by a real server process. PostHog/posthog#28618, #28684.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stores } from "../../src/storage/stores.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { endedRuns, type MadeExport, makeBackfill, makeExport } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

const folder = makeFolder();
let server: Server;
let stores: Stores;
/** Ends of the intervals that were exported. */
const ends: Date[] = [];

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50", EXPORT_FILE_DIR: folder });
  stores = await storesOf(server);
});

async function send(...batch: object[]): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await post(server, "/batch/", body)).status).toBe(200);
  await rested(server);
}

const identify = (distinct_id: string, more: object = {}) => ({
  event: "$identify",
  distinct_id,
  properties: { $set: { email: `${distinct_id}@example.com` }, ...more },
});

async function remove(distinct_id: string): Promise<void> {
  const found = await ask(server, "GET", `/api/projects/1/persons/?distinct_id=${distinct_id}`);
  const [person] = found.body["results"] as { id: string }[];
  expect((await ask(server, "DELETE", `/api/projects/1/persons/${person!.id}/`)).status).toBe(204);
}

async function endInterval(): Promise<void> {
  const end = new Date(Math.ceil((Date.now() + 1) / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  ends.push(end);
}

const made = (path: string, more: Partial<MadeExport> = {}): Promise<string> =>
  makeExport(stores, server, { type: "File", config: { path }, model: "persons", ...more });

interface Row {
  distinct_id: string;
  person_id: string;
  properties: Record<string, unknown>;
  is_deleted: number;
  person_version: number;
}

/** Exports the interval that ends at the nth end; resolves to its rows by their distinct ids. */
async function exported(id: string, path: string, nth: number, runs: number): Promise<Row[]> {
  const start = ends[nth - 1] ?? new Date(ends[0]!.getTime() - 3_600_000);
  const end = ends[nth]!;
  await makeBackfill(stores, id, "hour", { start, end });
  const ended = await endedRuns(stores, id, runs);
  expect(ended.map(({ status, latest_error }) => [status, latest_error])).toEqual(
    ended.map(() => ["Completed", null]),
  );
  if (!existsSync(join(folder, path))) return [];
  const name = readdirSync(join(folder, path)).find((file) =>
    file.startsWith(`${start.toISOString().slice(0, 19)}+00:00`),
  );
  if (name === undefined) return [];
  const rows = readFileSync(join(folder, path, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
  return rows.toSorted((a, b) => (a.distinct_id < b.distinct_id ? -1 : 1));
}

const brief = (rows: readonly Row[]) => rows.map((row) => [row.distinct_id, row.is_deleted, row.properties]);

test("a deleted person is one row of each id in the interval of its deletion, and a live one when it appears again", async () => {
  const id = await made("all");
  await send(identify("ann"), identify("bob"), identify("carl", { $anon_distinct_id: "anon" }));
  await endInterval();
  const first = await exported(id, "all", 0, 1);
  expect(first.map(({ distinct_id, is_deleted }) => [distinct_id, is_deleted])).toEqual([
    ["ann", 0],
    ["anon", 0],
    ["bob", 0],
    ["carl", 0],
  ]);
  await send(identify("dora"));
  for (const name of ["ann", "carl", "dora"]) await remove(name);
  await endInterval();
  const second = await exported(id, "all", 1, 2);
  expect(brief(second)).toEqual([
    ["ann", 1, {}],
    ["anon", 1, {}],
    ["carl", 1, {}],
  ]);
  const before = new Map(first.map((row) => [row.distinct_id, row]));
  for (const { distinct_id, person_id, person_version } of second) {
    expect(person_id).toBe(before.get(distinct_id)!.person_id);
    expect(person_version).toBeGreaterThan(before.get(distinct_id)!.person_version);
  }
  await send(identify("ann"));
  await endInterval();
  expect(brief(await exported(id, "all", 2, 3))).toEqual([["ann", 0, { email: "ann@example.com" }]]);
  expect(brief(await exported(id, "all", 1, 4))).toEqual([
    ["anon", 1, {}],
    ["carl", 1, {}],
  ]);
});

test("filters leave out no deletion, a query shows those whose is_deleted it names, and an export without earlier runs none", async () => {
  const filters = [{ key: "email", value: "bob@example.com", operator: "exact", type: "person" }];
  const ids = {
    filtered: await made("filtered", { filters }),
    queried: await made("queried", { native_query: "SELECT distinct_id, is_deleted FROM persons" }),
    plain: await made("plain", { native_query: "SELECT distinct_id, person_version FROM persons" }),
    later: await made("later"),
  };
  const earlier = Object.entries(ids).filter(([path]) => path !== "later");
  await Promise.all(earlier.map(([path, id]) => exported(id, path, 0, 1)));
  // The earlier runs are as old as their intervals.
  await stores.sql`UPDATE batch_export_runs SET finished_at = data_interval_end`;
  const rows = await Promise.all(
    Object.entries(ids).map(
      async ([path, id]) => [path, await exported(id, path, 1, path === "later" ? 1 : 2)] as const,
    ),
  );
  expect(rows.map(([path, found]) => [path, found.map((row) => row.distinct_id)])).toEqual([
    ["filtered", ["anon", "carl"]],
    ["queried", ["anon", "carl"]],
    ["plain", []],
    ["later", []],
  ]);
});
