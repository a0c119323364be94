// The manifest of a backup: the program's version, the time, and the tables. It is written last, so that a folder
// without one is no backup.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import { readSummedJson, summedJson } from "../../core/json/summed_json.ts";
import { reasonOf } from "../../core/log.ts";
import { type AppliedMigration, filesOfMigrations } from "../../storage/migrate.ts";
import { manifestName } from "./backup_files.ts";
import { type FileTotals } from "./file_list.ts";
import { backupLimits } from "./limits.ts";

/** The format of the folder. A release that changes it raises this. */
const backupFormat = 1;

export interface Manifest {
  version: string;
  /** ISO 8601: events acknowledged before it are in the backup. */
  begun_at: string;
  postgres: AppliedMigration[];
  clickhouse: AppliedMigration[];
  /** The sequences of Postgres, and their last values. */
  sequences: Record<string, string>;
  files: FileTotals;
}

export function backupManifestText(manifest: Manifest): string {
  return `${summedJson({ format: backupFormat, ...manifest })}\n`;
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

/**
 * @param source the backup's folder or address, for messages.
 * @throws UserError when it is damaged, or of another version.
 */
export function parseManifest(text: string, source: string, version: string): Manifest {
  let read: Record<string, unknown>;
  try {
    read = readSummedJson(text);
  } catch (thrown) {
    throw new UserError(`${source}/${manifestName} is damaged: ${reasonOf(thrown)}`);
  }
  const { format, ...manifest } = read;
  if (format !== backupFormat) {
    throw new UserError(`${source} is a backup of format ${String(format)}, which this program cannot read`);
  }
  const found = manifest as unknown as Manifest;
  if (Bun.semver.order(found.version, version) > 0) {
    throw new UserError(
      `${source} was made by version ${found.version}, newer than this program (${version}); run that one`,
    );
  }
  for (const store of ["postgres", "clickhouse"] as const) filesOfMigrations(store, found[store]);
  return found;
}
