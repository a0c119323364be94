// Durable files: written under another name, synced, renamed, so that no half-written file has the final name.

import { dirname } from "node:path";
import { codeOf } from "../../../core/log.ts";
import type { JournalFile, JournalIo } from "../journal_io.ts";

/** Makes a folder's entries durable: new, renamed and removed files. */
export async function syncFolder(io: JournalIo, folder: string): Promise<void> {
  const handle = await io.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces the file at `path`, whole or not at all; durable when it resolves. */
export async function writeDurably(io: JournalIo, path: string, content: string | Uint8Array): Promise<void> {
  const aside = `${path}.part`;
  const handle = await io.open(aside, "w");
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await io.renameSoon(aside, path);
  await syncFolder(io, dirname(path));
}

/** writeDurably() for the start, when no request waits. */
export function writeDurablyNow(io: JournalIo, path: string, content: string | Uint8Array): void {
  io.write(`${path}.part`, content);
  io.rename(`${path}.part`, path);
  io.sync(dirname(path));
}

/** Whether a write failed because the disk, or the user's quota, is full. */
export function isFull(thrown: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(codeOf(thrown));
}

/** Opens a segment's file under its name, with its head if it has one: a new file, or the recycled one `spare`. */
export async function openSegmentFile(
  io: JournalIo,
  path: string,
  head: Uint8Array | undefined,
  spare: string | undefined,
): Promise<JournalFile> {
  const file = await (spare === undefined ? io.open(path, "wx") : io.open(spare, "r+"));
  try {
    if (head) await writeWhole(file, head, 0);
    if (spare !== undefined) {
      // Under its new name the file must not begin with the old head.
      if (head) await file.datasync();
      await io.renameSoon(spare, path);
    }
    return file;
  } catch (thrown) {
    await file.close().catch(() => {});
    await io.removeSoon(spare ?? path).catch(() => {});
    throw thrown;
  }
}

/** Writes all bytes; short writes are normal. */
export async function writeWhole(file: JournalFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten <= 0) throw new Error("the disk took no more bytes");
    done += bytesWritten;
  }
}

/** Fills `into`; short reads are normal. @throws when the file ends before. */
export async function readWhole(file: JournalFile, into: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < into.length;) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) throw new Error("a segment ends early");
    done += bytesRead;
  }
}
