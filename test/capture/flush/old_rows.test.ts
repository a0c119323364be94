import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { Block } from "../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { thinOldRows } from "../../../src/capture/flush/first_columns.ts";
import { writeNativeFrame } from "../../../src/capture/journal/segments/native_frame.ts";
import { silentLog } from "../../../src/core/log.ts";
import { eventDaysOfBlocks } from "../../../src/storage/events/event_days.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { BlockReader } from "../../../src/storage/native/block_reader.ts";
import { Pieces } from "../../../src/storage/native/native.ts";
import { columnHeads, columnsThrough, cutColumn } from "../../../src/storage/native/native_cut.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestStores } from "../../support/stores.ts";

afterAll(cleanUp);

interface Happened {
  project_id: number;
  event: string;
  timestamp: number;
}

/** The columns of event_days of a frame with these rows, as a segment's file has it. */
function firstColumns(rows: readonly Happened[]): Uint8Array {
  const block = new Block();
  const row = emptyRow();
  for (const [number, { project_id, event, timestamp }] of rows.entries()) {
    const source = new TextEncoder().encode(event);
    Object.assign(row.event, { source, from: 0, to: source.length });
    row.uuid.fill(number % 251);
    row.uuid[0] = number >> 8;
    Object.assign(row, { project_id, timestamp, created_at: 1_700_000_000_000_000 });
    block.append(row);
  }
  const out = new Pieces();
  const head = { batch: 5n, partition: 1970, rows: rows.length, oldest: 0, synced: 0, before: 0 };
  writeNativeFrame(out, head, (payload) => block.encode(payload, head.batch, 0));
  return columnsThrough(Buffer.concat(out.list()), "timestamp")!;
}

function readRows(block: Uint8Array): Happened[] {
  const read = new BlockReader(block);
  const [columns, rows] = [read.varuint(), read.varuint()];
  const values = new Map<string, DataView>();
  const names: string[] = [];
  for (const { name, type } of columnHeads(read, columns)) {
    const { buffer, byteOffset, byteLength } = cutColumn(read, type, rows, 0, rows);
    values.set(name, new DataView(buffer, byteOffset, byteLength));
  }
  expect(read.at).toBe(block.length);
  const { buffer, byteOffset, byteLength } = values.get("event")!;
  const events = new BlockReader(new Uint8Array(buffer, byteOffset, byteLength));
  events.slice(8);
  const width = 1 << Number(events.u64() & 255n);
  for (let count = Number(events.u64()); count > 0; count--) names.push(events.text());
  expect(Number(events.u64())).toBe(rows);
  const indexes = new DataView(buffer, byteOffset + events.at);
  return Array.from({ length: rows }, (_, row) => ({
    project_id: values.get("project_id")!.getUint32(row * 4, true),
    event: names[width === 1 ? indexes.getUint8(row) : indexes.getUint16(row * 2, true)]!,
    timestamp: Number(values.get("timestamp")!.getBigInt64(row * 8, true)),
  }));
}

/** In microseconds. */
const since = 1_000_000;
const now = since / 1000 + 33 * 86_400_000;
const happened = fc.record({
  project_id: fc.constantFrom(1, 2, 4_000_000_000),
  event: fc.oneof(fc.constantFrom("$pageview", "click"), fc.string()),
  timestamp: fc.integer({ min: -3_000_000_000_000_000, max: 2_000_000 }),
});

test("what is kept of a block has the latest old row of each project and name, and all newer ones", () => {
  fc.assert(
    fc.property(fc.array(happened, { minLength: 1, maxLength: 400 }), (rows) => {
      const before = readRows(firstColumns(rows));
      const after = readRows(thinOldRows(firstColumns(rows), now));
      const isOld = ({ timestamp }: Happened) => timestamp < since;
      expect(before).toEqual(rows);
      expect(after.filter((row) => !isOld(row))).toEqual(before.filter((row) => !isOld(row)));
      const toName = ({ project_id, event }: Happened) => `${project_id} ${event}`;
      const old = Object.groupBy(before.filter(isOld), toName);
      const latest = Object.entries(old).map(
        ([name, same]) => `${name} ${Math.max(...same!.map(({ timestamp }) => timestamp))}`,
      );
      const kept = after.filter(isOld).map((row) => `${toName(row)} ${row.timestamp}`);
      expect(kept.toSorted()).toEqual(latest.toSorted());
    }),
  );
});

test("a block with columns in another order is sent as it is", () => {
  const block = firstColumns([{ project_id: 1, event: "a", timestamp: 0 }]);
  block[2 + "uuid".length] = "x".charCodeAt(0);
  expect(thinOldRows(block, now)).toBe(block);
});

test("the engine derives the same days of what is kept as of all", async () => {
  const stores = await openTestStores();
  await migrate(stores, { log: silentLog });
  const { clickhouse } = stores;
  const at = Date.now();
  const rows = Array.from({ length: 9000 }, (_, i) => {
    const age = (i * 7) % 97;
    // More names than one byte numbers; some are old alone.
    const event = `e${i % 300}${age > 40 && i % 5 === 0 ? " old" : ""}`;
    return { project_id: 1 + (i % 2), event, timestamp: (at - age * 86_400_000 - 60_000) * 1000 };
  });
  const moved = rows.map((row) => ({ ...row, project_id: row.project_id + 10 }));
  const thinned = thinOldRows(firstColumns(moved), at);
  expect(thinned.length).toBeLessThan(firstColumns(moved).length * 0.6);
  for (const block of [firstColumns(rows), thinned])
    await clickhouse.insertDerived(eventDaysOfBlocks, { bytes: [block] });
  const readDays = (from: number) =>
    clickhouse.query(
      `SELECT project_id - {from:Int32} AS project, event, day, max(last), uniqMerge(uuids) FROM event_days
       WHERE project_id BETWEEN {from:Int32} + 1 AND {from:Int32} + 2
       GROUP BY project, event, day ORDER BY project, event, day`,
      { from },
    );
  const days = await readDays(0);
  expect(days.length).toBeGreaterThan(1000);
  expect(await readDays(10)).toEqual(days);
});
