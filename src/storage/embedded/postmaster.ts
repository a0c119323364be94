// The postmaster.pid of an embedded Postgres: which process runs, since when, whether it is ready. The file is not
// deleted: Postgres reads in it whether earlier processes still hold shared memory.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";

/**
 * The content of the file, whose text differs with each start; undefined when there is none, or it is being written.
 */
export function readPostmaster(data: string) {
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

/** Stops a Postgres that an earlier owner of this folder left running, and waits until it has ended. */
export async function stopStalePostmaster(data: string, log: Log): Promise<void> {
  const { pid } = readPostmaster(data) ?? {};
  if (pid === undefined || !runsOn(pid, data)) return;
  log.warn("the embedded Postgres of the previous server still runs; stopping it", { pid });
  const signals = ["SIGINT", "SIGQUIT", "SIGKILL"] as const;
  const patienceMs = limits.childStopMsMax / signals.length;
  for (const signal of signals) {
    send(pid, signal);
    for (let waited = 0; waited < patienceMs; waited += lookAgainMs) {
      if (!runsOn(pid, data)) return;
      await sleep(lookAgainMs);
    }
  }
}

/** Kills it; Postgres recovers from its write-ahead log. */
export function killPostmaster(data: string): void {
  const { pid } = readPostmaster(data) ?? {};
  if (pid !== undefined && runsOn(pid, data)) send(pid, "SIGQUIT");
}

const lookAgainMs = 20;

/**
 * A prefix of the command with which Postgres ignores a process that only looks like an earlier postmaster. Postgres
 * refuses to start while the process id in its lock file exists and belongs to its user, and in a container a new start
 * reuses ids for threads of this server or for zombies. The lock of DATA_DIR proves that there is no other server, and
 * `stopStalePostmaster` that the id is not a Postgres on this folder. An id in PG_GRANDPARENT_PID counts as an
 * ancestor of Postgres; whether shared memory is still in use is checked all the same.
 */
export function ignoreForeignPid(data: string): string[] {
  const { pid } = readPostmaster(data) ?? {};
  if (pid === undefined || runsOn(pid, data)) return [];
  return ["env", `PG_GRANDPARENT_PID=${pid}`];
}

/** Process ids are reused: only a Postgres whose command line names this folder is ours. */
function runsOn(pid: number, data: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return readCommand(pid).includes(` -D ${data} `);
}

function readCommand(pid: number): string {
  if (process.platform !== "linux")
    return Bun.spawnSync(["/bin/ps", "-o", "command=", "-p", String(pid)]).stdout.toString();
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
    // The process has just ended.
  }
}
