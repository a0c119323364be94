// A journal's access to its machine: files, chance, and which boot of the system this is. It is handed to every part of
// a journal, so that a simulated machine can stand in for the real one.

import fs from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { toCode } from "../../core/log.ts";
import { bootId } from "../../core/machine.ts";

/** An open file. Writes and reads may be short. */
export interface JournalFile extends Pick<
  FileHandle,
  "fd" | "writeFile" | "sync" | "datasync" | "truncate" | "close"
> {
  stat(): Promise<{ size: number }>;
  write(bytes: Uint8Array, from?: number, length?: number, at?: number): Promise<{ bytesWritten: number }>;
  writev(chunks: Uint8Array[], at: number): Promise<{ bytesWritten: number }>;
  read(into: Uint8Array, from: number, length: number, at: number): Promise<{ bytesRead: number }>;
}

/**
 * Types of file systems, as statfs(2) numbers them, that write a page in place once it has its space: ext2 to ext4,
 * XFS, tmpfs. One that needs new space for every write would end the process (SIGBUS) when the disk is full.
 */
const inPlaceTypes: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);

const ownerOnly = 0o600;

export const systemIo = {
  /** The id of the running system since its last boot; undefined where it has none. */
  bootId: () => bootId(),
  exists: (path: string): boolean => fs.existsSync(path),
  list: (folder: string) =>
    fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : [])),
  stat: (path: string): Pick<fs.Stats, "size" | "nlink" | "ino" | "mtime"> => fs.statSync(path),
  read: (path: string): Uint8Array => new Uint8Array(fs.readFileSync(path)),
  /** Parts of a file; shorter ones where it ends. */
  readParts: (path: string, parts: readonly { offset: number; length: number }[]): Uint8Array[] =>
    withFile(path, (file) =>
      parts.map(({ offset, length }) => {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, fs.readSync(file, bytes, 0, length, offset));
      }),
    ),
  /** Replaces a file's content, which is durable then; its name is when its folder is synced. */
  write: (path: string, content: string | Uint8Array) =>
    fs.writeFileSync(path, content, { mode: ownerOnly, flush: true }),
  rename: (from: string, to: string) => fs.renameSync(from, to),
  link: (from: string, to: string) => fs.linkSync(from, to),
  copy: (from: string, to: string) => fs.copyFileSync(from, to),
  truncate: (path: string, size: number) => fs.truncateSync(path, size),
  /** Removes a file, or a folder with all that is in it; nothing when there is none. */
  remove: (path: string) => fs.rmSync(path, { recursive: true, force: true }),
  makeFolder: (path: string): void => void fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
  sync: (path: string) => withFile(path, fs.fsyncSync),
  /** Opens the file of marks, which is written at once. */
  openMarks: (path: string) => {
    // Without O_TRUNC: the file must not be empty in between.
    const file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, ownerOnly);
    return {
      /** Returns how many bytes of `bytes`, from `from` on, were written to offset `at`. */
      write: (bytes: Uint8Array, from: number, at: number) =>
        fs.writeSync(file, bytes, from, bytes.length - from, at),
      sync: () => fs.fdatasyncSync(file),
      close: () => fs.closeSync(file),
      /** The file as memory, where the file system writes a page in place: a store is a write then. */
      map: (): Uint8Array | undefined =>
        inPlaceTypes.has(fs.statfsSync(path).type) ? Bun.mmap(path, { shared: true }) : undefined,
    };
  },
  open: (path: string, flags: "a" | "r" | "r+" | "w" | "wx"): Promise<JournalFile> =>
    open(path, flags, ownerOnly),
  /** writev() without waiting for another thread: quicker for few bytes. */
  writevNow: (file: JournalFile, chunks: Uint8Array[], at: number) => fs.writevSync(file.fd, chunks, at),
  renameSoon: (from: string, to: string) => rename(from, to),
  /** Removes a file; nothing when there is none. */
  removeSoon: (path: string) => rm(path, { force: true }),
};

export type JournalIo = typeof systemIo;
export type MarksFile = ReturnType<JournalIo["openMarks"]>;

function withFile<Done>(path: string, act: (file: number) => Done): Done {
  const file = fs.openSync(path, "r");
  try {
    return act(file);
  } finally {
    fs.closeSync(file);
  }
}

/** Makes a folder's entries durable: new, renamed and removed files. */
export async function syncFolder(io: JournalIo, folder: string): Promise<void> {
  const handle = await io.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Replaces the file at `path`, whole or not at all: written under another name, synced, renamed. Durable when it
 * resolves.
 */
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
  return ["ENOSPC", "EDQUOT"].includes(toCode(thrown));
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
