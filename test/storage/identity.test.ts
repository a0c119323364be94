// Stores that do not belong together, in whole servers: refused before anything is written to them.

import { beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { readJournalIdentity } from "../../src/capture/journal/identity/journal_identity.ts";
import { openClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { readClickHouseIds, readPostgresId } from "../../src/storage/identity.ts";
import { findContradiction } from "../../src/storage/identity_traces.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { type Lender, openLender } from "../support/remote.ts";
import {
  type Environment,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  startServer,
  storesOf,
} from "../support/server.ts";
import { startFront } from "../support/stores.ts";
import { waitingIn } from "../support/workers.ts";

cleanUpEach();

let lender: Lender;
beforeAll(async () => {
  lender = await openLender();
});

/** Longer than any test: what is captured stays in the journal. */
const never = { FLUSH_INTERVAL_MS: "3600000" };

async function send(server: Server, event: string, count = 1): Promise<void> {
  const batch = Array.from({ length: count }, (_, i) => ({ event, distinct_id: `d${i}` }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
}

/** Starts a server, captures so many events, and ends it; resolves to its folder. */
async function used(environment: Environment = {}, count = 3, folder?: string): Promise<string> {
  const server = await startServer(environment, folder);
  await send(server, "earlier", count);
  await rested(server);
  expect(await server.end("SIGTERM")).toBe(0);
  return server.dataDir;
}

/** The one line of a start that is refused; doctor says the same, with exit code 1. */
async function refusal(environment: Environment, dataDir: string): Promise<string> {
  const settings = { PORT: "0", DATA_DIR: dataDir, LOG_LEVEL: "error", ...environment };
  const { exitCode, stdout, stderr } = await runSluice(["serve"], settings);
  expect([exitCode, stdout]).toEqual([1, ""]);
  const [line = "", ...more] = stderr.trim().split("\n");
  expect(more).toEqual([]);
  expect(line).toContain("bun run sluice journal adopt");
  const doctor = await runSluice(["doctor", "--json"], { ...settings, PORT: "1" });
  expect(doctor.exitCode).toBe(1);
  const found = doctor.stdout.trim().split("\n");
  const texts = found.map((one) => (JSON.parse(one) as { text: string }).text);
  expect(texts).toContain(line.slice("sluice serve: ".length));
  return line;
}

async function adopt(environment: Environment, dataDir: string): Promise<void> {
  const ran = await runSluice(["journal", "adopt"], { ...environment, DATA_DIR: dataDir });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
}

async function countIn(url: string, event: string): Promise<number> {
  const clickhouse = openClickHouse(url);
  const text = "SELECT count() AS n FROM events WHERE event = {event:String}";
  const [row] = await clickhouse.query<{ n: string }>(text, { event });
  await clickhouse.close();
  return Number(row?.n);
}

/** Takes the id away, as in the stores of a version that had none. */
async function forgetId(folder: string): Promise<void> {
  const server = await startServer({}, folder);
  await (await storesOf(server)).clickhouse.command("DROP TABLE store_identity SYNC");
  expect(await server.end("SIGTERM")).toBe(0);
}

describe("an embedded store that is gone", () => {
  test("is not made again: ClickHouse, its volume not mounted, until it is confirmed", async () => {
    const dataDir = await used();
    renameSync(`${dataDir}/clickhouse`, `${dataDir}/kept`);
    expect(await refusal({}, dataDir)).toContain(`${dataDir}/clickhouse is missing`);
    expect(existsSync(`${dataDir}/clickhouse`)).toBe(false);
    mkdirSync(`${dataDir}/clickhouse`);
    await refusal({}, dataDir);
    expect(readdirSync(`${dataDir}/clickhouse`)).toEqual([]);
    cpSync(dataDir, `${dataDir}-confirmed`, { recursive: true });
    await adopt({}, `${dataDir}-confirmed`);
    await used({}, 1, `${dataDir}-confirmed`);
    renameSync(`${dataDir}/kept`, `${dataDir}/clickhouse`);
    const server = await startServer({}, dataDir);
    const { clickhouse } = await storesOf(server);
    expect(await clickhouse.query("SELECT count() AS n FROM events")).toEqual([{ n: "3" }]);
  });

  test("ends the start before a capture is answered: Postgres, and what waits is stored once it is back", async () => {
    const backup = `${makeFolder()}/backup`;
    const dataDir = await used({}, 2);
    expect(await runSluice(["backup", backup], { DATA_DIR: dataDir })).toMatchObject({ exitCode: 0 });
    const server = await startServer(never, dataDir);
    await send(server, "waiting", 7);
    await server.end("SIGKILL");
    renameSync(`${dataDir}/postgres`, `${dataDir}/kept`);
    expect(await refusal({}, dataDir)).toContain(`${dataDir}/postgres is missing`);
    expect(existsSync(`${dataDir}/postgres`)).toBe(false);
    // As the line says: restored, with this journal.
    const restored = `${makeFolder()}/restored`;
    expect(await runSluice(["restore", backup], { DATA_DIR: restored })).toMatchObject({ exitCode: 0 });
    renameSync(`${restored}/journal`, `${restored}/journal.before`);
    cpSync(`${dataDir}/journal`, `${restored}/journal`, { recursive: true });
    renameSync(`${dataDir}/kept`, `${dataDir}/postgres`);
    for (const folder of [restored, dataDir]) {
      const again = await startServer({}, folder);
      await rested(again);
      const { clickhouse } = await storesOf(again);
      expect(await clickhouse.query("SELECT count() AS n FROM events")).toEqual([{ n: "9" }]);
      expect(await again.end("SIGTERM")).toBe(0);
    }
  });
});

describe("a folder without an id", () => {
  test("gets it at its next start, with events and without", async () => {
    for (const dataDir of [await used(), (await emptied()).dataDir]) {
      await forgetId(dataDir);
      const server = await startServer({}, dataDir);
      const { sql, clickhouse } = await storesOf(server);
      expect(await readClickHouseIds(clickhouse)).toEqual([(await readPostgresId(sql))!]);
    }
  });

  test("is refused with a ClickHouse that has none of its events", async () => {
    const [dataDir, other] = [await used(), (await emptied()).dataDir];
    for (const folder of [dataDir, other]) await forgetId(folder);
    renameSync(`${dataDir}/clickhouse`, `${dataDir}/kept`);
    renameSync(`${other}/clickhouse`, `${dataDir}/clickhouse`);
    expect(await refusal({}, dataDir)).toContain("has no events, and there were some");
  });

  async function emptied(): Promise<Server> {
    const server = await startServer();
    expect(await server.end("SIGTERM")).toBe(0);
    return server;
  }

  test("is one whose rows and numbers speak against it only if they are of another Postgres", () => {
    const traces = { projects: 2, journals: 3, made: 1e9, hasMerges: false };
    const rows = { count: 5, projects: 2, journals: 3, first: 1e9 };
    expect(findContradiction(traces, rows)).toBeUndefined();
    expect(findContradiction({ ...traces, projects: 0 }, undefined)).toBeUndefined();
    expect(findContradiction(traces, { ...rows, count: 0 })).toBeUndefined();
    const wrong = [
      findContradiction(traces, undefined),
      findContradiction({ ...traces, hasMerges: true }, { ...rows, count: 0 }),
      findContradiction(traces, { ...rows, count: 0 }, { hasSent: true }),
      findContradiction(traces, { ...rows, projects: 3 }),
      findContradiction(traces, { ...rows, journals: 4 }),
      findContradiction(traces, { ...rows, first: 1e9 - 100_000 }),
      findContradiction({ ...traces, projects: 0, journals: 0 }, rows),
    ];
    expect(wrong.filter((problem) => problem === undefined)).toEqual([]);
    // A batch has the remainder of its journal's number.
    expect(findContradiction({ ...traces, journals: 5000 }, { ...rows, journals: 4095 })).toBeUndefined();
  });
});

describe("own stores", () => {
  test("are refused, with nothing written, where one letter of an address is wrong", async () => {
    const [home, away] = [await lender.lend("letter_d"), await lender.lend("letter_e")];
    const dataDir = await used(home);
    const { clickhouse, sql } = lender.stores;
    const databases = async () =>
      (await clickhouse.query<{ name: string }>("SELECT name FROM system.databases")).map(({ name }) => name);
    const before = await databases();
    const wrongClickHouse = { ...home, CLICKHOUSE_URL: away["CLICKHOUSE_URL"]! };
    expect(await refusal(wrongClickHouse, dataDir)).toContain("letter_e does not belong to this Postgres");
    expect(await databases()).toEqual(before);
    // A folder without a journal knows neither.
    for (const folder of [dataDir, makeFolder()]) {
      await refusal({ ...home, DATABASE_URL: away["DATABASE_URL"]! }, folder);
    }
    const others = await used(away);
    expect(await refusal(wrongClickHouse, dataDir)).toContain("letter_e does not belong to this Postgres");
    await refusal({ ...home, DATABASE_URL: away["DATABASE_URL"]! }, dataDir);
    await refusal(away, dataDir);
    const [made] = await sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = 'letter_d' AND state = 'active'`;
    expect(made?.n).toBe(0);
    await used(home, 1, dataDir);
    await used(away, 1, others);
    expect(await countIn(home["CLICKHOUSE_URL"]!, "earlier")).toBe(4);
    expect(await countIn(away["CLICKHOUSE_URL"]!, "earlier")).toBe(4);
  });

  test("that were away and come back as others end the server, whose journal keeps all", async () => {
    const [home, away] = [await lender.lend("returning"), await lender.lend("returning_as")];
    await used(away);
    const [own, others] = [makeFolder(), makeFolder()];
    let front = await startFront(own);
    const remote = { ...home, CLICKHOUSE_URL: front.url };
    const dataDir = await used(remote);
    await front.end();
    // Others' ClickHouse, with tables of its own.
    const other = await startFront(others);
    await used({ ...(await lender.lend("returning_others")), CLICKHOUSE_URL: other.url });
    await other.end();
    const server = await startServer(remote, dataDir);
    await send(server, "kept", 5);
    const wrong = await startFront(others, front.port);
    expect(await server.exited).toBe(1);
    expect(server.logged()).toContain("does not belong to this Postgres");
    expect(await countIn(wrong.url, "kept")).toBe(0);
    expect(waitingIn(`${dataDir}/journal`).length).toBeGreaterThan(0);
    await refusal(remote, dataDir);
    await wrong.end();
    front = await startFront(own, front.port);
    const again = await startServer(remote, dataDir);
    await rested(again);
    expect(await countIn(front.url, "kept")).toBe(5);

    // The same while it runs, and without an event under way.
    await front.end();
    const swapped = await startFront(others, front.port);
    await send(again, "kept", 2);
    expect(await again.exited).toBe(1);
    expect(again.logged()).toContain("does not belong to this Postgres");
    expect(await countIn(swapped.url, "kept")).toBe(0);
    await swapped.end();
    front = await startFront(own, front.port);
    const last = await startServer(remote, dataDir);
    await rested(last);
    expect(await countIn(front.url, "kept")).toBe(7);
  });

  test("are confirmed by one command, and then belong together", async () => {
    const [home, away] = [await lender.lend("confirmed"), await lender.lend("confirmed_as")];
    const dataDir = await used(home);
    const changed = { ...home, CLICKHOUSE_URL: away["CLICKHOUSE_URL"]! };
    await refusal(changed, dataDir);
    await adopt(changed, dataDir);
    await used(changed, 2, dataDir);
    expect(await countIn(changed.CLICKHOUSE_URL, "earlier")).toBe(2);
  });
});

test("a backup that is restored twice runs beside its original, with one id, and is not called a copy that may be damaged", async () => {
  const original = await startServer();
  await send(original, "kept", 4);
  await rested(original);
  const backup = `${makeFolder()}/backup`;
  expect(await runSluice(["backup", backup], { DATA_DIR: original.dataDir })).toMatchObject({ exitCode: 0 });
  const { database } = readJournalIdentity(`${original.dataDir}/journal`)!;
  for (const name of ["one", "two"]) {
    const DATA_DIR = `${makeFolder()}/${name}`;
    expect(await runSluice(["restore", backup], { DATA_DIR })).toMatchObject({ exitCode: 0, stderr: "" });
    const restored = await startServer({}, DATA_DIR);
    await send(restored, "kept");
    await rested(restored);
    const { sql, clickhouse } = await storesOf(restored);
    expect(await clickhouse.query("SELECT count() AS n FROM events")).toEqual([{ n: "5" }]);
    expect([await readPostgresId(sql), ...(await readClickHouseIds(clickhouse))]).toEqual([
      database,
      database,
    ]);
    expect(restored.logged()).not.toMatch(/damaged|is a copy|no key opens/);
  }
});
