// A journal of a test's own, without stores, and rows for each of its lanes.

import {
  CaptureJournal,
  type CaptureJournalOptions,
  captureLanes,
} from "../../src/capture/capture_journal.ts";
import { emptyRow, newUuidBytes } from "../../src/capture/fields/row.ts";
import type { JournalIdentity } from "../../src/capture/journal/identity/journal_identity.ts";
import type { LaneKind } from "../../src/capture/journal/lane_kind.ts";
import { FactsCollector } from "../../src/capture/recordings/snapshot_facts.ts";
import { toBytes } from "../../src/core/bytes.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";

export const laneNames = ["live", "historical", "warnings", "merges", "recordings"] as const;
export type LaneName = (typeof laneNames)[number];

export function laneNamed(name: LaneName): LaneKind {
  return captureLanes.find((lane) => lane.name === name)!;
}

export function clockAt(millis: number): Clock & { millis: number } {
  const clock = { millis, now: () => clock.millis, elapsed: () => clock.millis };
  return clock;
}

/** Opens a journal of number 3 whose segments are sealed when a test says so. */
export function openJournal(folder: string, options: Partial<CaptureJournalOptions> = {}): CaptureJournal {
  const journal = new CaptureJournal({
    folder,
    number: 3,
    flushIntervalMs: 3_600_000,
    bytesMax: 1 << 30,
    clock: clockAt(1_700_000_000_000),
    log: silentLog,
    ...options,
  });
  journal.open();
  return journal;
}

const text = (value: string) => ({ source: toBytes(value), from: 0, to: toBytes(value).length });

/** Appends one row that tells by its content which it is. */
export function appendTo(journal: CaptureJournal, lane: LaneName, place: number): void {
  const timestamp = Date.UTC(2024, 0, 15) * 1000;
  if (lane === "warnings") {
    const details = JSON.stringify({ place });
    const row = { project_id: 1, type: "kept", details, event: "", distinct_id: "", count: 1, timestamp };
    return journal.warnings.append(row);
  }
  if (lane === "merges") {
    const row = { project_id: 1, kind: 1, from: `from ${place}`, into: `into ${place}`, at: timestamp };
    return journal.merges.append({ ...row, created_at: journal.stamp(), timestamp: journal.stamp() });
  }
  if (lane === "recordings") {
    const { facts } = new FactsCollector();
    const ids = { session_id: `session ${place}`, window_id: "w", distinct_id: text("d"), source: "web" };
    const data = { data: text(`[${place}]`), own: true, facts, skew: 0 };
    const row = { project_id: 1, uuid: newUuid(place), ...ids, ...data, timestamp, expires_at: timestamp };
    return journal.recordings.append(row);
  }
  const row = emptyRow();
  Object.assign(row, { project_id: 1, event: text("kept"), distinct_id: text(`d${place}`) });
  Object.assign(row, { properties: text(`{"place":${place}}`), timestamp, created_at: journal.stamp() });
  row.uuid.set(newUuid(place));
  journal[lane === "historical" ? lane : "live"].append(row);
}

function newUuid(place: number): Uint8Array {
  const uuid = new Uint8Array(16);
  newUuidBytes(1_700_000_000_000, uuid, place);
  uuid.fill(7, 8, 13);
  return uuid;
}

/** An identity as a journal's first start writes it, but for what is given. */
export function identityOf(given: Partial<JournalIdentity> = {}): JournalIdentity {
  return {
    name: "0190f1f2-0000-7000-8000-000000000001",
    number: 12,
    database: "0190f1f2-0000-7000-8000-00000000000d",
    postgres: "host:5432/sluice",
    holder: "a",
    earlier: "",
    home: { host: "h", path: "/data", inodes: "1 2" },
    ...given,
  };
}
