import { afterAll, beforeAll, expect, test } from "bun:test";
import { resolve } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { startEmbeddedPostgres } from "../../../src/storage/embedded/postgres.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
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
