import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { startEmbeddedPostgres } from "../../../src/storage/embedded/postgres.ts";
import { openPostgres } from "../../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { until } from "../../support/server.ts";
import type { Told, Way } from "../../support/transaction_child.ts";

afterAll(cleanUp);

const child = resolve(import.meta.dir, "../../support/transaction_child.ts");
let url = "";

beforeAll(async () => {
  const store = await startEmbeddedPostgres({ dataDir: makeFolder(), log: silentLog });
  later(() => store.stop());
  url = store.url;
}, startMsMax);

/** Runs a process that loses its backend this way. */
async function run(way: Way): Promise<{ exitCode: number; words: string; told: Told | undefined }> {
  const running = Bun.spawn(["bun", child, url, way], { stdout: "pipe", stderr: "pipe" });
  const [printed, words, exitCode] = await Promise.all([
    running.stdout.text(),
    running.stderr.text(),
    running.exited,
  ]);
  return { exitCode, words, told: printed ? (JSON.parse(printed) as Told) : undefined };
}

const closed = expect.stringMatching(
  /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01|57P02)$/,
) as unknown as string;

for (const [way, when] of [
  ["idle", "between two statements of a transaction"],
  ["busy", "while a statement of a transaction runs"],
  ["savepoint", "inside a savepoint"],
  ["throwing", "before a transaction's body throws"],
  ["killed", "by SIGKILL inside a transaction"],
  ["reserved", "under a reserved connection"],
] as const) {
  test(
    `a process survives a backend that dies ${when}`,
    async () => {
      const { exitCode, words, told } = await run(way);
      expect({ exitCode, words }).toEqual({ exitCode: 0, words: "" });
      expect(told).toEqual({
        rejected: way === "reserved" ? (expect.any(String) as unknown as string) : closed,
        stale: way === "throwing" ? "none" : closed,
        stored: 0,
        answered: 10,
      });
    },
    startMsMax,
  );
}

test(
  "a Postgres is made while that of a process that was killed is still being made, and leaves nothing of it",
  async () => {
    const dataDir = makeFolder();
    const module = resolve(import.meta.dir, "../../../src/storage/embedded/postgres.ts");
    const log = "{ debug() {}, info() {}, warn() {}, error() {} }";
    const text = `const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
      await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log: ${log} });`;
    const killed = Bun.spawn(["bun", "-e", text], { stdout: "ignore", stderr: "ignore" });
    const isBegun = () =>
      readdirSync(dataDir).some(
        (name) => name.startsWith("postgres.") && existsSync(`${dataDir}/${name}/base`),
      );
    await until(() => Promise.resolve(isBegun()));
    killed.kill("SIGKILL");
    await killed.exited;
    const store = await startEmbeddedPostgres({ dataDir, log: silentLog });
    await store.stop();
    const again = await startEmbeddedPostgres({ dataDir, log: silentLog });
    await again.stop();
    expect(readdirSync(dataDir).toSorted()).toEqual(["postgres", "postgres.password"]);
  },
  startMsMax,
);

test(
  "the next files of Postgres's log are made before it starts, and again where they are gone",
  async () => {
    const dataDir = makeFolder();
    const folder = `${dataDir}/postgres/pg_wal`;
    const names = () => readdirSync(folder).filter((name) => /^[0-9A-F]{24}$/.test(name));
    for (let start = 0; start < 2; start++) {
      const store = await startEmbeddedPostgres({ dataDir, log: silentLog });
      expect(names().map((name) => statSync(`${folder}/${name}`).size)).toEqual(
        names().map(() => 4 * 1024 * 1024),
      );
      const sql = openPostgres(store.url, { log: silentLog });
      const [current] = await sql`SELECT pg_walfile_name(pg_current_wal_lsn()) AS file`;
      await sql.end();
      await store.stop();
      expect(names().length).toBeGreaterThanOrEqual(4);
      expect(names().filter((name) => name > current!["file"]).length).toBeGreaterThanOrEqual(2);
      for (const name of names()) if (name > current!["file"]) rmSync(`${folder}/${name}`);
    }
  },
  startMsMax,
);
