// The files of a backup: copied in pieces, summed, listed, checked. The list is what `sha256sum -c` reads: a line
// `<SHA-256>  <path>` a file, paths below the backup's folder.

import { createReadStream } from "node:fs";
import { mkdir, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { UserError } from "../../core/fault.ts";
import { backupLimits } from "./limits.ts";

/** The name of the list. */
export const listName = "files";

/** How many files and bytes, and the SHA-256 of the list. */
export interface FileTotals {
  files: number;
  bytes: number;
  sum: string;
}

/** What is written of one file. */
interface Written {
  bytes: number;
  sum: string;
}

/** Writes pieces to a new file at `to`, durably; makes its folder. */
export async function writeSummed(pieces: AsyncIterable<Uint8Array>, to: string): Promise<Written> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const hasher = new Bun.CryptoHasher("sha256");
  const file = await open(to, "wx", 0o600);
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      hasher.update(piece);
      bytes += piece.length;
      for (let done = 0; done < piece.length;) {
        done += (await file.write(piece, done, piece.length - done)).bytesWritten;
      }
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sum: hasher.digest("hex") };
}

/** The file's bytes; the same memory is used for every piece. */
export async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    // Most files are small, and there are many: memory that is not used waits for the collector all the same.
    const { size } = await file.stat();
    const piece = new Uint8Array(Math.min(backupLimits.pieceBytes, size + 1));
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

export async function copyFile(from: string, to: string): Promise<Written> {
  return await writeSummed(piecesOf(from), to);
}

/** The paths of all files below a folder, relative to it; none when there is no such folder. */
export async function* filesBelow(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  for (const entry of entries) {
    if (entry.isFile()) yield entry.name;
    else if (entry.isDirectory()) {
      for await (const name of filesBelow(join(folder, entry.name))) yield `${entry.name}/${name}`;
    }
  }
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

async function syncOne(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The list of a backup that is being written. */
export class FileList {
  readonly #folder: string;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  #lines: string[] = [];
  #files = 0;
  #bytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(path: string, { bytes, sum }: Written): Promise<void> {
    // A restore would refuse it.
    if (!isBelow(path)) throw new UserError(`${path} cannot be backed up: its name has unusual characters`);
    this.#files++;
    this.#bytes += bytes;
    if (this.#lines.push(`${sum}  ${path}\n`) >= backupLimits.linesAtOnce) await this.#write();
  }

  /** Copies a file into the backup. */
  async copy(from: string, path: string): Promise<void> {
    await this.add(path, await copyFile(from, join(this.#folder, path)));
  }

  /** Writes a file of the backup. */
  async write(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    await this.add(path, await writeSummed(pieces, join(this.#folder, path)));
  }

  /** Adds all that was written below a folder of the backup by others. */
  async addBelow(part: string): Promise<void> {
    for await (const name of filesBelow(join(this.#folder, part))) {
      await this.add(`${part}/${name}`, await summed(join(this.#folder, part, name)));
    }
  }

  /** The end of the list, which is durable when it resolves. */
  async end(): Promise<FileTotals> {
    await this.#write();
    await syncOne(join(this.#folder, listName));
    return { files: this.#files, bytes: this.#bytes, sum: this.#hasher.digest("hex") };
  }

  async #write(): Promise<void> {
    const text = this.#lines.join("");
    this.#lines = [];
    this.#hasher.update(text);
    const file = await open(join(this.#folder, listName), "a", 0o600);
    await file.writeFile(text).finally(() => file.close());
  }
}

async function summed(path: string): Promise<Written> {
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for await (const piece of piecesOf(path)) {
    hasher.update(piece);
    bytes += piece.length;
  }
  return { bytes, sum: hasher.digest("hex") };
}

/** What names consist of; ClickHouse writes other characters as %XX. */
const pathShape = /^[\w.%@+/-]+$/;

/** Whether a listed path leads to a file below the backup's folder. */
function isBelow(path: string): boolean {
  return (
    pathShape.test(path) && path.split("/").every((name) => name !== "" && name !== "." && name !== "..")
  );
}

/** The listed paths below `part`, or all. */
export async function* listedFiles(folder: string, part = ""): AsyncGenerator<{ path: string; sum: string }> {
  const lines = createInterface({ input: createReadStream(join(folder, listName)) });
  for await (const line of lines) {
    const [sum, path] = [line.slice(0, 64), line.slice(66)];
    if (!isBelow(path))
      throw new UserError(`${folder} is damaged: its list of files has a line that names none`);
    if (path.startsWith(part)) yield { path, sum };
  }
}

/** @throws UserError that names the first file that is missing or damaged. */
export async function checkFiles(folder: string, listed: FileTotals): Promise<void> {
  const list = await summed(join(folder, listName)).catch(() => undefined);
  if (list?.sum !== listed.sum)
    throw new UserError(`${folder} is damaged: its list of files is not the one it was made with`);
  for await (const { path, sum } of listedFiles(folder)) {
    const found = await summed(join(folder, path)).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") throw new UserError(`${folder} is damaged: ${path} is missing`);
      throw new UserError(`${folder} cannot be read: ${path}: ${thrown.message}`);
    });
    if (found.sum !== sum) throw new UserError(`${folder} is damaged: ${path} is not as it was written`);
  }
}
