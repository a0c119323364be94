// The quota: how many warnings of a type a project may list in a minute, and how many more there were. Of events beyond
// a project's daily quota, which are many and alike, one is listed in an hour.

import { captureLimits } from "../limits.ts";

export const minuteMicros = 60_000_000;

const minutesPerHour = 60;

/** Minutes for which warnings of a type are counted together. */
export function periodMinutes(type: string): number {
  return type === "daily_event_quota_exceeded" ? minutesPerHour : 1;
}

/** The period of a type that holds `now` (microseconds), by its first minute since 1970. */
export function toPeriod(type: string, now: number): number {
  const minutes = periodMinutes(type);
  return Math.floor(now / minuteMicros / minutes) * minutes;
}

/** Warnings of one period beyond the listed ones. */
export interface Unlisted {
  project_id: number;
  type: string;
  /** The first of its period, in minutes since 1970. */
  minute: number;
  count: number;
}

/** Decides how many warnings are listed: this process, or one that does so for several. */
export interface WarningLimiter {
  /** Counts `count` warnings; returns how many of them may be listed. `now` in microseconds. */
  admit(project_id: number, type: string, count: number, now: number): number | Promise<number>;
  /** Removes and returns the counts of periods other than those of `now` (microseconds); Infinity returns all. */
  drain(now: number): Unlisted[];
}

interface Entry extends Unlisted {
  listed: number;
}

export class WarningQuota implements WarningLimiter {
  readonly #open = new Map<string, Entry>();
  #past: Unlisted[] = [];

  admit(project_id: number, type: string, count: number, now: number): number {
    const minute = toPeriod(type, now);
    const key = `${project_id} ${type}`;
    let entry = this.#open.get(key);
    if (entry && entry.minute !== minute) {
      this.#retire(key, entry);
      entry = undefined;
    }
    if (!entry) {
      if (this.#open.size >= captureLimits.warningTalliesMax) return 0;
      entry = { project_id, type, minute, count: 0, listed: 0 };
      this.#open.set(key, entry);
    }
    const listedMax = periodMinutes(type) === 1 ? captureLimits.warningsPerMinuteMax : 1;
    const listed = Math.min(count, listedMax - entry.listed);
    entry.listed += listed;
    entry.count += count - listed;
    return listed;
  }

  add({ project_id, type, minute, count }: Unlisted): void {
    const entry = this.#open.get(`${project_id} ${type}`);
    const isSame = (unlisted: Unlisted) =>
      unlisted.project_id === project_id && unlisted.type === type && unlisted.minute === minute;
    const known = entry?.minute === minute ? entry : this.#past.find(isSame);
    if (known) known.count += count;
    else this.#past.push({ project_id, type, minute, count });
  }

  drain(now: number): Unlisted[] {
    for (const [key, entry] of this.#open)
      if (entry.minute !== toPeriod(entry.type, now)) this.#retire(key, entry);
    return this.#past.splice(0);
  }

  #retire(key: string, { project_id, type, minute, count }: Entry): void {
    this.#open.delete(key);
    if (count > 0) this.#past.push({ project_id, type, minute, count });
  }
}
