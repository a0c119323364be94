// The live page's figures of the whole server, from the metrics of all its processes. Counters are sent as they are;
// the page computes differences.

import type { MetricsRead } from "../http/metrics/metrics.ts";

export type Figures = ReturnType<typeof computeFigures>;

/**
 * @param readings the metrics of each process.
 * @param at when they were read, in ms since 1970.
 * @param behind_ms events accepted before now minus this, in ms, can be read; null when that is not known.
 */
export function computeFigures(readings: readonly MetricsRead[], at: number, behind_ms: number | null) {
  const sum = (name: string): number =>
    Object.values(labelled(readings, name)).reduce((total, value) => total + value, 0);
  const line = (metric: string, name: string): number =>
    readings
      .flatMap((reading) => reading[metric]?.lines ?? [])
      .reduce((total, [text, value]) => total + (text === name ? value : 0), 0);
  return {
    at,
    accepted: labelled(readings, "sluice_events_accepted_total"),
    stored: labelled(readings, "sluice_events_stored_total"),
    ignored: labelled(readings, "sluice_events_ignored_total"),
    warned: labelled(readings, "sluice_events_warned_total"),
    refused: labelled(readings, "sluice_requests_refused_total"),
    pending_events: sum("sluice_journal_pending_events"),
    pending_bytes: sum("sluice_journal_pending_bytes"),
    quarantined: sum("sluice_events_quarantined_total"),
    spikes: sum("sluice_spikes_total"),
    disk_free_bytes: sum("sluice_disk_free_bytes"),
    /** Replies to captures: their number, and the sum of their seconds. */
    captures: {
      count: line("sluice_capture_seconds", "sluice_capture_seconds_count"),
      seconds: line("sluice_capture_seconds", "sluice_capture_seconds_sum"),
    },
    behind_ms,
  };
}

/** The values of a metric by its one label; without a label, by "". */
function labelled(readings: readonly MetricsRead[], name: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [text, value] of readings.flatMap((reading) => reading[name]?.lines ?? [])) {
    const opens = text.indexOf('="');
    const label = opens < 0 ? "" : text.slice(opens + 2, text.lastIndexOf('"'));
    sums[label] = (sums[label] ?? 0) + value;
  }
  return sums;
}
