// The fast scan against the slow one: the same index, the same complaint, the same rows for any body.
// `bun test/support/differential.ts [CASES] [SEED]` tries as many as told (100,000).

import fc from "fast-check";
import { Block } from "../../src/capture/block.ts";
import type { Sending } from "../../src/capture/event.ts";
import type { EventLane, Journal } from "../../src/capture/journal.ts";
import { layRows } from "../../src/capture/lay.ts";
import { entryLength } from "../../src/capture/member.ts";
import { layout } from "../../src/capture/fast_layout.ts";
import { Outcomes, type Warning } from "../../src/capture/outcome.ts";
import { type Row, monthOf, uuidText } from "../../src/capture/row.ts";
import { Recorder } from "../../src/capture/recorder.ts";
import { Scan } from "../../src/capture/scan.ts";
import { type LaidRows, Slab } from "../../src/capture/slab.ts";
import { Fault } from "../../src/core/fault.ts";
import { bodies } from "./odd_bodies.ts";

const decoder = new TextDecoder();
const received = Date.UTC(2026, 0, 15, 12) * 1000;
const slab = new Slab(1 << 20);

/** What became of a body: the complaint, or all that the scan says and the rows that were laid. */
export type Outcome = Record<string, unknown>;

export async function outcomeOf(body: Uint8Array, fast: boolean, sliceBytes = 1 << 20): Promise<Outcome> {
  let bytes = body.slice();
  if (fast) {
    slab.body.set(bytes);
    bytes = slab.close(bytes.length) as Uint8Array<ArrayBuffer>;
  }
  const scan = new Scan(bytes, false, fast ? slab : undefined);
  try {
    while (!scan.advance(sliceBytes));
  } catch (thrown) {
    if (thrown instanceof Fault) return { fault: thrown.message };
    throw thrown;
  }
  const entries = [...scan.entries.subarray(0, scan.count * entryLength)];
  const lane = new CollectingLane();
  const warned = new Outcomes<Warning>();
  const sending: Sending = { project_id: 7, historical_migration: true, received, skew: 12_345_678 };
  const merges = { append: (row: unknown) => lane.rows.push(JSON.stringify(row)), crowded: false };
  const journal = { stamp: () => received, merges, recordings: { failedGroups: 0 } } as unknown as Journal;
  const recorder = new Recorder({ project_id: 7, received, journal, wanted: false, retentionDays: 1 });
  await layRows({ scan, sending, warned, lane: lane as unknown as EventLane, journal, recorder });
  return {
    shape: scan.shape,
    items: scan.items,
    entries,
    ignored: told(scan.ignored),
    warned: told(warned),
    key: scan.itemKey,
    differ: scan.itemKeysDiffer,
    members: (["api_key", "sent_at", "historical_migration", "batch"] as const).map((name) =>
      scan.member(name),
    ),
    bytes: decoder.decode(bytes),
    rows: lane.rows.toSorted(),
  };
}

function told({ list, counts }: Outcomes<string>) {
  return { list: list.toSorted((a, b) => a.index - b.index), counts: [...counts].toSorted() };
}

/** A lane that writes every row down as text. */
class CollectingLane {
  rows: string[] = [];
  crowded = false;

  append(row: Row): void {
    const text = ({ source, from, to }: { source: Uint8Array; from: number; to: number }) =>
      decoder.decode(source.subarray(from, to));
    this.rows.push(
      JSON.stringify([
        monthOf(row.timestamp),
        shownUuid(row.uuid),
        row.project_id,
        text(row.event),
        text(row.distinct_id),
        text(row.properties),
        row.timestamp,
        row.created_at,
        row.historical_migration,
        row.person_mode,
        row.changes.count + row.groups.count,
      ]),
    );
  }

  appendMany(month: number, rows: number, lay: (block: Block) => number): void {
    let laid: LaidRows | undefined;
    lay({ appendLaid: (given: LaidRows) => ((laid = given), 0) } as unknown as Block);
    if (laid?.rows !== rows) throw new Error("other rows were laid than were told");
    laidFast += rows;
    for (const line of linesOf(laid, month)) this.rows.push(line);
    // And a block takes them.
    const block = new Block();
    block.appendLaid(laid);
    if (block.rows !== rows) throw new Error("a block took other rows");
  }
}

/** A new uuid is random but for its time. */
function shownUuid(uuid: Uint8Array): string {
  const text = uuidText(uuid);
  return text[14] === "7" ? text.slice(0, 13) : text;
}

function* linesOf(laid: LaidRows, month: number): Generator<string> {
  const { bytes, names, body } = laid;
  const view = new DataView(bytes.buffer);
  const place = { ids: layout.OUT_IDS, properties: layout.OUT_PROPERTIES };
  const next = (which: "ids" | "properties"): string => {
    let [size, shift] = [0, 0];
    for (;;) {
      const byte = bytes[place[which]++]!;
      size |= (byte & 127) << shift;
      shift += 7;
      if (byte < 128) break;
    }
    const from = place[which];
    place[which] += size;
    return decoder.decode(bytes.subarray(from, from + size));
  };
  for (let row = 0; row < laid.rows; row++) {
    const name = bytes[layout.OUT_EVENT + row]! * 2;
    const at = layout.OUT_UUID + row * 16;
    yield JSON.stringify([
      month,
      shownUuid(bytes.subarray(at, at + 16)),
      view.getUint32(layout.OUT_PROJECT + row * 4, true),
      decoder.decode(body.subarray(names[name]!, names[name]! + names[name + 1]!)),
      next("ids"),
      next("properties"),
      Number(view.getBigInt64(layout.OUT_TIMESTAMP + row * 8, true)),
      Number(view.getBigInt64(layout.OUT_CREATED + row * 8, true)),
      bytes[layout.OUT_HISTORICAL + row] === 1,
      0,
      0,
    ]);
  }
}

/** Rows that were laid the fast way. */
let laidFast = 0;

/** Tries so many bodies. @throws with the seed and the smallest body that the two do not agree on. */
export async function differ(
  cases: number,
  seed = Date.now(),
): Promise<{ cases: number; seed: number; laidFast: number }> {
  laidFast = 0;
  const property = fc.asyncProperty(bodies, fc.integer({ min: 1, max: 400 }), async (text, slice) => {
    const body = typeof text === "string" ? new TextEncoder().encode(text) : text;
    const slow = await outcomeOf(body, false);
    const fast = await outcomeOf(body, true, slice);
    if (!Bun.deepEquals(fast, slow)) {
      throw new Error(`fast: ${JSON.stringify(fast)}\nslow: ${JSON.stringify(slow)}`);
    }
  });
  await fc.assert(property, { numRuns: cases, seed });
  return { cases, seed, laidFast };
}

if (import.meta.main) {
  const [cases = 100_000, seed] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await differ(cases, seed))}\n`);
}
