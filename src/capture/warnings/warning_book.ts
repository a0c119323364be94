// The warning book: writes warnings about a project's events into the journal's lane of warnings, a bounded number for
// each minute. Events do not wait for it.

import type { Applied } from "../../persons/store.ts";
import type { Uses } from "../../storage/services.ts";
import type { Repaired } from "../decode/repair.ts";
import type { Example, Outcomes, Reason, Warning } from "../fields/outcome.ts";
import type { Lane } from "../journal/lane.ts";
import { captureLimits } from "../limits.ts";
import type { StrayEvent } from "../wasm/unread_events.ts";
import { sentences } from "./sentences.ts";
import { type SeededMinute, type Spike, SpikeWatch } from "./spike.ts";
import type { WarningRow } from "./warning.ts";
import {
  minuteMicros,
  periodMinutes,
  type Unlisted,
  type WarningLimiter,
  WarningQuota,
} from "./warning_quota.ts";
import { warningText } from "./warning_text.ts";

interface WarningBookOptions extends Uses<"clock" | "log"> {
  lane: Lane<WarningRow>;
  spiked(): void;
  /** The process that counts for several, including this one; without it, this process counts alone. */
  shared?: SharedBook;
}

/** The part of the book that one process keeps for all. */
export interface SharedBook extends WarningLimiter {
  /** Counts live events that were accepted. */
  count(project_id: number, events: number): void;
}

export class WarningBook {
  readonly #options: WarningBookOptions;
  readonly #own = new WarningQuota();
  readonly #quota: WarningLimiter;
  readonly #spikes = new SpikeWatch();

  constructor(options: WarningBookOptions) {
    this.#options = options;
    this.#quota = options.shared ?? this.#own;
  }

  /**
   * Lists the first examples of each type, and counts the rest. Resolves when the listed ones are on disk, or the
   * journal has logged its failure; metrics count the events in either case.
   * @param bytes the body that entries of the outcomes point into.
   * @param repaired where the body was repaired, if it was.
   */
  async record(
    project_id: number,
    { ignored, warned }: { ignored: Outcomes<Reason>; warned: Outcomes<Warning> },
    bytes: Uint8Array,
    repaired?: Repaired,
  ): Promise<void> {
    if (ignored.total + warned.total === 0) return;
    const now = this.#options.clock.now() * 1000;
    const list = async (type: Reason | Warning, count: number, all: readonly Example<Reason | Warning>[]) => {
      const listable = this.#quota.admit(project_id, type, count, now);
      // The texts are made now: the body may be gone when worker 1 answers.
      const most = typeof listable === "number" ? listable : count;
      const examples = all.filter((example) => example.type === type).slice(0, most);
      const rows = examples.map((example) => warningText(example, bytes, project_id, now, repaired));
      const listed = rows.slice(0, await listable);
      for (const row of listed) this.#options.lane.append(row);
      return listed.length;
    };
    const listing = [ignored, warned].flatMap(({ counts, examples }: Outcomes<Reason | Warning>) =>
      Array.from(counts, ([type, count]) => list(type, count, examples)),
    );
    if ((await Promise.all(listing)).some((rows) => rows > 0)) await this.#commit();
  }

  /** Answers how many warnings another process may list; the rest is counted here. */
  admit(project_id: number, type: string, count: number): number {
    return this.#own.admit(project_id, type, count, this.#options.clock.now() * 1000);
  }

  /** Adds what another process did not list. */
  countUnlisted(unlisted: readonly Unlisted[]): void {
    for (const item of unlisted) this.#own.add(item);
  }

  /** Writes warnings of merges and types of groups that were refused; their events are kept. */
  recordRefused({ refused, refusedTypes }: Applied): void {
    for (const merge of refused) {
      const { project_id, from, into } = merge;
      const about = { merged_id: from, into_id: into };
      this.#warn("cannot_merge_already_identified", { project_id, distinct_id: from }, about);
    }
    for (const { project_id, name, forbidden: barred } of refusedTypes) {
      const type = barred ? "group_type_not_allowed" : "group_types_limit_exceeded";
      this.#warn(type, { project_id }, { group_type: name });
    }
    if (refused.length + refusedTypes.length > 0) void this.#commit();
  }

  /** Writes warnings of events that lie outside of their sessions, as of their arrival: they are folded later. */
  recordStrays(strays: readonly StrayEvent[]): void {
    for (const { session_id, event_timestamp: micros, ...row } of strays) {
      this.#warn("event_outside_session", row, { session_id, event_timestamp: toIso(micros / 1000) });
    }
    if (strays.length > 0) void this.#commit();
  }

  /** Counts live events that were accepted. */
  count(project_id: number, events: number): void {
    if (this.#options.shared) return this.#options.shared.count(project_id, events);
    const spike = this.#spikes.count(project_id, events, this.#options.clock.now());
    if (!spike) return;
    const { start, baseline } = spike;
    this.#options.spiked();
    this.#options.log.warn("a spike of live events", { project_id, start: toIso(start), baseline });
    this.#spike("spike_detected", spike, start);
    void this.#commit();
  }

  /**
   * Starts to report spikes. `recent`: events of the last hour by project and minute, from earlier processes; without
   * them each start in a busy hour would look like a spike.
   */
  watch(recent: readonly ({ project_id: number } & SeededMinute)[]): void {
    const now = this.#options.clock.now();
    for (const { project_id, ...minute } of recent) this.#spikes.seed(project_id, minute, now);
    this.#spikes.armed = true;
  }

  /** Writes the counts of periods that are over, and the spikes that ended. */
  async poll(now = this.#options.clock.now()): Promise<void> {
    const unlisted = [...this.#own.drain(now * 1000), ...(this.#options.shared?.drain(now * 1000) ?? [])];
    for (const { project_id, type, minute, count } of unlisted) {
      const minutes = periodMinutes(type);
      const message = `${count} more in this ${minutes === 1 ? "minute" : "hour"}, not listed one by one.`;
      const about = sentences[type as Reason | Warning];
      // The period's last microsecond, so that a query for the period finds it; at a stop it may not be over.
      const timestamp = Math.min((minute + minutes) * minuteMicros - 1, this.#options.clock.now() * 1000);
      this.#append({ project_id, type, count, timestamp }, { message, about, count });
    }
    const ended = now === Number.POSITIVE_INFINITY ? [] : this.#spikes.drainEnded(now);
    for (const spike of ended) this.#spike("spike_ended", spike, spike.end ?? now);
    if (unlisted.length + ended.length > 0) await this.#commit();
  }

  async close(): Promise<void> {
    await this.poll(Number.POSITIVE_INFINITY);
  }

  #spike(type: "spike_detected" | "spike_ended", spike: Spike, at: number): void {
    const { project_id, start, end, peak, baseline } = spike;
    const message =
      `More than ${captureLimits.spikeFactor} times the usual number of live events in a minute, and more than ` +
      `${captureLimits.spikeEventsMin}. All of them are stored.`;
    const ends = end === undefined ? null : toIso(end);
    const details = { message, start: toIso(start), end: ends, peak, baseline };
    this.#append({ project_id, type, timestamp: at * 1000 }, details);
  }

  #warn(type: Warning, row: Pick<WarningRow, "project_id"> & Partial<WarningRow>, about: object): void {
    const now = this.#options.clock.now() * 1000;
    if (this.#own.admit(row.project_id, type, 1, now) === 0) return;
    this.#append({ timestamp: now, ...row, type }, { message: sentences[type], ...about });
  }

  #append(
    row: Pick<WarningRow, "project_id" | "type" | "timestamp"> & Partial<WarningRow>,
    details: object,
  ): void {
    this.#options.lane.append({
      event: "",
      distinct_id: "",
      count: 1,
      ...row,
      details: JSON.stringify(details),
    });
  }

  async #commit(): Promise<void> {
    // The lane logs what it cannot write.
    await this.#options.lane.commit().catch(() => {});
  }
}

function toIso(millis: number): string {
  return new Date(millis).toISOString();
}
