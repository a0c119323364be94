// How old growing segments are, and when they have grown last: what ends them when they do not fill up.

import { journalLimits } from "./limits.ts";
import type { Segment } from "./segments/segment.ts";

export class SegmentAges {
  readonly #ages = new Map<bigint, { openedMs: number; grownMs: number; bytes: number }>();

  /** Whether a segment that has rows should end, its flush interval being so long. */
  isDue(segment: Segment, intervalMs: number, now: number): boolean {
    const { id, lane, bytes } = segment;
    const age = this.#ages.get(id) ?? { openedMs: now, grownMs: now, bytes };
    this.#ages.set(id, age);
    if (bytes > age.bytes) Object.assign(age, { grownMs: now, bytes });
    const isHistorical = lane === "historical";
    const patience = isHistorical ? journalLimits.historicalPatience : 1;
    return now - age.openedMs >= intervalMs * patience || (isHistorical && now - age.grownMs >= intervalMs);
  }

  forget({ id }: Segment): void {
    this.#ages.delete(id);
  }
}
