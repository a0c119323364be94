// How much the journal may still write on its volume: a reserve stays free there for the stores, which need room of
// their own before what the journal holds can leave it.

import { statfs } from "node:fs/promises";
import { journalLimits } from "./limits.ts";
import { type Log, reasonOf } from "../../core/log.ts";

export interface VolumeFigures {
  /** What this process may still use. */
  freeBytes: number;
  totalBytes: number;
}

export interface DiskRoomOptions {
  folder: string;
  /** Resolves to the figures of the volume that the folder is on. */
  read?: (folder: string) => Promise<VolumeFigures>;
  log: Log;
}

/** What would come out of the reserve is refused, and not tried. */
export class NoRoom extends Error {}

export class DiskRoom {
  readonly #options: DiskRoomOptions;
  #figures: VolumeFigures = { freeBytes: Number.POSITIVE_INFINITY, totalBytes: Number.POSITIVE_INFINITY };
  /** Bytes that may be written until the next look. */
  #allowed = Number.POSITIVE_INFINITY;
  #low = false;
  /** Whether the log was told that it is low. */
  #told = false;
  #failing = false;

  constructor(options: DiskRoomOptions) {
    this.#options = options;
  }

  /** True when nothing more may be taken until room was made. */
  get low(): boolean {
    return this.#low;
  }

  /** As the last look found it; undefined when no look has succeeded. */
  get freeBytes(): number | undefined {
    return Number.isFinite(this.#figures.freeBytes) ? this.#figures.freeBytes : undefined;
  }

  get reserveBytes(): number {
    return reserveOf(this.#figures.totalBytes);
  }

  /** The longest segment: its part in the store, and a copy that an embedded one reads, have to fit in the reserve. */
  get segmentBytesMax(): number {
    return this.reserveBytes / 4;
  }

  /**
   * Takes so many bytes for writing.
   * @throws NoRoom when they would come out of the reserve.
   */
  take(bytes: number): void {
    if (bytes > this.#allowed) this.#low = true;
    if (this.#low) throw new NoRoom("the disk is nearly full");
    this.#allowed -= bytes;
  }

  /** Looks how much is free. */
  async look(): Promise<void> {
    const { folder, read = readVolume, log } = this.#options;
    try {
      this.#figures = await read(folder);
      this.#failing = false;
    } catch (thrown) {
      // What is not known holds nobody up: a write that fails is refused by itself.
      if (!this.#failing)
        log.warn("the free space of the disk is not known", { folder, reason: reasonOf(thrown) });
      this.#failing = true;
      return;
    }
    const { freeBytes } = this.#figures;
    const { reserveBytes } = this;
    // Some more has to be free before it goes on: at the border it would change with each write.
    const needed = this.#low ? reserveBytes * (1 + journalLimits.diskBackShare) : reserveBytes;
    this.#low = freeBytes < needed;
    this.#allowed = Math.max(0, freeBytes - reserveBytes);
    const figures = { free_bytes: freeBytes, reserve_bytes: reserveBytes };
    if (this.#low && !this.#told) log.error("the disk is nearly full: captures are refused", figures);
    if (this.#told && !this.#low) log.info("the disk has room again: captures are taken", figures);
    this.#told = this.#low;
  }
}

/** What stays free of a volume of so many bytes. */
export function reserveOf(totalBytes: number): number {
  const wanted = Math.max(journalLimits.diskReserveBytesMin, totalBytes * journalLimits.diskReserveShare);
  return Math.floor(
    Math.min(wanted, journalLimits.diskReserveBytesMax, totalBytes * journalLimits.diskReserveShareMax),
  );
}

async function readVolume(folder: string): Promise<VolumeFigures> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
