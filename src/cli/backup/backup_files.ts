// The files of a backup: copied and summed.

import { lstat, mkdir, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UserError } from "../../core/fault.ts";
import { backupLimits } from "./limits.ts";

export const listName = "files";

/** Length and hash of one file, or one object. */
export interface Written {
  bytes: number;
  sum: string;
}

export const manifestName = "manifest.json";

/** The names directly below a backup's folder or address; the manifest first: without it there is no backup. */
export const backupParts: readonly string[] = [manifestName, listName, "data", "postgres", "clickhouse"];

/** Writes chunks durably to a new file at `to`, or appends them; creates its folder. */
export async function writeSummed(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  to: string,
  isFurther = false,
): Promise<Written> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const hasher = new Bun.CryptoHasher("sha256");
  await using file = await open(to, isFurther ? "a" : "wx", 0o600);
  let bytes = 0;
  for await (const chunk of chunks) {
    hasher.update(chunk);
    bytes += chunk.length;
    for (let done = 0; done < chunk.length;) {
      done += (await file.write(chunk, done, chunk.length - done)).bytesWritten;
    }
  }
  await file.sync();
  return { bytes, sum: hasher.digest("hex") };
}

/** The file's bytes; the same memory is used for every chunk. */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array> {
  await using file = await open(path, "r");
  // Most files are small, and there are many: a full buffer for each would wait for the garbage collector.
  const { size } = await file.stat();
  const chunk = new Uint8Array(Math.min(backupLimits.chunkBytes, size + 1));
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length);
    if (bytesRead === 0) return;
    yield chunk.subarray(0, bytesRead);
  }
}

export async function copyFile(from: string, to: string, isFurther = false): Promise<Written> {
  return await writeSummed(readChunks(from), to, isFurther);
}

/** The paths of all files below a folder, relative to it; none when there is no such folder. */
export async function* filesBelow(folder: string, allEntries = false): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  for (const entry of entries) {
    if (!entry.isDirectory()) {
      if (allEntries || entry.isFile()) yield entry.name;
      continue;
    }
    for await (const name of filesBelow(join(folder, entry.name), allEntries)) yield `${entry.name}/${name}`;
  }
  if (allEntries && entries.length === 0) yield "";
}

/** Makes a tree of folders durable; with `files`, the files in them too. */
export async function syncTree(folder: string, files = false): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(path, files);
    else if (files && entry.isFile()) await syncOne(path);
  }
  await syncOne(folder);
}

export async function syncOne(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}

/** @throws UserError for anything but a file, such as a pipe without a writer. */
export async function summed(path: string): Promise<Written> {
  if (!(await lstat(path)).isFile()) throw new UserError(`${path} is no file`);
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for await (const chunk of readChunks(path)) {
    hasher.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sum: hasher.digest("hex") };
}
