import { expect, test } from "bun:test";
import { appendEvents } from "../../src/capture/append_events.ts";
import type { AppendContext } from "../../src/capture/append_slow_path.ts";
import type { CaptureJournal, EventLane } from "../../src/capture/capture_journal.ts";
import { definitionLimits } from "../../src/capture/definitions/limits.ts";
import type { EventContext } from "../../src/capture/event/event.ts";
import { FirstRanks } from "../../src/capture/event/first_ranks.ts";
import { Outcomes, type Warning } from "../../src/capture/fields/outcome.ts";
import { emptyRow, type Row } from "../../src/capture/fields/row.ts";
import { CommitGroups, CommitWaiters } from "../../src/capture/journal/lane.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { Recorder } from "../../src/capture/recordings/recorder.ts";
import { BodyScanner } from "../../src/capture/scan/body_scanner.ts";
import { type ColumnBatch, ScanArena } from "../../src/capture/wasm/scan_arena.ts";
import { toBytes } from "../../src/core/bytes.ts";
import { noDefinitions, openBook } from "../support/definitions.ts";

const received = Date.UTC(2026, 0, 15, 12) * 1000;

interface Laid {
  /** created_at of each row or column of rows, and how many turns others had had by then. */
  rows: { created: number; turns: number }[];
  /** What the journal told others, at each of their turns. */
  told: number[];
}

/** Lays a body's rows while others ask the journal for the time in each of their turns. */
async function columns(
  items: string[],
  definitions: AppendContext["definitions"] = noDefinitions,
): Promise<Laid> {
  const bytes = toBytes(`{"batch":[${items.join(",")}]}`);
  const arena = new ScanArena(bytes.length);
  arena.body.set(bytes);
  const scanner = new BodyScanner(arena.close(bytes.length), { fast: arena });
  while (!scanner.advance(1 << 20));
  let micros = received;
  const found: Laid = { rows: [], told: [] };
  const note = (created: number) => found.rows.push({ created, turns: found.told.length });
  const lane = {
    isCrowded: false,
    group: new CommitWaiters(),
    append: (row: Row) => note(row.created_at),
    appendMany: (_year: number, _rows: number, lay: (block: unknown) => number) =>
      lay({
        appendColumns: (columns: ColumnBatch) => {
          note(columns.created);
          return 0;
        },
      }),
  } as unknown as EventLane;
  const merging = { append: () => {}, isCrowded: false, openRows: 0 };
  const stamp = () => ++micros;
  const journal = {
    stamp,
    allocateRanks: () => 0,
    firstRanks: new FirstRanks(),
    row: emptyRow(),
    merging,
  } as unknown as CaptureJournal;
  const groups = new CommitGroups();
  const ofProject = { project_id: 7, received, skew: 0, wanted: false, retentionDays: 1 };
  const warned = new Outcomes<Warning>();
  const recorder = new Recorder({ ...ofProject, journal, groups, warned });
  const eventContext: EventContext = { project_id: 7, historical_migration: false, received, skew: 0 };
  let over = false;
  const others = () => {
    found.told.push(stamp());
    if (!over) setImmediate(others);
  };
  setImmediate(others);
  const lanes = { next: () => lane };
  await appendEvents({
    scanner,
    eventContext: eventContext,
    warned,
    lanes,
    groups,
    journal,
    definitions,
    newRecorder: () => recorder,
  });
  over = true;
  return found;
}

/** True when no row is older than the watermark that the journal had published before the row was appended. */
function risesWith({ rows, told }: Laid): boolean {
  return rows.every(({ created, turns }) => turns === 0 || created > told[turns - 1]!);
}

test("unusual events are laid a stretch of bytes at a time, and none is older than what others were told", async () => {
  const text = "\\u0000".repeat(10_000);
  const items = Array.from(
    { length: 40 },
    () => `{"event":"e","distinct_id":"d","properties":{"a":"${text}"}}`,
  );
  const found = await columns(items);
  expect(found.rows).toHaveLength(40);
  expect(found.rows.at(-1)!.turns).toBeGreaterThanOrEqual(
    (40 * 60_000) / captureLimits.slowSliceBytesMax - 2,
  );
  expect(risesWith(found)).toBe(true);
});

test("names are read some at a time, whichever way their events go", async () => {
  const names = (i: number, more: string) =>
    Array.from({ length: 500 }, (_, n) => `"${more}k${i * 500 + n}":1`).join(",");
  const item = (properties: string) => `{"event":"e","distinct_id":"d","properties":{${properties}}}`;
  for (const more of ["", "\\u006b"]) {
    const items = Array.from({ length: 80 }, (_, i) => item(names(i, more)));
    const found = await columns(items, openBook().book);
    expect(found.rows.at(-1)!.turns).toBeGreaterThanOrEqual((80 * 500) / definitionLimits.namesAtOnceMax - 2);
    expect(risesWith(found)).toBe(true);
  }
});

test("events of a hundred years are laid some years at a time, and none is older than what others were told", async () => {
  const items = Array.from({ length: 1080 }, (_, i) => {
    const timestamp = new Date(Date.UTC(1900 + (i % 126), i % 12, 15)).toISOString();
    return `{"event":"e","distinct_id":"d","timestamp":"${timestamp}","properties":{}}`;
  });
  const found = await columns(items);
  expect(found.rows.at(-1)!.turns).toBeGreaterThanOrEqual(1);
  expect(risesWith(found)).toBe(true);
});
