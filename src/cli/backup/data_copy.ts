// A copy of what a DATA_DIR has beside its stores: journals, refused rows and the key.

import { existsSync, lstatSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { captureSetup } from "../../capture/capture_journal.ts";
import { copyJournal } from "../../capture/journal/journal_copy.ts";
import { leftBehind } from "../../capture/workers/worker_pool.ts";
import { copyFile } from "./backup_files.ts";
import { backupLimits } from "./limits.ts";

/**
 * Refused rows are copied before the journals, to which they may return, and after
 * them, since rows may have come from there.
 */
export async function copyData(dataDir: string, target: string): Promise<void> {
  await copyNew(dataDir, target, "quarantine");
  for (const ownDir of [dataDir, ...leftBehind(dataDir, 1)]) {
    const folder = join(ownDir, "journal");
    if (!existsSync(folder)) continue;
    await copyJournal({
      setup: captureSetup,
      folder,
      target: join(target, relative(dataDir, folder)),
      copy: copyFile,
      attemptsMax: backupLimits.segmentCopiesMax,
    });
  }
  await copyNew(dataDir, target, "quarantine");
  await copyNew(dataDir, target, "secret.key");
}

/** Copies a file, or those of a folder, except those copied before and those removed meanwhile. */
async function copyNew(dataDir: string, target: string, name: string): Promise<void> {
  const from = join(dataDir, name);
  const isFolder = lstatSync(from, { throwIfNoEntry: false })?.isDirectory();
  const names = isFolder ? readdirSync(from).map((text) => join(name, text)) : existsSync(from) ? [name] : [];
  for (const text of names) {
    const to = join(target, text);
    if (existsSync(to) || text.endsWith(".part")) continue;
    await copyFile(join(dataDir, text), to).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== "ENOENT") throw thrown;
      await rm(to, { force: true });
    });
  }
}
