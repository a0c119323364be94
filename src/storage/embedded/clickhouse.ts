// The owner's side of the embedded ClickHouse: a child process with an address.

import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../../core/fault.ts";
import { randomBase62 } from "../../core/id.ts";
import { type Log } from "../../core/log.ts";
import { memoryHere } from "../../core/machine.ts";
import { storageLimits } from "../limits.ts";
import { type Child, type ChildPlan, startChild } from "./child.ts";
import { embeddedLimits } from "./limits.ts";

export interface EmbeddedStore extends Child {
  /** URL as in CLICKHOUSE_URL or DATABASE_URL, with the password. It does not change when the child restarts. */
  url: string;
}

export interface EmbeddedOptions {
  dataDir: string;
  /**
   * Whether the start fails when the store does not start; otherwise it is retried in the background. True by default.
   */
  insist?: boolean;
  log: Log;
}

/** Starts ClickHouse on DATA_DIR/clickhouse. @throws UserError when it does not start. */
export async function startEmbeddedClickHouse({ dataDir, log }: EmbeddedOptions): Promise<EmbeddedStore> {
  const folder = resolve(dataDir);
  // The engine reads these characters as patterns in file names, and then finds no rows instead of failing.
  if (/[*?{}]/.test(folder))
    throw new UserError(
      `DATA_DIR ${folder} must not contain any of * ? { }: DATA_DIR=NEW bun run sluice serve`,
    );
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Parts that a killed backup has frozen use the disk space of parts that were removed.
  rmSync(join(folder, "clickhouse", "shadow"), { recursive: true, force: true });
  const password = randomBase62(32);
  let port = 0;
  const plan: ChildPlan = {
    name: "the embedded ClickHouse",
    command: () => chdbServerCommand(["--data-dir", folder, "--port", String(port)]),
    env: chdbServerEnv(),
    cwd: folder,
    firstLine: password,
    ready: async (_child, lines) => {
      const line = await lines.next();
      // The child died; its exit is reported elsewhere.
      if (line.done) return new Promise<never>(() => {});
      const { port: printed }: { port?: unknown } = JSON.parse(line.value);
      if (typeof printed !== "number") throw new Error("the embedded ClickHouse did not print its port");
      port = printed;
    },
    isBusy: (reason) => reason.includes("Cannot lock file"),
    kill: () => {},
    log,
  };
  const child = await startChild(plan);
  return Object.assign(child, { url: `http://default:${password}@127.0.0.1:${port}/sluice` });
}

const serverEntry = fileURLToPath(new URL("../chdb_server/server.ts", import.meta.url));

/** How the server is started: without configuration, caches or packages of the user's home folder. */
export function chdbServerCommand(args: string[], entry: string = serverEntry): string[] {
  const flags = ["--smol", "--no-install", "--no-env-file", "--max-http-header-size=1048576"];
  return [process.execPath, ...flags, entry, ...args];
}

const { freeMemoryMs, freeMemoryLargeMs, largeMachineBytesMin } = embeddedLimits;

/**
 * Each running statement holds one thread of the pool; some are left for kills and files. By default the engine's
 * allocator returns large blocks to the system at once, so that each insert faults its memory in again: here it keeps
 * free memory for a while, and then returns it at once.
 */
export const chdbServerEnv = (memoryBytes = memoryHere()): Record<string, string> => ({
  PATH: "/usr/local/bin:/usr/bin:/bin",
  TZ: "UTC",
  UV_THREADPOOL_SIZE: String(storageLimits.engineStatementsMax + 8),
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
  JE_MALLOC_CONF:
    `oversize_threshold:0,dirty_decay_ms:${memoryBytes < largeMachineBytesMin ? freeMemoryMs : freeMemoryLargeMs},` +
    "muzzy_decay_ms:0,background_thread:true",
});
