// The fast scan against the slow one: the same index, the same complaint, the same rows for any body. `bun
// test/support/differential.ts [CASES] [SEED]` tries this many (100,000).

import fc from "fast-check";
import { appendEvents } from "../../src/capture/append_events.ts";
import type { CaptureJournal, EventLane } from "../../src/capture/capture_journal.ts";
import { Block } from "../../src/capture/columns/block.ts";
import type { EventContext } from "../../src/capture/event/event.ts";
import { FirstRanks } from "../../src/capture/event/first_ranks.ts";
import { alteration, entryLength, field } from "../../src/capture/fields/event_fields.ts";
import { Outcomes, type Warning } from "../../src/capture/fields/outcome.ts";
import { emptyRow, type Row } from "../../src/capture/fields/row.ts";
import { CommitGroups, CommitWaiters } from "../../src/capture/journal/lane.ts";
import { toYear } from "../../src/capture/journal/lane_kind.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { Recorder } from "../../src/capture/recordings/recorder.ts";
import { BodyScanner } from "../../src/capture/scan/body_scanner.ts";
import type { EventIndex } from "../../src/capture/scan/event_index.ts";
import { type ColumnBatch, ScanArena } from "../../src/capture/wasm/scan_arena.ts";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { KnownGroupTypes } from "../../src/persons/group_types.ts";
import { ByteColumn } from "../../src/storage/native/native.ts";
import { openBook } from "./definitions.ts";
import { type NativeRow, readRows } from "./native_rows.ts";
import { bodies } from "./odd_bodies.ts";

const decoder = new TextDecoder();
const received = Date.UTC(2026, 0, 15, 12) * 1000;
const arena = new ScanArena(1 << 20);
const shared = new ScanArena(1 << 20, true);

/** What became of a body: the complaint, or all of the scan's result and the rows that were appended. */
export type Outcome = Record<string, unknown>;

/**
 * `fast`: in an arena; `isShared`: in one that is the body's only until the first turn of others.
 * `indexBytesMax`: longer indexes are appended in parts, and their entries are not in the result.
 */
export async function outcomeOf(
  body: Uint8Array,
  fast: boolean,
  sliceBytes = 1 << 20,
  isShared = false,
  indexBytesMax: number = limits.indexBytesMax,
): Promise<Outcome> {
  let bytes = body.slice();
  const held = fast ? (isShared ? shared : arena) : undefined;
  if (held) {
    held.body.set(bytes);
    bytes = held.close(bytes.length) as Uint8Array<ArrayBuffer>;
  }
  const scanner = new BodyScanner(bytes, { fast: held, indexBytesMax });
  const scan = scanner.index;
  try {
    while (!scanner.advance(sliceBytes));
  } catch (thrown) {
    if (thrown instanceof Fault) return { fault: thrown.message };
    throw thrown;
  }
  const entries = scan.isPartial ? undefined : shownEntries(scan);
  const keys = { key: scan.itemKey, differ: scan.itemKeysDiffer };
  const lane = new CollectingLane();
  const warned = new Outcomes<Warning>();
  const merged: string[] = [];
  const announced: string[] = [];
  const groupTypes = new KnownGroupTypes(({ name }) => announced.push(name));
  const names = ["company", "team", "ä", `${"long".repeat(16)}er`];
  groupTypes.replace([{ project_id: 7, names, allowed: null }]);
  const skew = 12_345_678;
  const eventContext: EventContext = {
    project_id: 7,
    historical_migration: true,
    received,
    skew,
    groupTypes,
  };
  const append = (row: unknown) => merged.push(JSON.stringify(row));
  const merging = { append, isCrowded: false, openRows: 0 };
  let ties = 1;
  const allocateRanks = (count: number) => (ties += count) - count;
  const journal = {
    stamp: () => received,
    allocateRanks,
    firstRanks: new FirstRanks(),
    row: emptyRow(),
    merging,
  } as unknown as CaptureJournal;
  const definitions = openBook();
  const groups = new CommitGroups();
  const ofProject = { project_id: 7, received, skew: 0, wanted: false, retentionDays: 1 };
  const recorder = new Recorder({ ...ofProject, journal, groups, warned: new Outcomes() });
  const lanes = { next: () => lane as unknown as EventLane };
  const columns = appendEvents({
    scanner,
    eventContext: eventContext,
    warned,
    lanes,
    groups,
    journal,
    definitions: definitions.book,
    newRecorder: () => recorder,
  });
  if (isShared && typeof columns !== "number") throw new Error("a short body was not laid at once");
  await columns;
  return {
    shape: scan.shape,
    items: scan.items,
    entries,
    ignored: told(scan.ignored),
    warned: told(warned),
    ...keys,
    members: (["api_key", "sent_at", "historical_migration", "batch"] as const).map((name) =>
      scan.member(name),
    ),
    bytes: decoder.decode(bytes),
    rows: lane.rows().toSorted(),
    merged: merged.toSorted(),
    announced,
    names: await definitions.written(),
  };
}

/** The entries without the shapes, which the fast scan alone writes, and without what only the slow one is unsure of. */
function shownEntries({ entries, count }: EventIndex): number[] {
  const shown = entries.slice(0, count * entryLength);
  for (let at = 0; at < shown.length; at += entryLength) {
    shown.fill(0, at + field.shape, at + field.shape + 2);
    shown[at + field.altered]! &= alteration.characters;
  }
  return [...shown];
}

function told({ list, counts }: Outcomes<string>) {
  return { list: list.toSorted((a, b) => a.index - b.index), counts: [...counts].toSorted() };
}

/** A lane that lays every row into a block of its year, and counts those that came in columns. */
class CollectingLane {
  isCrowded = false;
  group = new CommitWaiters();
  readonly #blocks = new Map<number, Block>();

  append(row: Row): void {
    this.#blockOf(toYear(row.timestamp)).append(row);
  }

  appendMany(year: number, rows: number, lay: (block: Block) => number): void {
    const block = this.#blockOf(year);
    const before = block.rows;
    const taking = {
      appendColumns: (columns: ColumnBatch) => {
        laidChanges += columns.identity?.changes ?? 0;
        laidGroups += columns.identity?.groups ?? 0;
        return block.appendColumns(columns);
      },
    };
    lay(taking as unknown as Block);
    if (rows === 0 || block.rows !== before + rows) throw new Error("other rows were laid than were told");
    laidFast += rows;
  }

  /** As the engine would read them, in no particular order. */
  rows(): string[] {
    return [...this.#blocks].flatMap(([year, block]) => {
      const out = new ByteColumn();
      block.encode(out, 1n, 0);
      const rows = readRows(out.filled());
      block.clear();
      spare.push(block);
      return rows.map(({ uuid, _row, ...row }) => JSON.stringify([year, shownUuid(String(uuid)), who(row)]));
    });
  }

  #blockOf(year: number): Block {
    let block = this.#blocks.get(year);
    if (!block) this.#blocks.set(year, (block = spare.pop() ?? new Block()));
    return block;
  }
}

/** Blocks are used again, as lanes do. */
const spare: Block[] = [];

/** A block in which nobody says anything of persons has no columns for it. */
function who({ rank, ...row }: NativeRow): NativeRow {
  return { person_mode: 0, pk: [], pw: [], pv: [], gt: [], gk: [], ...row, rank: String(rank ?? 0) };
}

/** A new uuid is random but for its time and its turn. */
function shownUuid(text: string): string {
  return text[14] === "7" ? text.slice(0, 25) : text;
}

/** Rows that were appended the fast way, and what they said of persons and groups. */
let laidFast = 0;
let laidChanges = 0;
let laidGroups = 0;
/** Bodies of one event that were scanned as such. */
let laidSingles = 0;
/** Bodies that were appended in parts. */
let laidParts = 0;

function scannedAlone(body: Uint8Array): boolean {
  arena.copy(body);
  return arena.open() === 1;
}

export function laidCounts() {
  return {
    rows: laidFast,
    changes: laidChanges,
    groups: laidGroups,
    singles: laidSingles,
    parts: laidParts,
  };
}

/** Tries so many bodies. @throws with the seed and the smallest body that the two do not agree on. */
export async function differ(
  cases: number,
  seed = Date.now(),
): Promise<{ cases: number; seed: number; columns: ReturnType<typeof laidCounts> }> {
  laidFast = 0;
  laidChanges = 0;
  laidGroups = 0;
  laidSingles = 0;
  laidParts = 0;
  const property = fc.asyncProperty(bodies, fc.integer({ min: 1, max: 400 }), async (text, slice) => {
    const body = typeof text === "string" ? new TextEncoder().encode(text) : text;
    const slow = await outcomeOf(body, false);
    const same = (fast: Outcome) => {
      if (Bun.deepEquals(fast, slow)) return;
      throw new Error(`fast: ${JSON.stringify(fast)}\nslow: ${JSON.stringify(slow)}`);
    };
    same(await outcomeOf(body, true, slice));
    if (slow["shape"] === "event") laidSingles += scannedAlone(body) ? 1 : 0;
    if (body.length < captureLimits.arenaBodyBytesMin) same(await outcomeOf(body, true, 1 << 20, true));
    for (const fast of [true, false]) {
      const parts = await outcomeOf(body, fast, slice, false, (1 + (slice % 3)) * entryLength * 4);
      if (!parts["entries"] && !parts["fault"]) laidParts++;
      same(parts["fault"] ? parts : { ...parts, entries: slow["entries"] });
    }
  });
  await fc.assert(property, { numRuns: cases, seed });
  return { cases, seed, columns: laidCounts() };
}

if (import.meta.main) {
  const [cases = 100_000, seed] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await differ(cases, seed))}\n`);
}
