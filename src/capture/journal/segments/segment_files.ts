// Makes and ends the files of a lane's segments. The next one is made ahead: it has its name, its space on the disk and
// zeros in it, all of it synced. So the first group of a segment waits for no folder, and no group for the file
// system's own journal, in which the writes of imports come first.

import { type Log, toReason } from "../../../core/log.ts";
import { type JournalFile, openSegmentFile, syncFolder, writeWhole } from "../journal_io.ts";
import type { JournalSetup, LaneKind } from "../lane_kind.ts";
import { journalLimits } from "../limits.ts";
import { type Segment, segmentHead, segmentName } from "./segment.ts";

export interface SegmentFilesOptions {
  log: Log;
  setup: JournalSetup;
  kind: LaneKind;
  folder: string;
  /** A new segment's id, greater than every earlier one of this journal. */
  nextId(): bigint;
  /** A file to overwrite, if there is one; it then belongs to the lane. */
  acquireRecycled(): string | undefined;
  /** Acquires so many bytes of disk. @throws DiskFullError when the disk has not enough. */
  acquireSpace(bytes: number): void;
  /** Whether the disk has so many bytes for a write that need not be. */
  hasSpace(bytes: number): boolean;
}

export interface SegmentFile {
  id: bigint;
  path: string;
  file: JournalFile;
  headBytes: number;
  /** Resolves when its name is durable. */
  named: Promise<void>;
}

export class SegmentFiles {
  readonly #options: SegmentFilesOptions;
  /** Resolves to the next file, or to undefined when it could not be made. */
  #next: Promise<SegmentFile | undefined> | undefined;
  #isClosed = false;

  constructor(options: SegmentFilesOptions) {
    this.#options = options;
  }

  /** A file for a new segment. @throws when the disk has no space, or fails. */
  async open(): Promise<SegmentFile> {
    return (await this.#detachNext()) ?? (await this.#make());
  }

  /** Makes the next file, for a segment of about so many bytes; in the background; a failure is not reported. */
  prepare(bytes: number): void {
    const max = this.#options.kind.preparedBytesMax;
    const size = Math.min(max, Math.max(journalLimits.preparedBytesMin, bytes));
    if (max === 0 || this.#next || this.#isClosed || !this.#options.hasSpace(size)) return;
    // open() makes one itself then, and throws why it cannot.
    this.#next = this.#makeAhead(size).catch(() => undefined);
  }

  /** Removes the file that was made ahead, since it uses space, and may hold rows of a finished segment. */
  async drop(): Promise<void> {
    const next = await this.#detachNext();
    if (next) await this.#remove(next);
  }

  /** Removes the file that was made ahead; no further one is made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.drop();
  }

  /** The file that was made ahead: for one caller. */
  #detachNext(): Promise<SegmentFile | undefined> {
    const next = this.#next ?? Promise.resolve(undefined);
    this.#next = undefined;
    return next;
  }

  async #make(): Promise<SegmentFile> {
    const { setup, kind, folder, nextId, acquireRecycled } = this.#options;
    const id = nextId();
    const path = `${folder}/${segmentName(kind, id)}`;
    const head = kind.isNative ? undefined : segmentHead(setup, kind, id);
    const file = await openSegmentFile(setup.io, path, head, acquireRecycled());
    const named = syncFolder(setup.io, folder);
    named.catch(() => {});
    return { id, path, file, headBytes: head?.length ?? 0, named };
  }

  async #makeAhead(size: number): Promise<SegmentFile> {
    const segment = await this.#make();
    const { file } = segment;
    try {
      const { size: present } = await file.stat();
      if (present < size) {
        this.#options.acquireSpace(size - present);
        await writeWhole(file, new Uint8Array(size - present), present);
      }
      await file.sync();
      await segment.named;
      return segment;
    } catch (thrown) {
      await this.#remove(segment);
      throw thrown;
    }
  }

  /**
   * Cuts and closes the file of a segment that ended. What follows the last acknowledged frame is zeros, another
   * segment's, or a refused group's: that must not come back after a restart.
   */
  async cut({ path, bytes, rows }: Segment, file: JournalFile): Promise<void> {
    await file.truncate(bytes).catch((thrown: unknown) => {
      this.#options.log.warn("could not cut a segment's tail", { path, reason: toReason(thrown) });
    });
    // An empty segment holds no acknowledged row.
    if (rows === 0) await this.#remove({ file, path });
    else await file.close().catch(() => {});
  }

  async #remove({ file, path }: Pick<SegmentFile, "file" | "path">): Promise<void> {
    await file.close().catch(() => {});
    await this.#options.setup.io.removeSoon(path).catch(() => {});
  }
}
