// The part of the journal's volume that stays free for the stores.

import { statfs } from "node:fs/promises";
import { type Log, toReason } from "../../core/log.ts";
import { journalLimits } from "./limits.ts";

export interface VolumeFigures {
  freeBytes: number;
  totalBytes: number;
}

interface DiskReserveOptions {
  folder: string;
  readVolume?: (folder: string) => Promise<VolumeFigures>;
  log: Log;
}

/** A write that would use the reserve. */
export class DiskFullError extends Error {}

/** The stores need space before the journal's events can be stored and the journal shrinks. */
export class DiskReserve {
  readonly #options: DiskReserveOptions;
  #figures: VolumeFigures = { freeBytes: Number.POSITIVE_INFINITY, totalBytes: Number.POSITIVE_INFINITY };
  /** Bytes that may be written until the next poll(). */
  #writableBytes = Number.POSITIVE_INFINITY;
  /** True when captures must be refused. */
  isLow = false;
  #isLogged = false;
  #isFailing = false;

  constructor(options: DiskReserveOptions) {
    this.#options = options;
  }

  /** As of the last poll(); undefined when none has succeeded. */
  get freeBytes(): number | undefined {
    return Number.isFinite(this.#figures.freeBytes) ? this.#figures.freeBytes : undefined;
  }

  get reserveBytes(): number {
    return computeReserve(this.#figures.totalBytes);
  }

  /** The longest segment: the part it becomes, and a copy that an embedded engine reads, must fit in the reserve. */
  get segmentBytesMax(): number {
    return this.reserveBytes / 4;
  }

  /**
   * Acquires bytes for writing.
   * @throws DiskFullError when they would use the reserve.
   */
  acquire(bytes: number): void {
    if (bytes > this.#writableBytes) this.isLow = true;
    if (this.isLow) throw new DiskFullError("the disk is nearly full");
    this.#writableBytes -= bytes;
  }

  /** Whether so many bytes may be written that need not be; acquires nothing. */
  hasSpace(bytes: number): boolean {
    return !this.isLow && bytes <= this.#writableBytes;
  }

  async poll(): Promise<void> {
    const { folder, readVolume = statVolume, log } = this.#options;
    try {
      this.#figures = await readVolume(folder);
      this.#isFailing = false;
    } catch (thrown) {
      // Unknown figures refuse nothing: a write that fails is refused then.
      if (!this.#isFailing) log.warn("the free disk space is unknown", { folder, reason: toReason(thrown) });
      this.#isFailing = true;
      return;
    }
    const { freeBytes } = this.#figures;
    const { reserveBytes } = this;
    // Refusals end only with some space above the reserve; otherwise each write would begin or end them.
    const needed = this.isLow ? reserveBytes * (1 + journalLimits.diskBackFraction) : reserveBytes;
    this.isLow = freeBytes < needed;
    this.#writableBytes = Math.max(0, freeBytes - reserveBytes);
    const figures = { free_bytes: freeBytes, reserve_bytes: reserveBytes };
    if (this.isLow && !this.#isLogged) log.error("the disk is nearly full: captures are refused", figures);
    if (this.#isLogged && !this.isLow) log.info("the disk has space again: captures are accepted", figures);
    this.#isLogged = this.isLow;
  }
}

export function computeReserve(totalBytes: number): number {
  const wanted = Math.max(journalLimits.diskReserveBytesMin, totalBytes * journalLimits.diskReserveFraction);
  return Math.floor(
    Math.min(wanted, journalLimits.diskReserveBytesMax, totalBytes * journalLimits.diskReserveFractionMax),
  );
}

async function statVolume(folder: string): Promise<VolumeFigures> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
