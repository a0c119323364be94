// Files that must survive a power cut: written aside, synced, renamed. Never leaves a half-written file under
// its name.

import { writevSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { limits } from "../core/limits.ts";

/** Makes a folder's entries (new, renamed and removed files) durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Puts `content` at `path`, whole or not at all, durable when it resolves. */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const aside = `${path}.part`;
  const handle = await open(aside, "w", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(aside, path);
  await syncFolder(dirname(path));
}

/** Short writes are normal: goes on until every byte is out. */
export async function writeWhole(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten <= 0) throw new Error("the disk took no more bytes");
    done += bytesWritten;
  }
}

/** The most pieces one system call takes. */
const piecesMax = 512;

/**
 * The same for bytes that lie in several places: each goes out from where it lies. Few of them are with the system at
 * once, which costs 20 µs; more by another thread, so that nobody waits for them.
 */
export async function writePieces(file: FileHandle, pieces: Uint8Array[], position: number): Promise<void> {
  const now = pieces.reduce((sum, piece) => sum + piece.length, 0) <= limits.writeNowBytesMax;
  let at = position;
  for (let next = 0; next < pieces.length; next += piecesMax) {
    let left = pieces.slice(next, next + piecesMax);
    while (left.length > 0) {
      const bytesWritten = now ? writevSync(file.fd, left, at) : (await file.writev(left, at)).bytesWritten;
      if (bytesWritten <= 0) throw new Error("the disk took no more bytes");
      at += bytesWritten;
      left = behind(left, bytesWritten);
    }
  }
}

/** What of `pieces` lies behind its first `bytes` bytes. */
function behind(pieces: Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = bytes;
  const rest: Uint8Array[] = [];
  for (const piece of pieces) {
    if (skipped < piece.length) rest.push(skipped > 0 ? piece.subarray(skipped) : piece);
    skipped = Math.max(0, skipped - piece.length);
  }
  return rest;
}
