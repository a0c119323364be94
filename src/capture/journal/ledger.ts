// The ledger: which segments are done with, what those that wait must give back, and the newest id ever used. A
// finished segment is noted before it is removed, so that a crash in between neither sends it again nor lets a clock
// that went back hand out a used number.
//
//   <file name> <ms of the newest id> <sum>             a finished segment; its name is - when the file is begun
//   +<file name> <ms> <bytes> <rows> <sum>              a segment that grows no more; not synced by itself
//
// The sum is the CRC-32 of the line before its last blank, in hexadecimal. Earlier versions wrote finished segments
// only, without a sum.

import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { crc32 } from "node:zlib";
import { isFull, syncFolderNow, writeDurably, writeDurablyNow } from "./segments/files.ts";
import { type Segment, millisOfSegment } from "./segments/segment.ts";
import { type Extent, SyncedMarks } from "./segments/synced_marks.ts";

/** Past this many bytes the ledger is begun anew. */
const ledgerBytesMax = 1024 * 1024;

/** What a segment must give back. */
export interface Expected extends Extent {
  /**
   * What is known of the bytes behind: none of them was acknowledged, though whole frames may be there (`synced`), or
   * also those were refused (`sealed`); or they may have been acknowledged (`least`).
   */
  behind: "sealed" | "synced" | "least";
}

export interface Noted {
  finished: string[];
  lastMillis: number;
  /** By file name, segments that were acknowledged and are not finished. */
  expected: Map<string, Expected>;
  /** Lines and marks that cannot be read. */
  unreadable: number;
}

export class Ledger {
  readonly #path: string;
  readonly #marks: SyncedMarks;
  /** All lanes note what they finished: one after the other, or the file would be opened twice. */
  #notes: Promise<void> = Promise.resolve();
  #file: FileHandle | undefined;
  #bytes = 0;
  /** Segments that grow no more and are not finished. */
  readonly #sealed = new Map<string, Extent>();

  constructor(folder: string) {
    this.#path = `${folder}/ledger`;
    this.#marks = new SyncedMarks(folder);
  }

  /** What the last process noted; empty on the first start. A torn last line is passed over. */
  read(): Noted {
    const noted: Noted = { finished: [], lastMillis: 0, expected: new Map(), unreadable: 0 };
    const marks = this.#marks.read();
    const lines = readLines(this.#path);
    // An earlier version that ran in between knew nothing of the marks.
    const isCurrent = !olderLineShape.test(lines?.[0] ?? "");
    for (const [name, { id, bytes, rows }] of marks.extents) {
      noted.lastMillis = Math.max(noted.lastMillis, millisOfSegment(id));
      if (isCurrent) noted.expected.set(name, { bytes, rows, behind: marks.exact ? "synced" : "least" });
    }
    noted.unreadable += marks.unreadable;
    // Each start begins it with a line.
    if (lines ? lines.length === 0 : marks.there) noted.unreadable++;
    for (const line of lines ?? []) {
      const read = readLine(line);
      if (!read) noted.unreadable++;
      else noted.lastMillis = Math.max(noted.lastMillis, read.millis);
      if (read?.extent) noted.expected.set(read.name, { ...read.extent, behind: "sealed" });
      else if (read && read.name !== "-") noted.finished.push(read.name);
    }
    for (const name of noted.finished) noted.expected.delete(name);
    return noted;
  }

  /** Keeps a copy of what cannot be read; returns its path, or undefined when there is nothing to keep. */
  keepAside(): string | undefined {
    if (!existsSync(this.#path)) return undefined;
    copyFileSync(this.#path, `${this.#path}.damaged`);
    return `${this.#path}.damaged`;
  }

  /**
   * Starts anew, with the newest id and these segments; for when no finished one is left on the disk. From then on
   * synced() takes notes. Returns false, and goes on with what is there, when the disk has no room for a new one.
   */
  restart(lastMillis: number, waiting: readonly Segment[] = []): boolean {
    this.#sealed.clear();
    for (const { path, bytes, rows } of waiting) this.#sealed.set(basename(path), { bytes, rows });
    const text = this.#beginning(lastMillis);
    // Marks without a ledger mean that it was lost.
    if (!existsSync(this.#path)) writeDurablyNow(this.#path, text);
    const aside = `${this.#path}.part`;
    try {
      writeFileSync(aside, text, { mode: 0o600, flush: true });
    } catch (thrown) {
      rmSync(aside, { force: true });
      if (!isFull(thrown)) throw thrown;
      this.#marks.open();
      return false;
    }
    this.#marks.restart();
    renameSync(aside, this.#path);
    syncFolderNow(dirname(this.#path));
    return true;
  }

  /** Takes how far a growing segment is synced; on the way of every group, so nothing waits here. */
  synced(segment: Segment): void {
    this.#marks.note(segment);
  }

  /** Notes what a segment that grows no more must give back. */
  sealed({ path, bytes, rows }: Segment, lastMillis: number): void {
    if (rows === 0) return;
    const [name, extent] = [basename(path), { bytes, rows }];
    this.#sealed.set(name, extent);
    // Where it cannot be noted, the segment's own frames tell less, and the disk's trouble is told by others.
    this.#soon(() => this.#append(sealedLine(name, lastMillis, extent), lastMillis, false)).catch(() => {});
  }

  /** Durable when it resolves. */
  async note(segment: Segment, lastMillis: number): Promise<void> {
    const name = basename(segment.path);
    await this.#soon(async () => {
      this.#sealed.delete(name);
      await this.#append(summed(`${name} ${lastMillis}`), lastMillis, true);
    });
    this.#marks.forget(segment);
  }

  async close(): Promise<void> {
    await this.#notes;
    await this.#closeFile();
    this.#marks.close();
  }

  #soon(act: () => Promise<void>): Promise<void> {
    const done = this.#notes.then(act);
    this.#notes = done.catch(() => {});
    return done;
  }

  async #append(line: string, lastMillis: number, durably: boolean): Promise<void> {
    if (this.#bytes > ledgerBytesMax) await this.#restartLater(lastMillis);
    this.#file ??= await open(this.#path, "a", 0o600);
    await this.#file.write(line);
    if (durably) await this.#file.datasync();
    this.#bytes += line.length;
  }

  async #closeFile(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #restartLater(lastMillis: number): Promise<void> {
    await this.#closeFile();
    // The marks of segments whose end is forgotten here are gone by then.
    this.#marks.sync();
    await writeDurably(this.#path, this.#beginning(lastMillis));
    this.#bytes = 0;
  }

  #beginning(lastMillis: number): string {
    const waiting = [...this.#sealed].map(([name, extent]) => sealedLine(name, lastMillis, extent));
    return summed(`- ${lastMillis}`) + waiting.join("");
  }
}

function sealedLine(name: string, millis: number, { bytes, rows }: Extent): string {
  return summed(`+${name} ${millis} ${bytes} ${rows}`);
}

function summed(text: string): string {
  return `${text} ${sumOf(text)}\n`;
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

/** Without what stands behind the last line's end: a torn line. Undefined when there is no such file. */
function readLines(path: string): string[] | undefined {
  try {
    return readFileSync(path, "latin1").split("\n").slice(0, -1);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    return undefined;
  }
}

const lineShape = /^(\+?)([\w.-]{1,100}) (\d{1,14})(?: (\d{1,10}) (\d{1,10}))?$/;
const olderLineShape = /^(-|[\w.-]{1,100}\.segment) \d{1,14}$/;

/** Undefined when its sum is wrong, or it is no line of ours. */
function readLine(line: string): { name: string; millis: number; extent: Extent | undefined } | undefined {
  const end = line.lastIndexOf(" ");
  const isOlder = olderLineShape.test(line);
  if (!isOlder && sumOf(line.slice(0, end)) !== line.slice(end + 1)) return undefined;
  const [, plus, name, millis, bytes, rows] = lineShape.exec(isOlder ? line : line.slice(0, end)) ?? [];
  if (name === undefined || (plus === "+") !== (bytes !== undefined)) return undefined;
  const extent = bytes === undefined ? undefined : { bytes: Number(bytes), rows: Number(rows) };
  return { name, millis: Number(millis), extent };
}
