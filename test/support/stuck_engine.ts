// Ways to make the embedded engine of a server hang.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { later } from "./cleanup.ts";
import type { Server } from "./server.ts";
import { askClickHouse } from "./stores.ts";

/** The process of a server's embedded engine, told apart by its command line. */
export function enginePid({ pid, dataDir }: Pick<Server, "pid" | "dataDir">): number {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8");
      if (parent === pid && command.includes("chdb_server") && command.includes(dataDir)) return Number(name);
    } catch {
      // It has just ended.
    }
  }
  throw new Error(`no engine runs below ${pid}`);
}

/** The address of the embedded engine, with its password. */
export function engineUrl(dataDir: string): string {
  const { clickhouse_url } = JSON.parse(readFileSync(join(dataDir, "connection.json"), "utf8"));
  return clickhouse_url;
}

/**
 * Sends the engine a statement whose time zone is a FIFO that nobody writes to: the engine waits for it, with the lock
 * under which zones are loaded. Resolves when it has been sent.
 */
export async function hangStatement(dataDir: string): Promise<void> {
  const fifo = join(dataDir, `fifo-${crypto.randomUUID()}`);
  Bun.spawnSync(["mkfifo", fifo]);
  // Opened, so that the engine's own open does not wait outside of the lock.
  const leaving = new AbortController();
  later(() => leaving.abort());
  void askClickHouse(
    engineUrl(dataDir),
    {},
    { body: `SELECT toTimeZone(now(), 'file:${fifo}')`, signal: leaving.signal },
  ).catch(() => {});
}
