// Targets of a backup. Both kinds write the manifest last: until then there is no backup.

import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import {
  backupParts,
  listName,
  manifestName,
  readChunks,
  summed,
  syncTree,
  writeSummed,
} from "./backup_files.ts";
import type { WrittenParts } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import type { SharedFolder } from "./shared_files.ts";

export interface BackupTarget {
  /** A folder of this machine for the list, and for files that others write, until adopt(). */
  readonly folder: string;
  /** @throws UserError when there is anything but an incomplete backup of its own. */
  begin(): Promise<void>;
  write(file: string, chunks: AsyncIterable<Uint8Array>): WrittenParts;
  /** Writes a file of this machine, which an incremental backup shares with others. */
  copy(file: string, from: string): WrittenParts;
  /** Bytes of shared files that earlier backups have written. */
  readonly reusedBytes: number;
  /** Makes a file of `folder` the backup's. */
  adopt(file: string): WrittenParts;
  /** Writes the list, and then the manifest. */
  finish(manifest: string): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

/**
 * A folder under another name, which is renamed when all is durable.
 * @param shared of an incremental backup.
 */
export function folderTarget(final: string, shared?: SharedFolder): BackupTarget {
  const folder = final + partialEnding;
  const write = async function* (file: string, chunks: AsyncIterable<Uint8Array>): WrittenParts {
    yield [file, await writeSummed(chunks, join(folder, file))];
  };
  return {
    folder,
    begin: async () => {
      if (existsSync(final) && readdirSync(final).length > 0)
        throw new UserError(`${final} is not empty; a backup needs a folder of its own`);
      await removeParts(folder);
      await mkdir(folder, { recursive: true, mode: 0o700 });
    },
    write,
    copy: async function* (file, from) {
      if (shared) yield [file, await shared.add(from)];
      else yield* write(file, readChunks(from));
    },
    get reusedBytes() {
      return shared?.reusedBytes ?? 0;
    },
    adopt: async function* (file) {
      yield [file, await summed(join(folder, file))];
    },
    finish: async (manifest) => {
      if (shared && statSync(join(folder, listName)).size > backupLimits.listBytesMax)
        throw new UserError("there are more files than an incremental backup can have; make a full one");
      await shared?.sync();
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
