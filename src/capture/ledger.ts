// The ledger: which segments are done with, and the newest id ever used. Written before a segment is removed,
// so that
// a crash in between neither sends it again nor lets a clock that went back hand out a used number.

import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { writeDurably } from "./files.ts";

/**
 * One line a finished segment: `<file name> <ms of the newest id>`; past this many bytes it is started anew.
 */
const ledgerBytesMax = 1024 * 1024;

export class Ledger {
  readonly #path: string;
  /** Both lanes note what they finished: one after the other, or the file would be opened twice. */
  #notes: Promise<void> = Promise.resolve();
  #file: FileHandle | undefined;
  #bytes = 0;

  constructor(folder: string) {
    this.#path = `${folder}/ledger`;
  }

  /** What the last process noted; empty on the first start. A torn last line is passed over. */
  read(): { finished: string[]; lastMillis: number } {
    let text = "";
    try {
      text = readFileSync(this.#path, "utf8");
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    }
    const lines = text
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split(" "));
    const lastMillis = Math.max(0, ...lines.map((words) => Number(words[1]) || 0));
    return { finished: lines.map((words) => words[0] ?? ""), lastMillis };
  }

  /** Starts anew with nothing but the newest id; for when no finished segment is left on the disk. */
  restart(lastMillis: number): void {
    const file = openSync(this.#path, "w", 0o600);
    writeSync(file, `- ${lastMillis}\n`);
    fdatasyncSync(file);
    closeSync(file);
  }

  /** Durable when it resolves. */
  note(name: string, lastMillis: number): Promise<void> {
    const noted = this.#notes.then(() => this.#append(`${name} ${lastMillis}\n`, lastMillis));
    this.#notes = noted.catch(() => {});
    return noted;
  }

  async close(): Promise<void> {
    await this.#notes;
    await this.#closeFile();
  }

  async #append(line: string, lastMillis: number): Promise<void> {
    if (this.#bytes > ledgerBytesMax) await this.#restartLater(lastMillis);
    this.#file ??= await open(this.#path, "a", 0o600);
    await this.#file.write(line);
    await this.#file.datasync();
    this.#bytes += line.length;
  }

  async #closeFile(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #restartLater(lastMillis: number): Promise<void> {
    await this.#closeFile();
    await writeDurably(this.#path, `- ${lastMillis}\n`);
    this.#bytes = 0;
  }
}
