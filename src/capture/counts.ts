// What capture counts, as the operator's metrics.

import type { FaultCode } from "../core/fault.ts";
import type { MemoryBudget } from "../work/bodies/memory_budget.ts";
import type { CaptureMetrics } from "./metrics.ts";
import type { OpenCaptureOptions, OpenedCapture } from "./open.ts";
import type { CaptureCounts } from "./pipeline.ts";

/** Metrics of events on their way into ClickHouse; warnings travel the same way and are not counted as events. */
export function flushCounts(metrics: CaptureMetrics): OpenCaptureOptions["counts"] {
  const quarantined = metrics.registry.counter(
    "sluice_events_quarantined_total",
    "Accepted events that ClickHouse refuses for good; see bun run sluice journal list.",
  );
  const { registry } = metrics;
  const files = registry.counter(
    "sluice_journal_damaged_total",
    "Journal files found damaged, missing or misnamed.",
  );
  const lost = registry.counter(
    "sluice_journal_lost_rows_total",
    "Acknowledged rows found lost in them, as far as is known.",
  );
  const unreadable = registry.counter(
    "sluice_journal_damaged_bytes_total",
    "Bytes of them that cannot be read.",
  );
  const unrecorded = registry.counters(
    "sluice_names_unrecorded_total",
    "Names of events and properties that are not listed: longer than 200 characters, or too many.",
    "reason",
    ["too_long", "too_many"],
  );
  return {
    unrecorded: (why, names) => unrecorded.of(why).add(names),
    damaged: (damage) => {
      files.add(damage.files);
      lost.add(damage.rows);
      unreadable.add(damage.bytes);
    },
    stored: (lane, rows) => {
      if (lane.isCounted) metrics.eventsStored.of(lane.name).add(rows);
    },
    quarantined: (lane, rows) => {
      if (lane.isCounted) quarantined.add(rows);
    },
    spiked: () => metrics.spikes.add(),
    seconds: (value) => metrics.flushSeconds.observe(value),
  };
}

/** Metrics of events that come in. */
export function captureCounts(metrics: CaptureMetrics): CaptureCounts {
  return {
    received: (events) => metrics.eventsReceived.add(events),
    accepted: (lane, events) => metrics.eventsAccepted.of(lane).add(events),
    ignored: (reason, events) => metrics.eventsIgnored.of(reason).add(events),
    warned: (warning, events) => metrics.eventsWarned.of(warning).add(events),
  };
}

/** From now on the gauges show what waits in this journal. */
export function followJournal(metrics: CaptureMetrics, { journal }: OpenedCapture): void {
  metrics.journalPendingEvents.follow(() => journal.pending().events);
  metrics.journalPendingBytes.follow(() => journal.pending().bytes);
  metrics.sessionsPendingEvents.follow(() => journal.heldEvents);
}

/** What all journals of a server share, to be followed once: the disk, and sessions that wait in Postgres. */
export function followShared(metrics: CaptureMetrics, { freeBytes, sessionBacklog }: OpenedCapture): void {
  metrics.sessionsBacklogBatches.follow(sessionBacklog);
  const free = metrics.registry.gauge("sluice_disk_free_bytes", "Free bytes of the volume DATA_DIR is on.");
  free.follow(freeBytes);
}

/** Counts requests refused whole; of those that are to come again the log tells how many. */
export function refusalCounts(
  metrics: CaptureMetrics,
  { journal }: OpenedCapture,
): (code: FaultCode) => void {
  return (code) => {
    metrics.requestsRefused.of(code).add();
    if (code === "unavailable") journal.noteRefused();
  };
}

/** From now on the gauge shows what request bodies hold in memory. */
export function followMemory(metrics: CaptureMetrics, memory: MemoryBudget): void {
  const held = metrics.registry.gauge(
    "sluice_request_body_bytes",
    "Bytes that request bodies hold in memory now.",
  );
  held.follow(() => memory.held);
}
