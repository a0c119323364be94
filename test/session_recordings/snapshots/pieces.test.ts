import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { snapshotLimits } from "../../../src/session_recordings/snapshots/limits.ts";
import { cutSlices, Readers } from "../../../src/session_recordings/snapshots/pieces.ts";

test("small parts are joined to full slices, long ones cut, and nothing is lost", () => {
  const long = "y".repeat(limits.replySliceBytes * 2 + 7);
  const parts = function* (): Generator<string | Uint8Array, undefined> {
    for (let i = 0; i < 1000; i++) yield "x".repeat(i);
    yield Buffer.from(long);
    yield "";
  };
  const slices = [...cutSlices(parts())];
  const whole = [...parts()].map(String).join("");
  expect(Buffer.concat(slices).toString()).toBe(whole);
  expect(new Set(slices.slice(0, -1).map(({ length }) => length))).toEqual(new Set([limits.replySliceBytes]));
});

test("a slice is made of a bounded number of parts", () => {
  const parts = function* (): Generator<string, undefined> {
    for (let i = 0; i < snapshotLimits.snapshotPartsMax * 2; i++) yield "x";
  };
  expect([...cutSlices(parts())].map(({ length }) => length)).toEqual(
    [1, 1].map(() => snapshotLimits.snapshotPartsMax),
  );
});

const staying = new AbortController().signal;

test("projects whose readers crowd the queue neither fill it nor come before another project's reader", async () => {
  const readers = new Readers();
  const gone = new AbortController();
  const { promise: reading, resolve: endReading } = Promise.withResolvers<void>();
  const order: number[] = [];
  const request = (project_id: number) =>
    readers
      .within(project_id, gone.signal, async () => {
        order.push(project_id);
        await (project_id === 3 ? undefined : reading);
      })
      .catch(({ code }: { code?: string }) => code);
  const first = readers.within(1, staying, () => reading);
  const crowd = [1, 2].flatMap((project_id) =>
    Array.from({ length: snapshotLimits.snapshotReadsWaitingMax }, () => request(project_id)),
  );
  const third = request(3);
  gone.signal.addEventListener("abort", () => endReading());
  const refused = await Promise.race(crowd);
  expect(refused).toBe("unavailable");
  endReading();
  await Promise.all([first, third]);
  expect(order).toContain(3);
  expect(order.filter((id) => id === 1).length).toBeLessThan(snapshotLimits.snapshotReadsWaitingMax);
  gone.abort();
  await Promise.all(crowd);
});

test("a reader whose client leaves while it waits is refused with a time to retry, and uses nothing", async () => {
  const readers = new Readers();
  const { promise: reading, resolve: endReading } = Promise.withResolvers<void>();
  const first = readers.within(1, staying, () => reading);
  const gone = new AbortController();
  const waiting = readers.within(2, gone.signal, () => Promise.resolve("read"));
  gone.abort();
  expect(waiting).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  await waiting.catch(() => {});
  endReading();
  await first;
  expect(await readers.within(2, staying, () => Promise.resolve("read"))).toBe("read");
});

test("so many read at once, and a failing one gives its place back", async () => {
  const readers = new Readers();
  let [running, most] = [0, 0];
  const read = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await new Promise((turn) => setImmediate(turn));
    running--;
    throw new Error("no");
  };
  const all = Array.from({ length: 20 }, () => readers.within(1, staying, read).catch(() => "failed"));
  expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, () => "failed"));
  expect(most).toBe(snapshotLimits.snapshotReadsMax);
});
