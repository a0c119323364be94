// Two versions of the server on the same stores, as an operator brings one after the other forward.

import { beforeAll, expect, test } from "bun:test";
import { silentLog } from "../../../src/core/log.ts";
import { newerRemedy } from "../../../src/core/version.ts";
import { openPostgres } from "../../../src/storage/postgres/postgres.ts";
import { cleanUpEach, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { type Lender, openLender } from "../../support/remote.ts";
import {
  type Environment,
  listening,
  ownMain,
  post,
  projectKey,
  readLines,
  rested,
  type Server,
  spawnSluice,
  startServer,
  storesOf,
} from "../../support/server.ts";
import { makeNextVersion } from "../../support/versions.ts";

cleanUpEach();

let lender: Lender;
let borne: string;
let unborne: string;
beforeAll(async () => {
  lender = await openLender();
  borne = makeNextVersion(true);
  unborne = makeNextVersion(false);
}, 300_000);

async function send(server: Server, event: string): Promise<number> {
  const batch = Array.from({ length: 10 }, (_, i) => ({ event, distinct_id: `d${i}` }));
  return (await post(server, "/batch/", { api_key: projectKey, batch })).status;
}

/** How many events of each name are stored. */
async function counts(database: string): Promise<Record<string, number>> {
  const rows = await lender.stores.clickhouse.query<{ event: string; n: number }>(
    `SELECT event, toInt32(count()) AS n FROM ${database}.events GROUP BY event`,
  );
  return Object.fromEntries(rows.map(({ event, n }) => [event, n]));
}

/** Whether both stores have the column that the next version adds. */
async function isChanged(database: string): Promise<boolean> {
  const found = await lender.stores.clickhouse.query(
    "SELECT 1 FROM system.columns WHERE database = {database:String} AND table = 'event_rows' AND name = 'unused'",
    { database },
  );
  return found.length > 0;
}

/** Starts a server that may wait, or be refused. */
function launch(environment: Environment, main: string, folder = makeFolder()) {
  const settings = { PORT: "0", DATA_DIR: folder, ...environment };
  const child = spawnSluice(["serve"], settings, undefined, main);
  later(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  return { child, output: readLines(child.stdout), log: readLines(child.stderr) };
}

const waits = /a migration is incompatible with running older servers.*?("servers":"[^"]*")/;

test("servers continue beside a newer one whose migrations they can tolerate, and can start again", async () => {
  const environment = await lender.lend("borne");
  const older = await startServer(environment, makeFolder());
  const newer = await startServer(environment, makeFolder(), borne);
  expect(await isChanged("borne")).toBe(true);
  expect(newer.logged()).not.toContain("older servers");
  expect(await send(older, "older")).toBe(200);
  expect(await send(newer, "newer")).toBe(200);
  await older.end("SIGKILL");
  const again = await startServer(environment, older.dataDir);
  const said = again
    .logged()
    .split("\n")
    .filter((line) => line.includes("a newer version has changed the stores"));
  expect(said).toHaveLength(1);
  expect(await send(again, "again")).toBe(200);
  for (const server of [again, newer]) await rested(server);
  expect(await counts("borne")).toEqual({ older: 10, newer: 10, again: 10 });
  for (const server of [again, newer]) expect(await server.end("SIGTERM")).toBe(0);
}, 300_000);

test("a newer server waits for those that cannot tolerate its migrations, and they are refused from then on", async () => {
  const environment = await lender.lend("unborne");
  const folders = [makeFolder(), makeFolder()];
  const older = await Promise.all(folders.map((folder) => startServer(environment, folder)));
  const newer = launch(environment, unborne);
  const named = await newer.log.find(waits);
  for (const folder of folders) expect(named).toContain(folder);
  expect(await send(older[0]!, "meanwhile")).toBe(200);
  // Nothing keeps it from starting again, as long as nothing is changed.
  expect(await older[1]!.end("SIGTERM")).toBe(0);
  older[1] = await startServer(environment, folders[1]);
  expect(await isChanged("unborne")).toBe(false);
  expect(newer.output.sofar()).toBe("");
  for (const server of older) expect(await server.end("SIGTERM")).toBe(0);
  expect(await newer.output.find(listening)).toStartWith("http://");
  expect(await isChanged("unborne")).toBe(true);
  const late = launch({ ...environment, LOG_LEVEL: "error" }, ownMain, folders[0]);
  expect(await late.child.exited).toBe(1);
  await late.log.find(/\n$/);
  expect(late.log.sofar()).toMatch(
    /^sluice serve: the \w+ store is at migration \d+, newer than this program; run that one, or .*: DATA_DIR=NEW bun run sluice restore BACKUP\n$/,
  );
  expect(await counts("unborne")).toEqual({ meanwhile: 10 });
}, 300_000);

test("a check prints of each migration how long it takes here, how that is known, and whether captures continue", async () => {
  const environment = await lender.lend("checked");
  const older = await startServer({ ...environment, FLUSH_INTERVAL_MS: "20" }, makeFolder());
  expect(await send(older, "before")).toBe(200);
  await rested(older);
  await lender.stores.clickhouse.command(
    `INSERT INTO checked.event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1, 'many', toString(number), '{}', now(), now() FROM numbers(99990)`,
  );
  const check = async (main: string) => {
    const child = spawnSluice(
      ["migrate", "--check"],
      { DATA_DIR: makeFolder(), ...environment },
      undefined,
      main,
    );
    const printed = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    return printed.replace(/\/\d{4}_/g, "/N_");
  };
  const moment = "sql/postgres/N_unused.sql: a moment, however many events there are";
  const rows =
    "sql/clickhouse/N_unused.sql: about 2 s for 100,000 rows of event_rows here (400 s for 20,000,000, estimated)";
  const goOn = "older servers can capture meanwhile";
  expect(await check(borne)).toBe(`${moment}; ${goOn}\n${rows}; ${goOn}\n`);
  const stop = "older servers must stop for it";
  expect(await check(unborne)).toBe(`${moment}; ${stop}\n${rows}; ${stop}\n`);
  expect(await isChanged("checked")).toBe(false);
}, 300_000);

test("the next version's migrate changes embedded stores while this version's server captures", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  const child = spawnSluice(["migrate"], { DATA_DIR: server.dataDir }, undefined, borne);
  const printed = new Response(child.stdout).text();
  let sent = 0;
  while (child.exitCode === null) {
    expect(await send(server, "meanwhile")).toBe(200);
    sent += 10;
  }
  expect([await child.exited, await printed]).toEqual([0, "applied 1 to Postgres, 1 to ClickHouse\n"]);
  expect(await send(server, "after")).toBe(200);
  await rested(server);
  const { clickhouse } = await storesOf(server);
  expect(
    await clickhouse.query(
      "SELECT event, toInt32(count()) AS n, toInt32(any(unused)) AS unused FROM event_rows GROUP BY event ORDER BY event",
    ),
  ).toEqual([
    { event: "after", n: 10, unused: 7 },
    { event: "meanwhile", n: sent, unused: 7 },
  ]);
  expect(await server.end("SIGTERM")).toBe(0);
}, 300_000);

test("a server that was killed starts again as a newer one without waiting for itself", async () => {
  const environment = await lender.lend("itself");
  const older = await startServer(environment, makeFolder());
  expect(await send(older, "before")).toBe(200);
  await older.end("SIGKILL");
  const newer = await startServer(environment, older.dataDir, unborne);
  expect(newer.logged()).not.toContain("older servers");
  await rested(newer);
  expect(await counts("itself")).toEqual({ before: 10 });
}, 300_000);

test("a server that waits for older ones can be stopped", async () => {
  const environment = await lender.lend("told");
  await startServer(environment, makeFolder());
  const newer = launch(environment, unborne);
  expect(await newer.log.find(waits)).toBeDefined();
  newer.child.kill("SIGTERM");
  expect(await newer.child.exited).toBe(0);
  expect(await isChanged("told")).toBe(false);
}, 300_000);

test("a server that was out of sight while the stores were changed ends, and its journal continues with the new version", async () => {
  const environment = await lender.lend("unseen");
  const older = await startServer({ ...environment, FLUSH_INTERVAL_MS: "3600000" }, makeFolder());
  expect(await send(older, "waiting")).toBe(200);
  const sql = openPostgres(environment["DATABASE_URL"]!, { log: silentLog });
  later(() => sql.end());
  // As the new version does once it has waited in vain to see this one.
  await sql`
    INSERT INTO migrations_begun (store, version, name, older_go_on) VALUES ('clickhouse', 9000, 'later', false)`;
  expect(await older.exited).toBe(1);
  expect(older.logged()).toEndWith(
    "sluice serve: a newer version has changed the stores; what was captured is kept in the journal: " +
      `${newerRemedy}\n`,
  );
  expect(await counts("unseen")).toEqual({});
  await sql`DELETE FROM migrations_begun WHERE version = 9000`;
  await sql`UPDATE journals SET seen_at = now() - interval '1 hour'`;
  const newer = await startServer(environment, older.dataDir, unborne);
  await rested(newer);
  expect(await counts("unseen")).toEqual({ waiting: 10 });
}, 300_000);

test("embedded stores have no other servers: nothing is waited for", async () => {
  const older = await startServer({}, makeFolder());
  expect(await send(older, "before")).toBe(200);
  await older.end("SIGKILL");
  const newer = await startServer({}, older.dataDir, unborne);
  expect(newer.logged()).not.toContain("older servers");
  await rested(newer);
  expect(await send(newer, "after")).toBe(200);
}, 300_000);
