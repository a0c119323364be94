// Targets of a backup. Both kinds write the manifest last: until then there is no backup.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import { readSummedJson, summedJson } from "../../core/json/summed_json.ts";
import { toReason } from "../../core/log.ts";
import { type AppliedMigration, readBackupVersion, storeNames } from "../../storage/migrations/files.ts";
import { backupParts, manifestName, summed, syncTree, writeSummed } from "./backup_files.ts";
import type { FileTotals, WrittenParts } from "./file_list.ts";
import { backupLimits } from "./limits.ts";

export interface BackupTarget {
  /** A folder of this machine for the list, and for files that others write, until adopt(). */
  readonly folder: string;
  /** @throws UserError when there is anything but an incomplete backup of its own. */
  begin(): Promise<void>;
  write(file: string, chunks: AsyncIterable<Uint8Array>): WrittenParts;
  /** Makes a file of `folder` the backup's. */
  adopt(file: string): WrittenParts;
  /** Writes the list, and then the manifest. */
  finish(manifest: string): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

/** A folder under another name, which is renamed when all is durable. */
export function folderTarget(final: string): BackupTarget {
  const folder = final + partialEnding;
  return {
    folder,
    begin: async () => {
      if (existsSync(final) && readdirSync(final).length > 0)
        throw new UserError(`${final} is not empty; a backup needs a folder of its own`);
      await removeParts(folder);
      await mkdir(folder, { recursive: true, mode: 0o700 });
    },
    write: async function* (file, chunks) {
      yield [file, await writeSummed(chunks, join(folder, file))];
    },
    adopt: async function* (file) {
      yield [file, await summed(join(folder, file))];
    },
    finish: async (manifest) => {
      await syncTree(folder);
      await writeFile(join(folder, manifestName), manifest, { mode: 0o600, flush: true });
      await syncTree(folder);
      if (existsSync(final)) await rmdir(final);
      await rename(folder, final);
      await syncTree(final);
    },
    discard: () => removeParts(folder),
  };
}

/** The ending of a folder's name while the backup is incomplete. */
export const partialEnding = ".partial";

/** Removes a backup's files, and the folder if nothing else is in it. */
export async function removeParts(folder: string): Promise<void> {
  for (const part of backupParts) await rm(join(folder, part), { recursive: true, force: true });
  await rmdir(folder).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "ENOENT" && thrown.code !== "ENOTEMPTY") throw thrown;
  });
}

/** The format of the folder. A release that changes it raises this. */
const backupFormat = 1;

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
    throw new UserError(`${source}/${manifestName} is damaged: ${toReason(thrown)}`);
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
  for (const store of storeNames) readBackupVersion(store, found[store]);
  return found;
}
