// Counts of capture, as the operator's metrics.

import { systemClock } from "../core/clock.ts";
import type { FaultCode } from "../core/fault.ts";
import type { MemoryBudget } from "../work/bodies/memory_budget.ts";
import { captureSetup } from "./capture_journal.ts";
import type { CaptureCounts } from "./capture_options.ts";
import { readSegmentMillis } from "./journal/segments/segment.ts";
import { listWaiting, spoolFolder } from "./journal/segments/segment_spool.ts";
import type { CaptureMetrics } from "./metrics.ts";
import type { OpenCaptureOptions, OpenedCapture } from "./open.ts";

/**
 * Metrics of events on their way into ClickHouse; warnings travel the same way and are not counted as events.
 * @param dataDir of one process of a server: it tells what waits there for the archive.
 */
export function flushCounts(metrics: CaptureMetrics, dataDir?: string): OpenCaptureOptions["counts"] {
  const quarantined = metrics.registry.counter(
    "sluice_events_quarantined_total",
    "Accepted events that ClickHouse refuses permanently; see bun run sluice journal list.",
  );
  const { registry } = metrics;
  const files = registry.counter("sluice_journal_damaged_total", "Journal files found damaged or missing.");
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
  const unarchived = registry.counter(
    "sluice_journal_unarchived_segments_total",
    "Stored segments of the journal that the archive will not get, since too many waited for it.",
  );
  if (dataDir !== undefined) {
    const help = "Age of the oldest stored segment of the journal that waits to be archived.";
    registry.followed("gauge", "sluice_journal_unarchived_seconds", help, () => {
      const [oldest] = listWaiting(captureSetup.io, spoolFolder(dataDir));
      return oldest ? Math.max(0, systemClock.now() - readSegmentMillis(oldest.id)) / 1000 : 0;
    });
  }
  return {
    unarchived: () => unarchived.add(1),
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

export function captureCounts(metrics: CaptureMetrics): CaptureCounts {
  return {
    received: (events) => metrics.eventsReceived.add(events),
    accepted: (lane, events) => metrics.eventsAccepted.of(lane).add(events),
    ignored: (reason, events) => metrics.eventsIgnored.of(reason).add(events),
    warned: (warning, events) => metrics.eventsWarned.of(warning).add(events),
  };
}

export function followJournal({ registry }: CaptureMetrics, { journal }: OpenedCapture): void {
  const gauge = (name: string, help: string, read: () => number) =>
    registry.followed("gauge", name, help, read);
  const waiting = "Events in the journal that are not yet stored.";
  gauge("sluice_journal_pending_events", waiting, () => journal.pending().events);
  gauge("sluice_journal_pending_bytes", "Bytes of these events on disk.", () => journal.pending().bytes);
  const underived = "Stored events whose sessions are not yet derived.";
  gauge("sluice_sessions_pending_events", underived, () => journal.underivedEvents);
}

/** Follows once what all journals of a server share: the disk, and sessions that wait in Postgres. */
export function followShared(
  { registry }: CaptureMetrics,
  { freeBytes, sessionBacklog }: OpenedCapture,
): void {
  const backlog = "Stored batches whose sessions ClickHouse refused to derive; they are retried.";
  registry.followed("gauge", "sluice_sessions_backlog_batches", backlog, sessionBacklog);
  registry.followed("gauge", "sluice_disk_free_bytes", "Free bytes of the volume DATA_DIR is on.", freeBytes);
}

/** Counts requests refused whole; the log has how many of them the journal refused, not keys that cannot be checked. */
export function refusalCounts(
  metrics: CaptureMetrics,
  { journal }: OpenedCapture,
): (code: FaultCode) => void {
  return (code) => {
    metrics.requestsRefused.of(code).add();
    const isJournal = journal.isFull || journal.quota.areRecordingsFull || journal.isFailing();
    if (code === "unavailable" && isJournal) journal.reportRefused();
  };
}

export function followMemory({ registry }: CaptureMetrics, memory: MemoryBudget): void {
  const help = "Bytes of memory that request bodies use now.";
  registry.followed("gauge", "sluice_request_body_bytes", help, () => memory.held);
}
