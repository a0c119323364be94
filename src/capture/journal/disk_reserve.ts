// The reserve of the journal's volume, which stays free for the stores.

import { statfs } from "node:fs/promises";
import { type Log, reasonOf } from "../../core/log.ts";
import { journalLimits } from "./limits.ts";

export interface VolumeFigures {
  /** Bytes that this process may use. */
  freeBytes: number;
  totalBytes: number;
}

interface DiskReserveOptions {
  folder: string;
  read?: (folder: string) => Promise<VolumeFigures>;
  log: Log;
}

/** A write that would use the reserve. */
export class DiskFullError extends Error {}

/**
 * How much the journal may write on its volume. A reserve stays free for the stores: they need room before the
 * journal's events can be stored and the journal shrinks.
 */
export class DiskReserve {
  readonly #options: DiskReserveOptions;
  #figures: VolumeFigures = { freeBytes: Number.POSITIVE_INFINITY, totalBytes: Number.POSITIVE_INFINITY };
  /** Bytes that may be written until the next look(). */
  #allowed = Number.POSITIVE_INFINITY;
  /** True when captures must be refused. */
  low = false;
  /** Whether the log says that it is low. */
  #logged = false;
  #failing = false;

  constructor(options: DiskReserveOptions) {
    this.#options = options;
  }

  /** As of the last look(); undefined when none has succeeded. */
  get freeBytes(): number | undefined {
    return Number.isFinite(this.#figures.freeBytes) ? this.#figures.freeBytes : undefined;
  }

  get reserveBytes(): number {
    return reserveOf(this.#figures.totalBytes);
  }

  /** The longest segment: the store's part, and a copy that an embedded engine reads, must fit in the reserve. */
  get segmentBytesMax(): number {
    return this.reserveBytes / 4;
  }

  /**
   * Acquires bytes for writing.
   * @throws DiskFullError when they would use the reserve.
   */
  take(bytes: number): void {
    if (bytes > this.#allowed) this.low = true;
    if (this.low) throw new DiskFullError("the disk is nearly full");
    this.#allowed -= bytes;
  }

  /** Whether so many bytes may be written beside what must be; asking for them takes nothing. */
  has(bytes: number): boolean {
    return !this.low && bytes <= this.#allowed;
  }

  async look(): Promise<void> {
    const { folder, read = readVolume, log } = this.#options;
    try {
      this.#figures = await read(folder);
      this.#failing = false;
    } catch (thrown) {
      // Unknown figures refuse nothing: a write that fails is refused then.
      if (!this.#failing)
        log.warn("the free space of the disk is not known", { folder, reason: reasonOf(thrown) });
      this.#failing = true;
      return;
    }
    const { freeBytes } = this.#figures;
    const { reserveBytes } = this;
    // It ends only with some room above the reserve; otherwise it would change with each write.
    const needed = this.low ? reserveBytes * (1 + journalLimits.diskBackShare) : reserveBytes;
    this.low = freeBytes < needed;
    this.#allowed = Math.max(0, freeBytes - reserveBytes);
    const figures = { free_bytes: freeBytes, reserve_bytes: reserveBytes };
    if (this.low && !this.#logged) log.error("the disk is nearly full: captures are refused", figures);
    if (this.#logged && !this.low) log.info("the disk has room again: captures are taken", figures);
    this.#logged = this.low;
  }
}

/** The reserve of a volume of so many bytes. */
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
