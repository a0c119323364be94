// What an engine is given of a segment: blocks in memory, the segment's own file, or a file that holds its blocks.

import { afterAll, afterEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { BatchSender } from "../../../src/capture/flush/batch_sender.ts";
import { flushLimits } from "../../../src/capture/flush/limits.ts";
import { systemIo } from "../../../src/capture/journal/journal_io.ts";
import type { Segment } from "../../../src/capture/journal/segments/segment.ts";
import type { ClickHouse, NativeBody } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, type LaneName, laneNamed, openJournal } from "../../support/journal.ts";
import { readBlocks, readRows } from "../../support/native_rows.ts";

afterAll(cleanUp);

const senders: BatchSender[] = [];
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.abandon();
});

/** A closed segment of so many frames of one row each. */
async function segmentOf(lane: LaneName, frames: number): Promise<Segment> {
  const journal = openJournal(makeFolder());
  for (let place = 0; place < frames; place++) {
    appendTo(journal, lane, place);
    await journal[lane].commit();
  }
  await journal[lane].seal();
  const segment = journal.nextSealed(laneNamed(lane))!;
  await segment.closed;
  await journal.close();
  await journal.release();
  return segment;
}

/** A sender, and what each of its INSERTs was given: a path with its content then, or blocks. */
function openSender(embedded: boolean, fail = () => false) {
  const folder = makeFolder();
  const sent: { lane: string; path?: string; bytes: Buffer; blocks: number }[] = [];
  const insert = ({ name: lane }: { name: string }, body: NativeBody) => {
    const of = body as { path?: string; bytes?: Uint8Array[] };
    const bytes = of.path === undefined ? Buffer.concat(of.bytes!) : readFileSync(of.path);
    sent.push({
      lane,
      bytes,
      blocks: of.bytes?.length ?? 0,
      ...(of.path !== undefined && { path: of.path }),
    });
    return fail() ? Promise.reject(new Error("no answer")) : Promise.resolve();
  };
  const clickhouse = { embedded } as ClickHouse;
  const sender = new BatchSender(systemIo, clickhouse, `${folder}/live-0`, insert);
  senders.push(sender);
  return { sender, sent, folder, spool: (generation: number) => `${folder}/live-0-${generation}.native` };
}

/** The payloads of a segment's frames, cut out of its file. */
function payloadsOf({ path, batches }: Segment): Buffer[] {
  const file = readFileSync(path);
  return batches.flatMap(({ frames }) =>
    frames.map(({ offset, length }) => file.subarray(offset, offset + length)),
  );
}

const placesIn = (bytes: Uint8Array) =>
  readBlocks(bytes).map(({ properties }) => (JSON.parse(String(properties)) as { place: number }).place);

test("an engine elsewhere is sent the blocks, and no file is made", async () => {
  const segment = await segmentOf("live", 3);
  const { sender, sent, folder } = openSender(false);
  await sender.send(segment, segment.batches);
  expect(sent.map(({ lane, blocks, bytes }) => [lane, blocks, placesIn(bytes)])).toEqual([
    ["live", 1, [0, 1, 2]],
  ]);
  expect(readdirSync(folder)).toEqual([]);
});

test("an engine here reads the segment's own file, where it holds nothing else", async () => {
  const segment = await segmentOf("live", 1);
  const { sender, sent, folder } = openSender(true);
  await sender.send(segment, segment.batches);
  expect(sent.map(({ path, bytes }) => [path, placesIn(bytes)])).toEqual([[segment.path, [0]]]);
  expect([segment.isBorrowed, readdirSync(folder)]).toEqual([undefined, []]);
});

test("short frames are joined to one block, and long ones stay as they are", async () => {
  const segment = await segmentOf("live", 3);
  const { sender, sent, spool } = openSender(true);
  await sender.send(segment, segment.batches);
  expect(sent.map(({ path, bytes }) => [path, readRows(bytes).length])).toEqual([[spool(0), 3]]);
  const [batch] = segment.batches as [Segment["batches"][number]];
  await sender.send(segment, [{ ...batch, rows: flushLimits.shortBlockRows * 3 }]);
  expect(sent[1]!.bytes.toString("hex")).toBe(readFileSync(segment.path).toString("hex"));
});

test("after a failure an engine may still read the segment's file, which is not written over then", async () => {
  const segment = await segmentOf("live", 1);
  const { sender } = openSender(true, () => true);
  await expect(sender.send(segment, segment.batches)).rejects.toThrow("no answer");
  expect(segment.isBorrowed).toBe(true);
});

test("an engine here reads a file of the payloads alone, which is overwritten and cut to the next ones", async () => {
  const [long, short] = [await segmentOf("warnings", 3), await segmentOf("warnings", 1)];
  const { sender, sent, folder, spool } = openSender(true);
  await sender.send(long, long.batches);
  await sender.send(short, short.batches);
  expect(sent.map(({ path }) => path)).toEqual([spool(0), spool(0)]);
  expect(sent.map(({ bytes }) => bytes)).toEqual([long, short].map((one) => Buffer.concat(payloadsOf(one))));
  expect(readdirSync(folder)).toHaveLength(1);
  await sender.abandon();
  expect(readdirSync(folder)).toEqual([]);
});

test("blocks in memory are a file for an engine here, cut to them likewise", async () => {
  const { sender, sent, spool } = openSender(true);
  await sender.sendBlocks(laneNamed("live"), [Buffer.from("long"), Buffer.from("er")]);
  await sender.sendBlocks(laneNamed("live"), [Buffer.from("one")]);
  expect(sent.map(({ path, bytes }) => [path, bytes.toString()])).toEqual([
    [spool(0), "longer"],
    [spool(0), "one"],
  ]);
});

test("of some batches of a segment only their blocks are given", async () => {
  const segment = await segmentOf("live", 3);
  const [batch] = segment.batches as [Segment["batches"][number]];
  const some = { ...batch, frames: [batch.frames[0]!, batch.frames[2]!], bytes: 1 };
  const { sender, sent, spool } = openSender(true);
  await sender.send(segment, [some]);
  expect(sent.map(({ path, bytes }) => [path, placesIn(bytes)])).toEqual([[spool(0), [0, 2]]]);
});

test("after a failure the next file has another name, since the engine may still read the old one", async () => {
  const segment = await segmentOf("warnings", 1);
  let failures = 1;
  const { sender, sent, spool } = openSender(true, () => failures-- > 0);
  await expect(sender.send(segment, segment.batches)).rejects.toThrow("no answer");
  expect([existsSync(spool(0)), segment.isBorrowed]).toEqual([false, undefined]);
  await sender.send(segment, segment.batches);
  expect(sent.map(({ path }) => path)).toEqual([spool(0), spool(1)]);
});

test("a segment's file that ends before its frames do is not sent, and the next one is", async () => {
  const [cut, whole] = [await segmentOf("warnings", 2), await segmentOf("warnings", 1)];
  truncateSync(cut.path, cut.bytes - 1);
  for (const embedded of [true, false]) {
    const { sender, sent } = openSender(embedded);
    await expect(sender.send(cut, cut.batches)).rejects.toThrow();
    expect(sent).toEqual([]);
    sender.releaseIdle();
    await sender.send(whole, whole.batches);
    expect(sent.map(({ bytes }) => bytes)).toEqual([Buffer.concat(payloadsOf(whole))]);
  }
});

test("first columns of several segments are one INSERT without the others, and of none there is no INSERT", async () => {
  const segments = [await segmentOf("live", 2), await segmentOf("live", 1)];
  const { sender, sent } = openSender(false);
  await sender.sendFirstColumns([], "event", 0);
  expect(sent).toEqual([]);
  await sender.sendFirstColumns(segments, "event", 0);
  expect(sent).toHaveLength(1);
  const rows = readBlocks(sent[0]!.bytes);
  expect(rows.map((row) => Object.keys(row))).toEqual([0, 1, 2].map(() => ["uuid", "project_id", "event"]));
  expect(rows.map(({ event }) => event)).toEqual(["kept", "kept", "kept"]);
  // Short blocks are joined: a write for each would cost more than all else.
  expect(sent[0]!.blocks).toBe(1);
});
