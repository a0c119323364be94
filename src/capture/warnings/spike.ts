// Spikes: minutes in which a project sends far more than usual. Only counts and compares: no event is rejected or
// delayed.

import { captureLimits } from "../limits.ts";

export interface Spike {
  project_id: number;
  /** The beginning of its first minute, and of the minute after its last; in milliseconds since 1970. */
  start: number;
  end: number | undefined;
  /** Events of its busiest minute so far. */
  peak: number;
  /** Mean events a minute in the hour before it, or since the project's first event if that is later. */
  baseline: number;
}

export interface SeededMinute {
  /** Counted from 1970. */
  minute: number;
  events: number;
  /** When the first of them arrived, in ms since 1970. */
  since: number;
}

interface Watched {
  /** Events of each of the last minutes, at the minute's number modulo captureLimits.spikeMinutes. */
  minutes: Float64Array;
  sum: number;
  now: number;
  /** Start of its counting, in minutes since 1970: a fraction where its first event is known. */
  since: number;
  spike: Spike | undefined;
}

const minuteMs = 60_000;

export class SpikeWatch {
  readonly #projects = new Map<number, Watched>();
  /** Projects that sent events before the last hour, at most as many as are watched: their empty minutes count. */
  readonly #old = new Set<number>();
  /** The current minute, in minutes since 1970. If the clock goes back, earlier events count into it. */
  #minute = 0;
  #ended: Spike[] = [];
  /** False until the hour before the start is seeded: events are counted, and no spike is found. */
  armed = false;

  /** Counts `events` of a project at `now` (ms); returns the spike that starts with them, if one does. */
  count(project_id: number, events: number, now: number): Spike | undefined {
    this.#advance(now);
    const watched = this.#watch(project_id, now);
    if (!watched) return undefined;
    watched.now += events;
    if (watched.spike) {
      watched.spike.peak = Math.max(watched.spike.peak, watched.now);
      return undefined;
    }
    // A project's first minute has nothing to be compared with, the following ones the time since its first event.
    const compared = Math.min(captureLimits.spikeMinutes, this.#minute - watched.since);
    if (compared <= 0) return undefined;
    const baseline = watched.sum / compared;
    if (!this.armed || !isSpike(watched.now, baseline)) return undefined;
    const start = this.#minute * minuteMs;
    watched.spike = { project_id, start, end: undefined, peak: watched.now, baseline };
    return watched.spike;
  }

  /** Adds events of an earlier process, of a minute before the current one. */
  seed(project_id: number, { minute, events, since }: SeededMinute, now: number): void {
    this.#advance(now);
    const age = this.#minute - minute;
    if (age < 1 || age > captureLimits.spikeMinutes) return;
    const watched = this.#watch(project_id, now);
    if (!watched) return;
    watched.minutes[minute % captureLimits.spikeMinutes]! += events;
    watched.sum += events;
    watched.since = Math.min(watched.since, since / minuteMs);
  }

  /** Removes and returns the spikes that are over at `now` (ms). */
  drainEnded(now: number): Spike[] {
    this.#advance(now);
    return this.#ended.splice(0);
  }

  get size(): number {
    return this.#projects.size;
  }

  #watch(project_id: number, now: number): Watched | undefined {
    const known = this.#projects.get(project_id);
    if (known || this.#projects.size >= captureLimits.spikeProjectsMax) return known;
    const minutes = new Float64Array(captureLimits.spikeMinutes);
    const since = this.#old.has(project_id) ? Number.NEGATIVE_INFINITY : now / minuteMs;
    const watched: Watched = { minutes, sum: 0, now: 0, since, spike: undefined };
    this.#projects.set(project_id, watched);
    return watched;
  }

  /** Ends every minute before that of `now`. After more than an hour of silence everything is forgotten. */
  #advance(now: number): void {
    const minute = Math.floor(now / minuteMs);
    if (minute < this.#minute - captureLimits.spikeMinutes) {
      // The clock was far ahead and has been corrected: what was counted meanwhile is useless.
      this.#projects.clear();
      this.#minute = 0;
    }
    if (this.#minute === 0) this.#minute = minute;
    this.#minute = Math.max(this.#minute, minute - captureLimits.spikeMinutes - 1);
    for (; this.#minute < minute; this.#minute++) {
      for (const [project_id, watched] of this.#projects) {
        this.#endMinute(watched);
        if (watched.sum > 0 || watched.spike) continue;
        this.#projects.delete(project_id);
        if (this.#old.size < captureLimits.spikeProjectsMax) this.#old.add(project_id);
      }
    }
  }

  #endMinute(watched: Watched): void {
    const { spike, minutes, now } = watched;
    const lasted = spike ? (this.#minute + 1) * minuteMs - spike.start : 0;
    if (spike && !isSpike(now, spike.baseline)) this.#end(watched, spike, this.#minute * minuteMs);
    else if (spike && lasted >= captureLimits.spikeMinutes * minuteMs) {
      // After an hour it is the usual rate, with which the next hour is compared.
      this.#end(watched, spike, (this.#minute + 1) * minuteMs);
    }
    const index = this.#minute % captureLimits.spikeMinutes;
    watched.sum += now - minutes[index]!;
    minutes[index] = now;
    watched.now = 0;
  }

  #end(watched: Watched, spike: Spike, end: number): void {
    watched.spike = undefined;
    this.#ended.push({ ...spike, end });
  }
}

function isSpike(events: number, baseline: number): boolean {
  return events > captureLimits.spikeEventsMin && events > captureLimits.spikeFactor * baseline;
}
