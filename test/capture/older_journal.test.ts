// What versions that parted events by month left in their journal and quarantine: batches of a month, many of one year.

import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Block } from "../../src/capture/columns/block.ts";
import { writeFrame } from "../../src/capture/journal/segments/frame.ts";
import { writeNativeFrame } from "../../src/capture/journal/segments/native_frame.ts";
import { monthOf } from "../../src/capture/columns/partition.ts";
import { Quarantine } from "../../src/capture/journal/quarantine.ts";
import { emptyRow, newUuidBytes } from "../../src/capture/event/row.ts";
import { batchId, segmentHead, segmentId, segmentName } from "../../src/capture/journal/segments/segment.ts";
import { bytesOf } from "../../src/core/bytes.ts";
import { Pieces } from "../../src/storage/native/native_pieces.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { type Server, rested, startServer, storesOf } from "../support/server.ts";

cleanUpEach();

const months = 30;
const rowsEach = 4;
const begun = 1_700_000_000_000;
const nothingBefore = { synced: 0, before: 0 };

/** Some events of a month, the same at each call; no others have their `place`. */
function blockOf(month: number, place: number): Block {
  const block = new Block();
  const row = emptyRow();
  const text = (value: string) => ({ source: bytesOf(value), from: 0, to: bytesOf(value).length });
  Object.assign(row, {
    project_id: 1,
    event: text("moved"),
    distinct_id: text(`d${place}`),
    properties: text("{}"),
  });
  for (let i = 0; i < rowsEach; i++) {
    newUuidBytes(begun, row.uuid, place * rowsEach + i);
    row.uuid.fill(7, 8, 13);
    row.timestamp = Date.UTC(2020, month, 1 + i) * 1000;
    row.created_at = begun * 1000;
    block.append(row);
  }
  return block;
}

const monthAt = (month: number): number => monthOf(Date.UTC(2020, month) * 1000);

/** A segment of the first so many months, as an import left it: two frames to each, in turn. */
function writeMonths(dataDir: string, count: number): void {
  const id = segmentId(begun, 1);
  const out = new Pieces(1 << 16);
  for (const turn of [0, 1]) {
    for (let month = 0; month < count; month++) {
      const block = blockOf(month, month * 2 + turn);
      const batch = batchId(id, month);
      const head = {
        batch,
        partition: monthAt(month),
        rows: rowsEach,
        oldest: begun * 1000,
        ...nothingBefore,
      };
      writeNativeFrame(out, head, (payload) => block.encode(payload, batch, turn * rowsEach));
    }
  }
  mkdirSync(`${dataDir}/journal`, { recursive: true });
  writeFileSync(`${dataDir}/journal/${segmentName("historical", id)}`, Buffer.concat(out.list()));
}

/** A row set aside, and its note, which said `month`. */
function writeRefused(dataDir: string): string {
  const batch = batchId(segmentId(begun + 1, 1), 0);
  const id = batch.toString(16).padStart(16, "0");
  const block = blockOf(60, 2 * months);
  const out = new Pieces(256);
  out.raw(segmentHead("historical", batch >> 11n));
  const head = { batch, partition: 202501, rows: rowsEach, oldest: begun * 1000, ...nothingBefore };
  writeFrame(out, head, (payload) => block.encode(payload, batch, 0));
  mkdirSync(`${dataDir}/quarantine`, { recursive: true });
  const note = { id, lane: "historical", month: 202501, reason: "poison", at: "2024-01-01T00:00:00.000Z" };
  writeFileSync(`${dataDir}/quarantine/${id}.json`, JSON.stringify(note));
  writeFileSync(`${dataDir}/quarantine/${id}.segment`, Buffer.concat(out.list()));
  return id;
}

async function storedIn(server: Server) {
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const [found] = await clickhouse.query<{ rows: string; uuids: string; batches: string; spread: string }>(
    `SELECT count() AS rows, uniqExact(uuid) AS uuids, uniqExact(_batch) AS batches,
       (SELECT max(parts) FROM (SELECT uniqExact(_part) AS parts FROM event_rows GROUP BY _batch)) AS spread
     FROM event_rows`,
  );
  return Object.values(found!).map(Number);
}

test("batches of months are stored once, each whole in a part, and those that are there are left out", async () => {
  const dataDir = await makeStoresFolder();
  writeMonths(dataDir, 10);
  let server = await startServer({}, dataDir);
  expect(await storedIn(server)).toEqual([20 * rowsEach, 20 * rowsEach, 10, 1]);
  expect(await server.end("SIGTERM")).toBe(0);

  // It was killed before it had stored the rest, and before it noted what it had.
  rmSync(`${dataDir}/journal/ledger`);
  writeMonths(dataDir, months);
  const id = writeRefused(dataDir);
  server = await startServer({}, dataDir);
  const all = 2 * months * rowsEach;
  expect(await storedIn(server)).toEqual([all, all, months, 1]);

  const quarantine = new Quarantine(dataDir);
  expect(quarantine.list()).toEqual([
    { id, lane: "historical", partition: 202501, reason: "poison", at: "2024-01-01T00:00:00.000Z" },
  ]);
  expect(quarantine.retry(id)).toBe(1);
  await server.end("SIGTERM");
  server = await startServer({}, dataDir);
  expect(await storedIn(server)).toEqual([all + rowsEach, all + rowsEach, months + 1, 1]);
  expect(await server.end("SIGTERM")).toBe(0);
});
