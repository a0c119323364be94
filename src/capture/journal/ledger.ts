// The ledger: which segments are finished, what pending segments must contain, and the newest segment id. A finished
// segment is recorded before its file is removed, so that a crash in between neither sends it again nor, if the clock
// went back, uses an id twice. FORMAT.md has the lines.

import { basename, dirname } from "node:path";
import { isFull, type JournalFile, writeDurably, writeDurablyNow } from "./journal_io.ts";
import { byLane, type JournalSetup } from "./lane_kind.ts";
import { finishedLine, readLine, sealedLine } from "./ledger_line.ts";
import { journalLimits } from "./limits.ts";
import { readSegmentMillis, type Segment } from "./segments/segment.ts";
import { type Extent, SyncedMarks } from "./segments/synced_marks.ts";

export interface Expected extends Extent {
  /**
   * The meaning of sound frames after these bytes: refused in a segment that was `sealed`; never acknowledged where the
   * mark is exact (`synced`); possibly acknowledged where it may be old (`least`).
   */
  tail: "sealed" | "synced" | "least";
}

export type LedgerContents = ReturnType<Ledger["read"]>;

export class Ledger {
  readonly #setup: JournalSetup;
  readonly #path: string;
  readonly marks: SyncedMarks;
  /** Writes of all lanes, one after the other: concurrent ones would open the file twice. */
  #writes: Promise<void> = Promise.resolve();
  #file: JournalFile | undefined;
  #bytes = 0;
  /** True when a write failed: the file may end within a line, which would spoil the next one. */
  #isTorn = false;
  readonly #sealed = new Map<string, Extent>();

  constructor(setup: JournalSetup, folder: string) {
    this.#setup = setup;
    this.#path = `${folder}/ledger`;
    this.marks = new SyncedMarks(setup, folder);
  }

  /** Reads what the last process wrote; empty on the first start. A torn last line is skipped. */
  read() {
    const marks = this.marks.read();
    const lines = this.#readLines();
    const known = (lines ?? []).map(readLine).filter((line) => line !== undefined);
    const expected = new Map<string, Expected>();
    for (const [name, { bytes, rows }] of marks.extents) {
      expected.set(name, { bytes, rows, tail: marks.isExact ? "synced" : "least" });
    }
    for (const { name, extent } of known) if (extent) expected.set(name, { ...extent, tail: "sealed" });
    const finished = known.filter(({ name, extent }) => !extent && name !== "-").map(({ name }) => name);
    for (const name of finished) expected.delete(name);
    const marked = [...marks.extents.values()];
    const millis = [...marked.map(({ id }) => readSegmentMillis(id)), ...known.map((line) => line.millis)];
    // Each start writes a first line, and marks only after that.
    const isLost = lines ? lines.length === 0 : marks.exists;
    const newest = byLane(this.#setup, (lane) =>
      marked.reduce((id, mark) => (mark.lane === lane && mark.id > id ? mark.id : id), 0n),
    );
    return {
      finished,
      lastMillis: millis.reduce((last, value) => Math.max(last, value), 0),
      /** Segments with acknowledged rows that are not finished, by file name. */
      expected,
      unreadable: marks.unreadable + (lines?.length ?? 0) - known.length + (isLost ? 1 : 0),
      /** Each lane's newest segment that has acknowledged rows, or 0n; undefined when the marks are not exact. */
      newest: marks.isExact && marks.unreadable === 0 ? newest : undefined,
    };
  }

  /** Copies a damaged ledger; returns the copy's path, or undefined when there is no ledger. */
  copyAside(): string | undefined {
    const { io } = this.#setup;
    if (!io.exists(this.#path)) return undefined;
    io.copy(this.#path, `${this.#path}.damaged`);
    return `${this.#path}.damaged`;
  }

  /**
   * Rewrites the ledger with the newest id and these segments; no finished segment's file may be left by then. From
   * then on marks are written. Returns false, and keeps the old file, when the disk has no space for a new one.
   */
  restart(lastMillis: number, waiting: readonly Segment[] = []): boolean {
    this.#sealed.clear();
    for (const { path, bytes, rows } of waiting) this.#sealed.set(basename(path), { bytes, rows });
    const text = this.#firstLines(lastMillis);
    // There must be a ledger before there are marks: marks alone mean that it was lost.
    const { io } = this.#setup;
    if (!io.exists(this.#path)) writeDurablyNow(io, this.#path, text);
    const aside = `${this.#path}.part`;
    try {
      io.write(aside, text);
    } catch (thrown) {
      io.remove(aside);
      if (!isFull(thrown)) throw thrown;
      this.#cutTornLine();
      this.marks.open();
      return false;
    }
    this.marks.restart();
    io.rename(aside, this.#path);
    io.sync(dirname(this.#path));
    return true;
  }

  writeSealed({ path, bytes, rows }: Segment, lastMillis: number): void {
    if (rows === 0) return;
    const [name, extent] = [basename(path), { bytes, rows }];
    this.#sealed.set(name, extent);
    // Without this line recovery knows less of this segment; a failing disk is reported by the next group.
    this.#enqueue(() => this.#append(sealedLine(name, lastMillis, extent), lastMillis, false)).catch(
      () => {},
    );
  }

  /** Writes the newest id; durable when it resolves. */
  async writeMillis(lastMillis: number): Promise<void> {
    await this.#enqueue(() => this.#append(finishedLine("-", lastMillis), lastMillis, true));
  }

  /** Writes that a segment is finished; durable when it resolves. */
  async writeFinished(segment: Segment, lastMillis: number): Promise<void> {
    const name = basename(segment.path);
    await this.#enqueue(async () => {
      this.#sealed.delete(name);
      await this.#append(finishedLine(name, lastMillis), lastMillis, true);
    });
    this.marks.clear(segment);
  }

  async close(): Promise<void> {
    await this.#writes;
    await this.#closeFile();
    this.marks.close();
  }

  #enqueue(write: () => Promise<void>): Promise<void> {
    const done = this.#writes.then(write);
    this.#writes = done.catch(() => {});
    return done;
  }

  async #append(line: string, lastMillis: number, isDurable: boolean): Promise<void> {
    if (this.#isTorn || this.#bytes > journalLimits.ledgerBytesMax) await this.#repair(lastMillis);
    this.#file ??= await this.#setup.io.open(this.#path, "a");
    this.#isTorn = true;
    for (let bytesLeft = Buffer.from(line); bytesLeft.length > 0;) {
      bytesLeft = bytesLeft.subarray((await this.#file.write(bytesLeft)).bytesWritten);
    }
    if (isDurable) await this.#file.datasync();
    this.#isTorn = false;
    this.#bytes += line.length;
  }

  /** Rewrites the file; on a full disk it stays as it is, without what a failed write left after its last line. */
  async #repair(lastMillis: number): Promise<void> {
    try {
      await this.#closeFile();
      // First make durable that the marks of segments which the new file leaves out are gone.
      this.marks.sync();
      await writeDurably(this.#setup.io, this.#path, this.#firstLines(lastMillis));
      this.#bytes = 0;
    } catch (thrown) {
      if (!isFull(thrown)) throw thrown;
      this.#cutTornLine();
    }
  }

  async #closeFile(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /** Cuts what follows the last whole line, since it would spoil the next one. Needs no space. */
  #cutTornLine(): void {
    const bytes = Buffer.from(this.#setup.io.read(this.#path));
    const end = bytes.lastIndexOf("\n") + 1;
    if (end < bytes.length) this.#setup.io.truncate(this.#path, end);
  }

  /** The complete lines; undefined when there is no such file. */
  #readLines(): string[] | undefined {
    const { io } = this.#setup;
    if (!io.exists(this.#path)) return undefined;
    return Buffer.from(io.read(this.#path)).toString("latin1").split("\n").slice(0, -1);
  }

  #firstLines(lastMillis: number): string {
    const waiting = [...this.#sealed].map(([name, extent]) => sealedLine(name, lastMillis, extent));
    return finishedLine("-", lastMillis) + waiting.join("");
  }
}
