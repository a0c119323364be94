// What capture counts, as the operator's metrics. Counting is adding to a number; decides nothing.

import type { Metrics } from "../http/metrics.ts";
import type { OpenCaptureOptions, OpenedCapture } from "./open.ts";
import type { CaptureCounts } from "./pipeline.ts";

/** What becomes of events that are on their way into ClickHouse. Warnings travel likewise and are no events. */
export function flushCounts(metrics: Metrics): OpenCaptureOptions["counts"] {
  const quarantined = metrics.registry.counter(
    "sluice_events_quarantined_total",
    "Accepted events that ClickHouse refuses for good; see sluice journal list.",
  );
  return {
    stored: (lane, rows) => {
      if (lane !== "warnings" && lane !== "merges") metrics.eventsStored.of(lane).add(rows);
    },
    quarantined: (lane, rows) => {
      if (lane !== "warnings" && lane !== "merges") quarantined.add(rows);
    },
    spiked: () => metrics.spikes.add(),
    seconds: (value) => metrics.flushSeconds.observe(value),
  };
}

/** What becomes of events that come in. */
export function captureCounts(metrics: Metrics): CaptureCounts {
  return {
    received: (events) => metrics.eventsReceived.add(events),
    accepted: (lane, events) => metrics.eventsAccepted.of(lane).add(events),
    ignored: (reason, events) => metrics.eventsIgnored.of(reason).add(events),
    warned: (warning, events) => metrics.eventsWarned.of(warning).add(events),
  };
}

/** From now on the gauges show what waits in this journal. */
export function followJournal(metrics: Metrics, { journal }: OpenedCapture): void {
  metrics.journalPendingEvents.follow(() => journal.pending().events);
  metrics.journalPendingBytes.follow(() => journal.pending().bytes);
  const damaged = metrics.registry.gauge(
    "sluice_journal_damaged_total",
    "Journal files found damaged at the start.",
  );
  damaged.follow(() => journal.damagedFiles);
}
