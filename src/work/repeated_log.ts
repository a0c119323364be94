// A log for what may go wrong thousands of times a second: the first line of a kind is written at once, then one line a
// minute with the number of repetitions.

import type { Clock } from "../core/clock.ts";
import type { Log, LogFields, LogLevel } from "../core/log.ts";
import { workLimits } from "./limits.ts";

type Level = Exclude<LogLevel, "silent">;

export type RepeatedLog = ReturnType<typeof openRepeatedLog>;

export function openRepeatedLog(log: Log, clock: Clock) {
  /** `fields`: of the latest line; `at`: when one was last written; `since`: how many were left out since. */
  type Kind = { level: Level; message: string; fields: LogFields; at: number; since: number };
  const kinds = new Map<string, Kind>();
  const writeFirst =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      // Each lane counts its own messages.
      const key = `${String(fields["lane"])} ${message}`;
      const kind = kinds.get(key);
      if (kind) {
        kind.fields = fields;
        kind.since++;
        return;
      }
      log[level](message, fields);
      if (kinds.size >= workLimits.repeatedLogKindsMax) return;
      kinds.set(key, { level, message, fields, at: clock.elapsed(), since: 0 });
    };
  const write = (kind: Kind): void => {
    const now = clock.elapsed();
    const seconds = Math.round((now - kind.at) / 1000);
    log[kind.level](kind.message, { ...kind.fields, times: kind.since, seconds });
    kind.at = now;
    kind.since = 0;
  };
  return {
    ...log,
    warn: writeFirst("warn"),
    error: writeFirst("error"),
    /** Writes the lines that waited for a minute; to be called from time to time. */
    poll: (): void => {
      for (const [key, kind] of kinds) {
        if (clock.elapsed() - kind.at < workLimits.repeatedLogMs) continue;
        if (kind.since === 0) kinds.delete(key);
        else write(kind);
      }
    },
    /** Writes all lines that are left. */
    close: (): void => {
      for (const kind of kinds.values()) if (kind.since > 0) write(kind);
      kinds.clear();
    },
  };
}
