// Each row of a segment is stored once, or in quarantine, whatever an engine answers.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { BatchInserter } from "../../../src/capture/flush/batch_inserter.ts";
import { BatchSender } from "../../../src/capture/flush/batch_sender.ts";
import { flushLimits } from "../../../src/capture/flush/limits.ts";
import { systemIo } from "../../../src/capture/journal/journal_io.ts";
import type { Refused } from "../../../src/capture/journal/quarantine.ts";
import type { Segment } from "../../../src/capture/journal/segments/segment.ts";
import { silentLog } from "../../../src/core/log.ts";
import {
  type ClickHouse,
  ClickHouseError,
  type NativeBody,
} from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, clockAt, laneNamed, openJournal } from "../../support/journal.ts";
import { readBlocks } from "../../support/native_rows.ts";

afterAll(cleanUp);

/** A closed segment of frames of so many rows each; each row has its place. */
async function segmentOf(...frames: number[]): Promise<Segment> {
  const journal = openJournal(makeFolder());
  let place = 0;
  for (const rows of frames) {
    for (let row = 0; row < rows; row++) appendTo(journal, "live", place++);
    await journal.live.commit();
  }
  await journal.live.seal();
  const segment = journal.nextSealed(laneNamed("live"))!;
  await segment.closed;
  await journal.close();
  await journal.release();
  return segment;
}

const rowsIn = (bytes: Uint8Array) =>
  readBlocks(bytes).map((row) => ({
    batch: row["_batch"] as bigint,
    row: Number(row["_row"]),
    place: (JSON.parse(String(row["properties"])) as { place: number }).place,
  }));

const refusedError = new ClickHouseError("cannot parse", "6", "CANNOT_PARSE_TEXT");
const lost = new ClickHouseError("no answer", "ECONNRESET", "NETWORK");

/** How an INSERT of rows that are not refused ends: stored and said so, lost on the way, or stored and not said so. */
type Ending = "stored" | "lost" | "unheard";

interface World {
  /** Places of rows that are refused. */
  poison?: readonly number[];
  endings?: readonly Ending[];
  isRecovered?: boolean;
  quarantined?: number;
}

/** An engine of these ways, an inserter before it, and what came of it. */
function openInserter({ poison = [], endings = [], quarantined = 0 }: World) {
  const stored: ReturnType<typeof rowsIn> = [];
  const [aside, derived, asked]: [Refused[], bigint[][], number[]] = [[], [], []];
  const said: boolean[] = [];
  const counts = { stored: 0, quarantined: 0 };
  const [left, stopping] = [[...endings], new AbortController()];
  const insert = (_: unknown, body: NativeBody) => {
    const rows = rowsIn(Buffer.concat((body as { bytes: Uint8Array[] }).bytes));
    asked.push(rows.length);
    if (rows.some(({ place }) => poison.includes(place))) return Promise.reject(refusedError);
    const ending = left.shift() ?? "stored";
    if (ending !== "lost") stored.push(...rows);
    return ending === "stored" ? Promise.resolve() : Promise.reject(lost);
  };
  const clickhouse = {
    embedded: false,
    query: (_: string, { batches }: { batches: bigint[] }) => {
      const there = batches.filter((id) => stored.some(({ batch }) => batch === id));
      return Promise.resolve(there.map((batch) => ({ batch: String(batch) })));
    },
    command: (_: string, { batches }: { batches: bigint[] }) => Promise.resolve(void derived.push(batches)),
  } as unknown as ClickHouse;
  let id = 1n << 40n;
  const inserter = new BatchInserter({
    io: systemIo,
    clickhouse,
    clock: clockAt(0),
    log: silentLog,
    stopping: stopping.signal,
    sender: new BatchSender(systemIo, clickhouse, "", insert),
    nextId: () => Promise.resolve(++id),
    quarantine: {
      get count() {
        return quarantined + aside.length;
      },
      add: (refused: Refused) => Promise.resolve(void aside.push(refused)),
    } as never,
    counts: {
      stored: (_, rows) => (counts.stored += rows),
      quarantined: (_, rows) => (counts.quarantined += rows),
      seconds: () => {},
    },
    onAttempt: (isStored) => said.push(isStored),
  });
  return { inserter, stored, aside, derived, asked, said, counts, stopping };
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const places = (rows: { place: number }[]) => rows.map(({ place }) => place).toSorted((a, b) => a - b);

test("a segment is one INSERT, stored under its batch's number", async () => {
  const segment = await segmentOf(2, 3);
  const { inserter, stored, asked, counts, said } = openInserter({});
  expect(await inserter.insert(segment)).toEqual(segment.batches.map(({ id }) => id));
  expect([places(stored), asked, counts, said]).toEqual([
    numbers(5),
    [5],
    { stored: 5, quarantined: 0 },
    [true],
  ]);
});

test("whichever rows are refused, each is stored once or set aside with the reason, and no two have one number", async () => {
  const segment = await segmentOf(1, 5, 2, 4);
  const some = fc.subarray(numbers(12));
  const holds = fc.asyncProperty(some, async (poison) => {
    const { inserter, stored, aside, counts } = openInserter({ poison });
    const ids = await inserter.insert(segment);
    expect(places(stored)).toEqual(numbers(12).filter((place) => !poison.includes(place)));
    expect(places(aside.flatMap(({ native }) => rowsIn(native)))).toEqual(poison.toSorted((a, b) => a - b));
    expect(aside.every(({ reason, lane }) => reason === "cannot parse" && lane === segment.lane)).toBe(true);
    expect(counts).toEqual({ stored: 12 - poison.length, quarantined: poison.length });
    // A row is known by its batch and its number in it: reads after a restart ask for these.
    expect(new Set(stored.map(({ batch, row }) => `${batch} ${row}`)).size).toBe(stored.length);
    expect(new Set(ids)).toEqual(new Set(stored.map(({ batch }) => batch)));
    // One set aside under the number of rows that are stored would be taken for stored when it comes back.
    expect(new Set([...ids!, ...aside.map(({ batch }) => batch)]).size).toBe(ids!.length + aside.length);
    expect(aside.map(({ native, batch }) => rowsIn(native)[0]!.batch === batch)).not.toContain(false);
  });
  await fc.assert(holds, { numRuns: 60, examples: [[[]], [numbers(12)], [[0]], [[11]]] });
});

test("an INSERT that was lost is sent again, one whose answer was lost is not: its views are fed once more", async () => {
  const segment = await segmentOf(3);
  const { id } = segment.batches[0]!;
  const world = openInserter({ endings: ["lost", "unheard"] });
  expect(await world.inserter.insert(segment)).toEqual([id]);
  expect([places(world.stored), world.asked, world.derived]).toEqual([numbers(3), [3, 3], [[id]]]);
  expect([world.counts.stored, world.said]).toEqual([3, [false, false, true]]);
});

test("of a segment of an earlier process it is asked first what is stored", async () => {
  const segment = await segmentOf(2);
  const { inserter, stored, asked, derived } = openInserter({});
  await inserter.insert(segment);
  const again = await inserter.insert({ ...segment, isRecovered: true });
  expect([again, places(stored), asked]).toEqual([segment.batches.map(({ id }) => id), [0, 1], [2]]);
  expect(derived).toEqual([segment.batches.map(({ id }) => id)]);
});

test("an inserter that is stopped gives nothing as stored, and sends nothing", async () => {
  const segment = await segmentOf(1);
  const { inserter, stopping, asked } = openInserter({});
  stopping.abort();
  expect([await inserter.insert(segment), asked]).toEqual([undefined, []]);
});

test.each([
  [flushLimits.quarantineRowsMax - 1, 1, false],
  [flushLimits.quarantineRowsMax, 0, true],
])(
  "with %d rows in quarantine %d more finds a place; a batch that finds none waits",
  async (quarantined, more, waits) => {
    const segment = await segmentOf(1);
    const { inserter, aside, stopping, said } = openInserter({ poison: [0], quarantined });
    const timer = setTimeout(() => stopping.abort(), 20);
    const shipped = await inserter.insert(segment);
    clearTimeout(timer);
    expect([shipped === undefined, aside.length, said[0]]).toEqual([waits, more, !waits]);
  },
);
