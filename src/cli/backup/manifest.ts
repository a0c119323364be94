// The manifest of a backup, which is written last, and the check of all files before a restore.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import { readSummedJson, summedJson } from "../../core/json/summed_json.ts";
import { toReason } from "../../core/log.ts";
import { type AppliedMigration, readBackupVersion, storeNames } from "../../storage/migrations/files.ts";
import { manifestName, summed } from "./backup_files.ts";
import { checkList, type FileTotals, listedFiles } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import { findFile, isSharedName } from "./shared_files.ts";

/** The formats of the folder: a full backup's, and an incremental one's. A release that changes them raises these. */
const formats = { full: 1, incremental: 2 };

/** Is written last, so that a folder without one is no backup. */
export interface Manifest {
  version: string;
  /** ISO 8601: events acknowledged before it are in the backup. */
  begun_at: string;
  postgres: AppliedMigration[];
  clickhouse: AppliedMigration[];
  /** The sequences of Postgres, and their last values. */
  sequences: Record<string, string>;
  files: FileTotals;
  /** The folder, beside the backup's, of the files that it shares; undefined: it has all its files. */
  shared?: string;
}

export function backupManifestText(manifest: Manifest): string {
  const format = manifest.shared === undefined ? formats.full : formats.incremental;
  return `${summedJson({ format, ...manifest })}\n`;
}

/** @throws UserError when the folder is no backup, is damaged, or is of another version. */
export function readManifest(folder: string, version: string): Manifest {
  const path = join(folder, manifestName);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) throw noBackup(folder, existsSync(folder));
  if (!stat.isFile() || stat.size > backupLimits.manifestBytesMax)
    throw new UserError(
      `${path} is damaged: it is no file of at most ${backupLimits.manifestBytesMax} bytes`,
    );
  return parseManifest(readFileSync(path, "utf8"), folder, version);
}

/** @param isThere whether the folder has other files. */
export function noBackup(source: string, isThere: boolean): UserError {
  const why = ", which is written last; a backup that was cut short cannot be restored";
  return new UserError(`${source} is no backup: it has no ${manifestName}${isThere ? why : ""}`);
}

/** @throws UserError when it is damaged, or cannot be restored by this version. */
export function parseManifest(text: string, source: string, version: string): Manifest {
  const found = parseAnyManifest(text, source);
  if (Bun.semver.order(found.version, version) > 0) {
    throw new UserError(
      `${source} was made by version ${found.version}, newer than this program (${version}); run that one`,
    );
  }
  for (const store of storeNames) readBackupVersion(store, found[store]);
  return found;
}

/**
 * The manifest of a backup that may be another version's.
 * @param source the backup's folder or address, for messages.
 * @throws UserError when it is damaged, or of another format.
 */
export function parseAnyManifest(text: string, source: string): Manifest {
  let read: Record<string, unknown>;
  try {
    read = readSummedJson(text);
  } catch (thrown) {
    throw new UserError(`${source}/${manifestName} is damaged: ${toReason(thrown)}`);
  }
  const { format, ...manifest } = read;
  const { shared } = manifest;
  const isKnown = shared === undefined ? format === formats.full : format === formats.incremental;
  if (!isKnown || (shared !== undefined && !isSharedName(shared))) {
    throw new UserError(`${source} is a backup of format ${String(format)}, which this program cannot read`);
  }
  return manifest as unknown as Manifest;
}

/** @throws UserError that names the first file that is missing or damaged. */
export async function checkFiles(
  folder: string,
  { files, shared }: Pick<Manifest, "files" | "shared">,
): Promise<void> {
  await checkList(folder, files);
  for await (const named of listedFiles(folder)) {
    const { path, sum } = named;
    const found = await summed(findFile(folder, named, shared)).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") throw new UserError(`${folder} is damaged: ${path} is missing`);
      throw new UserError(`${folder} cannot be read: ${path}: ${thrown.message}`);
    });
    if (found.sum !== sum) throw new UserError(`${folder} is damaged: ${path} is not as it was written`);
  }
}
