// Who reads recordings shares bytes and places; nobody keeps them for ever.

import { expect, test } from "bun:test";
import { snapshotLimits } from "../../../src/session_recordings/snapshots/limits.ts";
import { ReadingBudget } from "../../../src/session_recordings/snapshots/reading_budget.ts";

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

test("projects whose readers crowd the queue neither fill it nor come before another project's reader", async () => {
  const budget = new ReadingBudget({ bytesMax: 100, waitMsMax: 60_000 });
  const gone = new AbortController();
  const order: number[] = [];
  const ask = (project_id: number) =>
    budget.reserve(project_id, 50, gone.signal).then(
      (held) => void (order.push(project_id), held),
      ({ code }: { code?: string }) => code,
    );
  const held = [await budget.reserve(1, 50, staying), await budget.reserve(2, 50, staying)];
  const crowd = [1, 2].flatMap((project_id) =>
    Array.from({ length: snapshotLimits.snapshotReadsWaitingMax }, () => ask(project_id)),
  );
  const other = ask(3);
  held[0]!.release();
  expect(await other).toBeUndefined();
  expect(order).toEqual([3]);
  gone.abort();
  held[1]!.release();
  expect((await Promise.all(crowd)).every((code) => code === "unavailable")).toBe(true);
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

test("a reader that waits too long is refused with a time to retry, and uses nothing", async () => {
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
  const all = Array.from({ length: 20 }, () => budget.within(1, staying, read).catch(() => "failed"));
  expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, () => "failed"));
  expect(most).toBe(snapshotLimits.snapshotReadsMax);
});
