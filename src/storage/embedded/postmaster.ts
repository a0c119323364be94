// The postmaster.pid of an embedded Postgres: who runs, since when, whether it is ready. The file is left where it is:
// Postgres tells from it whether processes of an earlier life still hold shared memory.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";

export interface Postmaster {
  /** The whole file: it differs from one life to the next. */
  text: string;
  pid: number;
  ready: boolean;
}

/** What the file says; undefined when there is none, or it is being written. */
export function readPostmaster(data: string): Postmaster | undefined {
  try {
    const text = readFileSync(join(data, "postmaster.pid"), "utf8");
    const lines = text.split("\n");
    const pid = Number(lines[0]);
    if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
    return { text, pid, ready: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

/** Stops a Postgres that an earlier owner of this folder left running, and waits until it is gone. */
export async function endLeftover(data: string, log: Log): Promise<void> {
  const { pid } = readPostmaster(data) ?? {};
  if (pid === undefined || !runsOn(pid, data)) return;
  log.warn("an embedded Postgres of an earlier life still runs and is stopped", { pid });
  const signals = ["SIGINT", "SIGQUIT", "SIGKILL"] as const;
  const patienceMs = limits.childStopMsMax / signals.length;
  for (const signal of signals) {
    send(pid, signal);
    for (let waited = 0; waited < patienceMs; waited += lookAgainMs) {
      if (!runsOn(pid, data)) return;
      await Bun.sleep(lookAgainMs);
    }
  }
}

/** At once, without writing anything; its log of changes brings everything back. */
export function killPostmaster(data: string): void {
  const { pid } = readPostmaster(data) ?? {};
  if (pid !== undefined && runsOn(pid, data)) send(pid, "SIGQUIT");
}

const lookAgainMs = 20;

/**
 * What is put before the command of Postgres so that it passes by a process that only looks like an earlier
 * postmaster. Postgres refuses to start while the process id in its lock file is alive and of its own user, and in a
 * container a new life hands out the same ids again: to threads of this server, or to a zombie. The lock of DATA_DIR
 * proves that no other server is there, and `endLeftover` that the id is no Postgres on this folder. An id in
 * PG_GRANDPARENT_PID is taken for one of those that started Postgres; whether shared memory of the earlier
 * life is still in use is checked all the same.
 */
export function passStrangerBy(data: string): string[] {
  const { pid } = readPostmaster(data) ?? {};
  if (pid === undefined || runsOn(pid, data)) return [];
  return ["env", `PG_GRANDPARENT_PID=${pid}`];
}

/** Process ids are used again: only a Postgres whose command line names this folder is ours. */
function runsOn(pid: number, data: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return commandOf(pid).includes(` -D ${data} `);
}

function commandOf(pid: number): string {
  if (process.platform !== "linux") {
    return Bun.spawnSync(["ps", "-o", "command=", "-p", String(pid)]).stdout.toString();
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended.
  }
}
