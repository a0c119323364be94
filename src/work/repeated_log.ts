// A log for what may go wrong thousands of times a second: the first line of a kind is written at once, then one line a
// minute with the number of repetitions.

import type { Clock } from "../core/clock.ts";
import type { Log, LogFields, LogLevel } from "../core/log.ts";
import { workLimits } from "./limits.ts";

type Level = Exclude<LogLevel, "silent">;

interface Kind {
  level: Level;
  message: string;
  /** The fields of the latest line. */
  fields: LogFields;
  /** When a line was last written, and how many were left out since. */
  saidAt: number;
  since: number;
}

export class RepeatedLog implements Log {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Kind>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#log.debug(message, fields);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#log.info(message, fields);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#count("warn", message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#count("error", message, fields);
  }

  /** Writes the lines that waited for a minute; to be called from time to time. */
  poll(): void {
    const now = this.#clock.elapsed();
    for (const [key, kind] of this.#kinds) {
      if (now - kind.saidAt < workLimits.repeatedLogMs) continue;
      if (kind.since === 0) this.#kinds.delete(key);
      else this.#write(kind, now);
    }
  }

  /** Writes all lines that are left. */
  close(): void {
    for (const kind of this.#kinds.values()) if (kind.since > 0) this.#write(kind, this.#clock.elapsed());
    this.#kinds.clear();
  }

  #count(level: Level, message: string, fields: LogFields): void {
    // Each lane counts its own messages.
    const key = `${String(fields["lane"])} ${message}`;
    const kind = this.#kinds.get(key);
    if (kind) {
      kind.fields = fields;
      kind.since++;
      return;
    }
    this.#log[level](message, fields);
    if (this.#kinds.size >= workLimits.repeatedLogKindsMax) return;
    this.#kinds.set(key, { level, message, fields, saidAt: this.#clock.elapsed(), since: 0 });
  }

  #write(kind: Kind, now: number): void {
    const seconds = Math.round((now - kind.saidAt) / 1000);
    this.#log[kind.level](kind.message, { ...kind.fields, times: kind.since, seconds });
    kind.saidAt = now;
    kind.since = 0;
  }
}
