import { expect, test } from "bun:test";
import fc from "fast-check";
import { Block } from "../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { thinOldRows } from "../../../src/capture/flush/first_columns.ts";
import { BlockReader } from "../../../src/storage/native/block_reader.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { columnHeads, columnsThrough, cutColumn } from "../../../src/storage/native/native_cut.ts";

interface Happened {
  project_id: number;
  event: string;
  timestamp: number;
}

/** The columns of event_days of a block with these rows. */
function firstColumns(rows: readonly Happened[]): Uint8Array {
  const block = new Block();
  const row = emptyRow();
  for (const [number, { project_id, event, timestamp }] of rows.entries()) {
    const source = new TextEncoder().encode(event);
    Object.assign(row.event, { source, from: 0, to: source.length });
    row.uuid.fill(number % 251);
    Object.assign(row, { project_id, timestamp, created_at: 1_700_000_000_000_000 });
    block.append(row);
  }
  const out = new ByteColumn();
  block.encode(out, 5n, 0);
  return columnsThrough(out.filled(), "timestamp")!;
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
  const out = new ByteColumn();
  out.raw(firstColumns([{ project_id: 1, event: "a", timestamp: 0 }]));
  const block = out.filled();
  block[2 + "uuid".length] = "x".charCodeAt(0);
  expect(thinOldRows(block, now)).toBe(block);
});
