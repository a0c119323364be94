// Capture's own first steps on a body, without a server: scanned, and read event by event.

import { readEvent } from "../src/capture/event/event.ts";
import { toOffset } from "../src/capture/fields/event_fields.ts";
import { emptyRow, type Row } from "../src/capture/fields/row.ts";
import { BodyScanner } from "../src/capture/scan/body_scanner.ts";
import type { EventIndex } from "../src/capture/scan/event_index.ts";

const sending = { project_id: 1, historical_migration: true, received: Date.UTC(2026, 0) * 1000, skew: 0 };
const row = emptyRow();

export function scanned(body: Uint8Array): EventIndex {
  const scan = new BodyScanner(body);
  while (!scan.advance(body.length)) continue;
  return scan.index;
}

/** Shows every event as a row, which is the same object each time. Returns how many there were. */
export function eachRow(scan: EventIndex, take: (row: Row) => void): number {
  const before = scan.count;
  for (let which = 0; which < scan.count; which++) {
    if (readEvent(scan, toOffset(which), sending, row) === undefined) take(row);
  }
  return before;
}

/** CPU-seconds of this process for each GB of `bytes`. */
export function cpuPerGb(bytes: number, run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / (bytes / 1e9);
}
