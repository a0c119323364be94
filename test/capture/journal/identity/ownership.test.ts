// Folders of journals that meet another Postgres than theirs, or a copy of themselves, in whole servers.

import { beforeAll, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { readJournalIdentity } from "../../../../src/capture/journal/identity/journal_identity.ts";
import { silentLog } from "../../../../src/core/log.ts";
import { openPostgres, type Postgres } from "../../../../src/storage/postgres/postgres.ts";
import { cleanUpEach, later } from "../../../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport } from "../../../support/exports.ts";
import { makeFolder } from "../../../support/folder.ts";
import { type Lender, openLender } from "../../../support/remote.ts";
import {
  type Environment,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  startServer,
} from "../../../support/server.ts";

cleanUpEach();

let lender: Lender;
beforeAll(async () => {
  lender = await openLender();
});

/** Longer than any test: what is captured stays in the journal. */
const never = { FLUSH_INTERVAL_MS: "3600000" };

function openDatabase(environment: Environment): Postgres {
  const sql = openPostgres(environment["DATABASE_URL"]!, { log: silentLog });
  later(() => sql.end());
  return sql;
}

async function send(server: Server, event: string, count: number, api_key = projectKey): Promise<number> {
  const batch = Array.from({ length: count }, (_, i) => ({ event, distinct_id: `d${i}` }));
  return (await post(server, "/batch/", { api_key, batch })).status;
}

async function countIn(name: string, event: string): Promise<number> {
  const { clickhouse } = lender.stores;
  const text = `SELECT count() AS n FROM ${name}.events WHERE event = {event:String}`;
  const [row] = await clickhouse.query<{ n: string }>(text, { event });
  return Number(row?.n);
}

/** A folder that an embedded server made, used, and left with nothing pending. */
async function embeddedFolder(): Promise<string> {
  const server = await startServer();
  expect(await send(server, "earlier", 3)).toBe(200);
  await rested(server);
  expect(await server.end("SIGTERM")).toBe(0);
  return server.dataDir;
}

function copied(folder: string): string {
  const copy = `${makeFolder()}/copy`;
  cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

/** Confirms that a folder belongs to these stores; resolves to what the command prints. */
async function adopt(environment: Environment, dataDir: string): Promise<string> {
  const ran = await runSluice(["journal", "adopt"], { ...environment, DATA_DIR: dataDir });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  return ran.stdout;
}

/** What a start that is refused says. */
async function refusedStart(environment: Environment, dataDir: string): Promise<string> {
  const started = startServer({ ...environment, LOG_LEVEL: "error" }, dataDir);
  const said = await started.then(
    () => "it started",
    (thrown: unknown) => String(thrown),
  );
  return said.slice(said.indexOf("\n") + 1).trim();
}

test("a folder that an embedded server used gets a new number on a shared Postgres, and no export passes its events", async () => {
  const remote = await lender.lend("exported");
  const dataDir = await embeddedFolder();
  const one = await startServer(remote);
  expect(await refusedStart(remote, dataDir)).toContain("sluice journal adopt");
  await adopt(remote, dataDir);
  const two = await startServer({ ...remote, FLUSH_INTERVAL_MS: "8000" }, dataDir);
  const numbers = [one, two].map((server) => readJournalIdentity(`${server.dataDir}/journal`)?.number);
  expect(new Set(numbers).size).toBe(2);
  const start = new Date(Date.now() - 60_000);
  expect(await send(one, "counted", 5)).toBe(200);
  await rested(one);
  expect(await send(two, "counted", 20)).toBe(200);
  const sql = openDatabase(remote);
  const sealing = { dataDir: "", secretKey: remote["SECRET_KEY"]! };
  const made = {
    type: "NoOp",
    config: { include_events: ["counted"] },
    interval: "hour",
    paused: true,
  };
  const id = await makeExport({ sql } as never, sealing, made);
  // Within one interval, whichever minute it is: one run.
  await makeBackfill({ sql } as never, id, "hour", { start, end: new Date() });
  const runs = await endedRuns({ sql } as never, id);
  expect(runs.map(({ status }) => status)).toEqual(["Completed"]);
  const [counted] = await sql<{ n: number }[]>`
    SELECT sum(records_completed)::int AS n FROM batch_export_runs WHERE batch_export_id = ${id}`;
  expect(counted?.n).toBe(25);
});

test("a folder moved to empty remote stores keeps no later process from starting", async () => {
  const remote = await lender.lend("emptied");
  const dataDir = await embeddedFolder();
  await adopt(remote, dataDir);
  const one = await startServer(remote, dataDir);
  const two = await startServer(remote);
  const rows = await openDatabase(remote)<{ id: number }[]>`SELECT id FROM journals`;
  expect(rows.length).toBe(2);
  for (const server of [one, two]) expect(await send(server, "moved", 2)).toBe(200);
  for (const server of [one, two]) await rested(server);
  expect(await countIn("emptied", "moved")).toBe(4);
});

test("a folder with events that wait is refused on another Postgres with nothing written, and goes on with its own", async () => {
  const home = await lender.lend("home_db");
  const away = { ...(await lender.lend("away_db")), BOOTSTRAP_PROJECT_API_KEY: "phc_away_project" };
  const first = await startServer({ ...home, ...never });
  const { dataDir } = first;
  expect(await send(first, "waiting", 7)).toBe(200);
  await first.end("SIGKILL");
  const refusal = await refusedStart(away, dataDir);
  expect(refusal.split("\n")).toHaveLength(1);
  expect(refusal).toContain("/home_db");
  expect(refusal).not.toContain("sluice:");
  const tables = openDatabase(away)`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`;
  expect(await tables).toHaveLength(0);
  const again = await startServer(home, dataDir);
  await rested(again);
  expect(await countIn("home_db", "waiting")).toBe(7);
  expect(await again.end("SIGTERM")).toBe(0);
  await adopt(away, dataDir);
  const moved = await startServer(away, dataDir);
  expect(await send(moved, "after", 1, projectKey)).toBe(401);
});

test("keys of one Postgres are not used while another one is away", async () => {
  const home = await lender.lend("keys_db");
  const server = await startServer(home);
  expect(await send(server, "known", 1)).toBe(200);
  await rested(server);
  expect(await server.end("SIGTERM")).toBe(0);
  const DATABASE_URL = "postgres://someone:secret@127.0.0.1:1/other_db";
  const refusal = await refusedStart({ ...home, DATABASE_URL }, server.dataDir);
  expect(refusal).toContain("DATABASE_URL (127.0.0.1:1) does not answer");
  expect(refusal).not.toContain("secret");
});

test("a copy is refused while its original runs, starts with a number of its own once adopted, and loses nothing", async () => {
  const remote = await lender.lend("twins");
  const one = await startServer({ ...remote, ...never });
  expect(await send(one, "twin", 6)).toBe(200);
  const copy = copied(one.dataDir);
  const refusal = await refusedStart(remote, copy);
  expect(refusal.split("\n")).toHaveLength(1);
  expect(refusal).toContain("sluice journal adopt");
  expect(await adopt(remote, copy)).toContain(`${copy}/journal: 1, now 2`);
  // The original keeps its own in its journal: what the copy stores is asked for there.
  const two = await startServer(remote, copy);
  expect(await send(two, "twin", 3)).toBe(200);
  await rested(two);
  expect(await one.end("SIGTERM")).toBe(0);
  expect(await countIn("twins", "twin")).toBe(9);
  const again = await startServer(remote, one.dataDir);
  await rested(again);
  const numbers = [two, again].map((server) => readJournalIdentity(`${server.dataDir}/journal`)?.number);
  expect(new Set(numbers).size).toBe(2);
  expect(await countIn("twins", "twin")).toBe(9);
});

test("a copy goes on in the place of an original that was killed, under its number", async () => {
  const remote = await lender.lend("heirs");
  const one = await startServer({ ...remote, ...never });
  expect(await send(one, "left", 6)).toBe(200);
  const copy = copied(one.dataDir);
  await one.end("SIGKILL");
  const heir = await startServer(remote, copy);
  await rested(heir);
  expect(await countIn("heirs", "left")).toBe(6);
  const rows = await openDatabase(remote)`SELECT 1 FROM journals`;
  expect(rows).toHaveLength(1);
});

test("a Postgres that was away and comes back as another one ends the server, with all it took kept for the first", async () => {
  const remote = await lender.lend("swapped");
  const first = await startServer(remote);
  expect(await send(first, "taken", 1)).toBe(200);
  await rested(first);
  expect(await first.end("SIGTERM")).toBe(0);
  await lender.allow("swapped", false);
  const server = await startServer(remote, first.dataDir);
  expect(await send(server, "taken", 4)).toBe(200);
  const { sql } = lender.stores;
  await sql`ALTER DATABASE swapped RENAME TO swapped_before`;
  await sql`CREATE DATABASE swapped`;
  expect(await server.exited).toBe(1);
  expect(server.logged()).toContain("this Postgres is another one");
  expect(await refusedStart(remote, first.dataDir)).toContain("this Postgres is another one");
  const tables = openDatabase(remote)`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`;
  expect(await tables).toHaveLength(0);
  await sql`DROP DATABASE swapped WITH (FORCE)`;
  await sql`ALTER DATABASE swapped_before RENAME TO swapped`;
  await lender.allow("swapped", true);
  const last = await startServer(remote, first.dataDir);
  await rested(last);
  expect(await countIn("swapped", "taken")).toBe(5);
});
