// How long ago the server of each journal reported, so that the remaining servers notice one that is gone.

import type { Clock } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { readSilences } from "../../storage/watermark.ts";
import type { Registry } from "./metrics.ts";

/** Checks again; resolves to a text when there are servers that do not report. */
export type SilenceCheck = () => Promise<string | undefined>;

export function followSilence(registry: Registry, sql: Postgres, clock: Clock): SilenceCheck {
  let silences: [journal: string, seconds: number][] = [];
  const help = "Seconds since the server of a journal, this one or another, last reported to Postgres.";
  registry.gauges("sluice_journal_silence_seconds", help, "journal", () => silences);
  return async () => {
    silences = await readSilences(sql, clock.now());
    const silentCount = silences.filter(([, seconds]) => seconds > limits.serverSilentSecondsMax).length;
    return silentCount === 0 ? undefined : `servers of ${silentCount} journals do not report`;
  };
}
