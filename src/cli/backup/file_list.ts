// The list of a backup's files, which `sha256sum -c` reads: a line `<SHA-256>  <path>` a file, paths below the backup's
// folder. In a bucket a long file is several objects: `<path>`, `<path>@1`, `<path>@2` and so on, one after the other.

import { createReadStream } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { UserError } from "../../core/fault.ts";
import { filesBelow, listName, manifestName, summed, syncOne, type Written } from "./backup_files.ts";
import { backupLimits } from "./limits.ts";

/** How many files and bytes, and the SHA-256 of the list. */
export interface FileTotals extends Written {
  files: number;
}

/** Parts that were written of a file: all of it, or its parts in their order. */
export type WrittenParts = AsyncIterable<[path: string, written: Written]>;

/** The list of a backup that is being written, in a folder of this machine. */
export class FileList {
  readonly #path: string;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  #lines: string[] = [];
  #files = 0;
  #bytes = 0;

  constructor(folder: string) {
    this.#path = join(folder, listName);
  }

  /** @throws UserError for a name that a restore would refuse, or read as another file's part. */
  async add(file: string, parts: WrittenParts): Promise<void> {
    if (!isBelow(file) || partSuffix.test(file))
      throw new UserError(`${file} cannot be backed up: its name has unusual characters`);
    for await (const [path, { bytes, sum }] of parts) {
      this.#files++;
      this.#bytes += bytes;
      if (this.#lines.push(`${sum}  ${path}\n`) >= backupLimits.linesAtOnce) await this.#write();
    }
  }

  /** The end of the list, which is durable when it resolves. */
  async end(): Promise<FileTotals> {
    await this.#write();
    await syncOne(this.#path);
    return { files: this.#files, bytes: this.#bytes, sum: this.#hasher.digest("hex") };
  }

  async #write(): Promise<void> {
    const text = this.#lines.join("");
    this.#lines = [];
    this.#hasher.update(text);
    await appendFile(this.#path, text, { mode: 0o600 });
  }
}

/** The path of a file's part: the first one has the file's own. */
export function partPath(file: string, number: number): string {
  return number === 0 ? file : `${file}@${number}`;
}

/** The files of backups. From DATA_DIR these are journals, refused rows and the key. */
const pathShapes = [
  /^data\/(?:workers\/[\w.-]+\/)?journal\/[\w.-]+$/,
  /^data\/quarantine\/[\w.-]+$/,
  /^data\/secret\.key$/,
  /^postgres\/\w+$/,
  // ClickHouse escapes other bytes of a name as %XX.
  /^clickhouse\/\w+\/[\w.%@+/-]+$/,
];

function isBelow(path: string): boolean {
  const names = path.split("/");
  return (
    pathShapes.some((shape) => shape.test(path)) && names.every((name) => !["", ".", ".."].includes(name))
  );
}

export interface ListedFile {
  path: string;
  sum: string;
  /** The path of the file, or of the one that it is a part of. */
  file: string;
  /** Whether it is a later part, which is appended. */
  isFurther: boolean;
}

const sumShape = /^[0-9a-f]{64}$/;
const partSuffix = /@([1-9]\d{0,8})$/;

/**
 * The listed paths below `part`, or all.
 * @param name of the backup, for messages.
 * @throws UserError for a path outside the backup, or a part without the one before it.
 */
export async function* listedFiles(
  folder: string,
  part = "",
  name: string = folder,
): AsyncGenerator<ListedFile> {
  const lines = createInterface({ input: createReadStream(join(folder, listName)) });
  let [lastFile, lastNumber] = ["", 0];
  for await (const line of lines) {
    const [sum, path] = [line.slice(0, 64), line.slice(66)];
    const ending = partSuffix.exec(path);
    const [file, number] = [path.slice(0, ending?.index), Number(ending?.[1] ?? 0)];
    const isNext = number === 0 || (file === lastFile && number === lastNumber + 1);
    if (!isBelow(file) || !isNext || !sumShape.test(sum))
      throw new UserError(`${name} is damaged: its list of files has a line that names none`);
    [lastFile, lastNumber] = [file, number];
    if (path.startsWith(part)) yield { path, sum, file, isFurther: number > 0 };
  }
}

/**
 * @param paths files, links and empty folders; or objects.
 * @throws UserError that names one that is none of the backup's.
 */
export async function refuseForeign(
  folder: string,
  paths: AsyncIterable<string> = filesBelow(folder, true),
  name: string = folder,
): Promise<void> {
  const known = new Set([manifestName, listName]);
  for await (const { path } of listedFiles(folder, "", name)) known.add(path);
  for await (const path of paths) {
    // Files of DATA_DIR that are removed during a backup leave folders; programs mark a prefix with an empty object.
    if (known.has(path) || /^(?:data\/(?:.*\/)?)?$/.test(path)) continue;
    throw new UserError(`${name} has a file that is none of the backup's: ${path}; move it away`);
  }
}

/** @throws UserError when the list is not the manifest's. */
export async function checkList(folder: string, listed: FileTotals, name: string = folder): Promise<void> {
  const list = await summed(join(folder, listName)).catch(() => undefined);
  if (list?.sum !== listed.sum)
    throw new UserError(`${name} is damaged: its list of files is not the one it was made with`);
}
