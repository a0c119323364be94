// Where a backup is written. Both kinds write the manifest last: until then there is no backup.

import { existsSync, readdirSync } from "node:fs";
import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import { backupParts, manifestName, summed, syncTree, writeSummed } from "./backup_files.ts";
import { type WrittenParts } from "./file_list.ts";

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
export class FolderTarget implements BackupTarget {
  readonly folder: string;
  readonly #final: string;

  constructor(final: string) {
    this.#final = final;
    this.folder = final + partialEnding;
  }

  async begin(): Promise<void> {
    if (existsSync(this.#final) && readdirSync(this.#final).length > 0)
      throw new UserError(`${this.#final} is not empty; a backup needs a folder of its own`);
    await this.discard();
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
  }

  async *write(file: string, chunks: AsyncIterable<Uint8Array>): WrittenParts {
    yield [file, await writeSummed(chunks, join(this.folder, file))];
  }

  async *adopt(file: string): WrittenParts {
    yield [file, await summed(join(this.folder, file))];
  }

  async finish(manifest: string): Promise<void> {
    await syncTree(this.folder);
    await writeFile(join(this.folder, manifestName), manifest, { mode: 0o600, flush: true });
    await syncTree(this.folder);
    if (existsSync(this.#final)) await rmdir(this.#final);
    await rename(this.folder, this.#final);
    await syncTree(this.#final);
  }

  async discard(): Promise<void> {
    await removeParts(this.folder);
  }
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
