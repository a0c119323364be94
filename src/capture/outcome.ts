// What became of an event that was not taken: a reason from a closed list, counted and listed. Never an
// exception.

import { limits } from "../core/limits.ts";

export const reasons = [
  "missing_event_name",
  "missing_distinct_id",
  "empty_distinct_id",
  "malformed_event",
  "malformed_event_properties",
  "event_too_large",
  "performance_event",
  "snapshot",
] as const;
export type Reason = (typeof reasons)[number];

/** The events of one request that were not taken. */
export class Ignored {
  /** How many, by reason. */
  readonly counts = new Map<Reason, number>();
  /** The first limits.ignoredListMax of them, by place in the batch. */
  readonly list: { index: number; reason: Reason }[] = [];
  total = 0;

  add(index: number, reason: Reason): void {
    this.total++;
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    if (this.list.length < limits.ignoredListMax) this.list.push({ index, reason });
  }

  clear(): void {
    this.counts.clear();
    this.list.length = 0;
    this.total = 0;
  }
}
