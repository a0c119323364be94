// When the last backup of a DATA_DIR was made, and when one failed: a file that `sluice backup` writes and the server's
// metrics read.

import { chownSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSummedJson, summedJson } from "../core/json/summed_json.ts";

export type BackupOutcome = "done" | "failed";

/** By outcome, ms since 1970; empty where nothing was recorded, or it cannot be read. */
export function readBackupOutcomes(dataDir: string): Partial<Record<BackupOutcome, number>> {
  try {
    const { done, failed } = readSummedJson(readFileSync(outcomesPath(dataDir), "utf8"));
    return { ...(typeof done === "number" && { done }), ...(typeof failed === "number" && { failed }) };
  } catch {
    return {};
  }
}

/** Never fails: a backup is as good without it, and its failure is reported by itself. */
export function recordBackupOutcome(dataDir: string, outcome: BackupOutcome, at: number): void {
  const path = outcomesPath(dataDir);
  const outcomes = { ...readBackupOutcomes(dataDir), [outcome]: at };
  try {
    writeFileSync(`${path}.part`, summedJson(outcomes), { mode: 0o600, flush: true });
    // An operator may run it as root, beside a server that is another user's.
    const { uid, gid } = statSync(dataDir);
    if (process.getuid?.() === 0) chownSync(`${path}.part`, uid, gid);
    renameSync(`${path}.part`, path);
  } catch {
    // A full disk, or one that can only be read.
  }
}

function outcomesPath(dataDir: string): string {
  return join(dataDir, "backups.json");
}
