// Who reads recordings shares bytes and places; nobody keeps them for ever.

import { expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import { snapshotLimits } from "../../src/session_recordings/snapshots/limits.ts";
import { ReadingBudget } from "../../src/session_recordings/snapshots/reading_budget.ts";
import { type Parts, sendParts, streamOf } from "../../src/session_recordings/snapshots/slice_stream.ts";

const staying = new AbortController().signal;

test("bytes are reserved until they are released, half of them by one project at most", async () => {
  const budget = new ReadingBudget({ bytesMax: 100, waitMsMax: 60_000 });
  const one = await budget.reserve(1, 40, staying);
  const order: string[] = [];
  const second = budget.reserve(1, 20, staying).then((held) => (order.push("second of 1"), held));
  const other = await budget.reserve(2, 50, staying);
  expect([budget.bytes, order]).toEqual([90, []]);
  one.shrink(30);
  const held = await second;
  expect([budget.bytes, order]).toEqual([100, ["second of 1"]]);
  for (const reservation of [one, other, held, held]) reservation.release();
  expect(budget.bytes).toBe(0);
});

test("a page larger than everything is read when nothing else is", async () => {
  const budget = new ReadingBudget({ bytesMax: 100, waitMsMax: 60_000 });
  const small = await budget.reserve(1, 1, staying);
  let taken = false;
  const large = budget.reserve(2, 1000, staying).then((held) => ((taken = true), held));
  await Promise.resolve();
  expect(taken).toBe(false);
  small.release();
  (await large).release();
  expect(budget.bytes).toBe(0);
});

test("whoever waits too long is sent away with the time to come back, and takes nothing", async () => {
  const budget = new ReadingBudget({ bytesMax: 100, waitMsMax: 1 });
  const held = await budget.reserve(1, 100, staying);
  const refused = budget.reserve(2, 10, staying);
  expect(refused).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  await refused.catch(() => {});
  held.release();
  expect(budget.bytes).toBe(0);
  const gone = new AbortController();
  const last = await budget.reserve(1, 100, staying);
  const waiting = budget.reserve(2, 10, gone.signal).catch(() => "gone");
  gone.abort();
  expect(await waiting).toBe("gone");
  last.release();
  expect(budget.bytes).toBe(0);
});

test("so many read at once, and a failing one gives its place back", async () => {
  const budget = new ReadingBudget({ waitMsMax: 60_000 });
  let [running, most] = [0, 0];
  const read = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await new Promise((turn) => setImmediate(turn));
    running--;
    throw new Error("no");
  };
  const all = Array.from({ length: 20 }, () => budget.within(staying, read).catch(() => "failed"));
  expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, () => "failed"));
  expect(most).toBe(snapshotLimits.snapshotReadsMax);
});

function* partsOf(bytes: number): Parts {
  for (let at = 0; at < bytes; at += 1000) yield "x".repeat(Math.min(1000, bytes - at));
}

test("a long reply is sent slice by slice, and what it holds is released once it is taken", async () => {
  let released = 0;
  const length = limits.replySliceBytes * 3 + 5;
  const reply = sendParts(partsOf(length), "text/plain", () => released++);
  expect(released).toBe(0);
  expect((await reply.text()).length).toBe(length);
  expect(released).toBe(1);
  const short = sendParts(partsOf(10), "text/plain", () => released++);
  expect([released, await short.text()]).toEqual([2, "x".repeat(10)]);
});

test("what a reply holds is released when its reader is gone, and when its reader takes too long", async () => {
  let released = 0;
  const gone = sendParts(partsOf(limits.replySliceBytes * 3), "text/plain", () => released++);
  await gone.body?.cancel();
  expect(released).toBe(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = streamOf(() => new Uint8Array(1), resolve, 1);
  await promise;
  const reader = slow.getReader();
  const read = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  expect(read()).rejects.toThrow("the reader takes too long");
  await read().catch(() => {});
});
