// When the last backup of a DATA_DIR was made, and when one failed: a file that `sluice backup` writes and the server's
// metrics read.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSummedJson, summedJson } from "../core/json/summed_json.ts";

export type BackupOutcome = "done" | "failed";

/** Keyed by outcome, ms since 1970; empty where nothing was recorded, or it cannot be read. */
export function readBackupOutcomes(dataDir: string): [outcome: BackupOutcome, at: number][] {
  try {
    const read = readSummedJson(readFileSync(outcomesPath(dataDir), "utf8"));
    const outcomes: BackupOutcome[] = ["done", "failed"];
    return outcomes.flatMap((outcome) => {
      const at = read[outcome];
      return typeof at === "number" ? [[outcome, at] as [BackupOutcome, number]] : [];
    });
  } catch {
    return [];
  }
}

/** Never fails: a backup is as good without it, and its failure is reported by itself. */
export function recordBackupOutcome(dataDir: string, outcome: BackupOutcome, at: number): void {
  const path = outcomesPath(dataDir);
  const outcomes = { ...Object.fromEntries(readBackupOutcomes(dataDir)), [outcome]: at };
  try {
    writeFileSync(`${path}.part`, summedJson(outcomes), { mode: 0o600, flush: true });
    renameSync(`${path}.part`, path);
  } catch {
    // A full disk, or one that can only be read.
  }
}

function outcomesPath(dataDir: string): string {
  return join(dataDir, "backups.json");
}
