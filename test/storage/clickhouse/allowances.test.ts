import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import {
  type ClickHouse,
  ClickHouseError,
  openClickHouse,
  readsUntil,
} from "../../../src/storage/clickhouse/clickhouse.ts";
import { classified, exceedsItsMemory, isTooHeavy } from "../../../src/storage/clickhouse/error.ts";
import { clickhouseLimits } from "../../../src/storage/clickhouse/limits.ts";
import { openAllowances } from "../../../src/storage/clickhouse/read.ts";
import { cleanUp, later } from "../../support/cleanup.ts";

afterAll(cleanUp);

/** A ClickHouse that answers as told, and remembers what it was asked. */
interface Asked {
  text: string;
  settings: URLSearchParams;
}
const asked: Asked[] = [];
let answer: (one: Asked, signal: AbortSignal) => Promise<Response> | Response;
let clickhouse: ClickHouse;

const tooMuch = () =>
  new Response(
    "Code: 241. DB::Exception: Query memory limit exceeded: would use 1.00 GiB. (MEMORY_LIMIT_EXCEEDED)",
    {
      status: 500,
    },
  );
const isLook = ({ text }: Asked) => text.startsWith("KILL") || text.includes("system.processes");
const reads = () => asked.filter((one) => !isLook(one));

beforeAll(() => {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const one = { text: await request.text(), settings: new URL(request.url).searchParams };
      asked.push(one);
      return await answer(one, request.signal);
    },
  });
  later(() => server.stop(true));
  clickhouse = openClickHouse(`http://u:p@127.0.0.1:${server.port}/d`);
  later(() => clickhouse.close());
});

function begin(next: typeof answer): void {
  asked.length = 0;
  answer = next;
}

test("a query has one larger permit where the machine has the memory", () => {
  const [small, large, huge, ...more] = openAllowances(8e9).query;
  expect([small?.bytes, large?.bytes, huge?.bytes, more.length]).toEqual([
    limits.readSmallBytesMax,
    clickhouseLimits.readLargeBytesMax,
    8e9 * clickhouseLimits.readHugeMemoryFraction,
    0,
  ]);
  expect(openAllowances(1e12).query[2]?.bytes).toBe(clickhouseLimits.readHugeBytesMax);
  expect(openAllowances(1e9).query).toHaveLength(2);
});

test("large queries of all projects have one permit, and pages, exports and the flush the other", () => {
  for (const isFirst of [true, false]) {
    const { query, page } = openAllowances(16e9);
    const { permits, isShared } = query[1]!;
    expect([isShared, page[1]!.isShared]).toEqual([true, undefined]);
    const enter = (person: number) => permits.tryEnter("questions", { weight: 2, person });
    if (isFirst) expect(enter(1)).toBeDefined();
    expect(page[1]!.permits.tryEnter(3)).toBeDefined();
    if (!isFirst) expect(enter(1)).toBeDefined();
    expect(enter(2)).toBeUndefined();
  }
});

test("all other places together hold 1.2 GB", () => {
  const { page, export: exports, flush } = openAllowances();
  const places = new Set([...page, ...exports, ...flush]);
  expect(places.size).toBe(4);
  const bytes =
    clickhouseLimits.readSmallPermits * limits.readSmallBytesMax +
    clickhouseLimits.readLargePermits * clickhouseLimits.readLargeBytesMax +
    clickhouseLimits.readExportPermits * clickhouseLimits.readExportBytesMax +
    clickhouseLimits.readFlushPermits * clickhouseLimits.readFlushBytesMax;
  expect(bytes).toBeLessThanOrEqual(1_200_000_000);
});

test("every read carries its bounds, whatever its caller says", async () => {
  begin(() => new Response('{"n":1}\n'));
  await clickhouse.query("SELECT 1 AS n");
  await clickhouse.bytes("SELECT 1 FORMAT RawBLOB");
  await clickhouse.query("SELECT 2", {}, { kind: "export", settings: { max_memory_usage: "9000000000" } });
  await clickhouse.query("SELECT 3", {}, { kind: "flush" });
  await clickhouse.query("SELECT 4", {}, { settings: { max_memory_usage: 1000 } });
  const bytes = [
    limits.readSmallBytesMax,
    limits.readSmallBytesMax,
    clickhouseLimits.readExportBytesMax,
    clickhouseLimits.readFlushBytesMax,
    1000,
  ];
  expect(reads().map(({ settings }) => Number(settings.get("max_memory_usage")))).toEqual(bytes);
  for (const { settings } of reads()) {
    expect(Number(settings.get("max_execution_time"))).toBeGreaterThan(0);
    expect(settings.get("max_result_bytes")).toBe(String(clickhouseLimits.readResultBytesMax));
    expect(settings.get("result_overflow_mode")).toBe("throw");
  }
});

test("what is too large for a small place is asked once more in a large one, and then refused", async () => {
  begin(({ settings }) =>
    Number(settings.get("max_memory_usage")) > limits.readSmallBytesMax
      ? new Response('{"n":1}\n')
      : tooMuch(),
  );
  expect(await clickhouse.query<{ n: number }>("SELECT 1 AS n")).toEqual([{ n: 1 }]);
  expect(reads()).toHaveLength(2);
  begin(tooMuch);
  await expect(clickhouse.query("SELECT 1")).rejects.toMatchObject({ type: "MEMORY_LIMIT_EXCEEDED" });
  expect(reads()).toHaveLength(2);
  // Whoever asks for no more than a small place is refused at once.
  begin(tooMuch);
  const settings = { max_memory_usage: limits.readSmallBytesMax };
  await expect(clickhouse.query("SELECT 1", {}, { settings })).rejects.toBeInstanceOf(ClickHouseError);
  expect(reads()).toHaveLength(1);
});

test("small reads run while large ones have all of their permits", async () => {
  const held: (() => void)[] = [];
  begin(({ text, settings }) => {
    if (!text.includes("large")) return new Response("{}\n");
    if (Number(settings.get("max_memory_usage")) === limits.readSmallBytesMax) return tooMuch();
    const { promise, resolve } = Promise.withResolvers<void>();
    held.push(resolve);
    return promise.then(() => new Response("{}\n"));
  });
  const many = clickhouseLimits.readSmallPermits * 3;
  const large = Array.from({ length: many }, () => clickhouse.query("SELECT 'large'"));
  while (reads().length < many + clickhouseLimits.readLargePermits) await Bun.sleep(1);
  await Promise.all(Array.from({ length: many }, () => clickhouse.query("SELECT 'small'")));
  expect(held).toHaveLength(clickhouseLimits.readLargePermits);
  const ending = Promise.all(large);
  for (let ended = 0; ended < many;) {
    for (const end of held.splice(0)) {
      end();
      ended++;
    }
    await Bun.sleep(1);
  }
  await ending;
});

test("a permit is held until an abandoned statement has left the engine", async () => {
  const stopped: string[] = [];
  let alive = true;
  begin(({ text, settings }) => {
    const tag = settings.get("param_tag") ?? "";
    if (text.startsWith("KILL")) {
      stopped.push(tag);
      return new Response("");
    }
    if (text.includes("system.processes")) return new Response(alive ? "1\n" : "0\n");
    return text.includes("endless") ? new Promise<Response>(() => {}) : new Response("{}\n");
  });
  const leaving = new AbortController();
  const until = readsUntil(clickhouse, leaving.signal);
  const endless = Promise.allSettled(
    // One project alone does not get all permits.
    Array.from({ length: clickhouseLimits.readSmallPermits }, (_, project_id) =>
      until.query("SELECT 'endless'", { project_id }),
    ),
  );
  while (reads().length < clickhouseLimits.readSmallPermits) await Bun.sleep(1);
  leaving.abort();
  for (const one of await endless)
    expect(one).toMatchObject({ status: "rejected", reason: { type: "ABORTED" } });
  // Each is killed by its tag, again and again, as long as the engine runs it.
  while (stopped.length < clickhouseLimits.readSmallPermits * 2) await Bun.sleep(1);
  expect(new Set(stopped)).toEqual(new Set(reads().map(({ settings }) => settings.get("log_comment")!)));
  const next = clickhouse.query("SELECT 'next'");
  await Bun.sleep(1);
  expect(reads()).toHaveLength(clickhouseLimits.readSmallPermits);
  alive = false;
  await next;
  expect(reads()).toHaveLength(clickhouseLimits.readSmallPermits + 1);
});

test("a caller without a permit in time is refused with a time to retry, not as too heavy", async () => {
  begin(({ text }) =>
    isLook({ text, settings: new URLSearchParams() }) ? new Response("0\n") : new Promise<Response>(() => {}),
  );
  const leaving = new AbortController();
  const until = readsUntil(clickhouse, leaving.signal);
  const holding = Promise.allSettled(
    Array.from({ length: clickhouseLimits.readSmallPermits }, (_, project_id) =>
      until.query("SELECT 1", { project_id }),
    ),
  );
  while (reads().length < clickhouseLimits.readSmallPermits) await Bun.sleep(1);
  const late: unknown = await clickhouse
    .query("SELECT 2", {}, { timeoutMs: 20 })
    .catch((thrown: unknown) => thrown);
  expect(late).toMatchObject({ type: "TOO_MANY_SIMULTANEOUS_QUERIES", kind: "transient" });
  leaving.abort();
  await holding;
});

test("a statement's own limit of memory is distinguished from everybody's, and neither ever refuses an insert", () => {
  const said = (message: string) => classified(Object.assign(new Error(message), { code: "241", type }));
  const type = "MEMORY_LIMIT_EXCEEDED";
  for (const own of ["Query memory limit exceeded: would use 2 GiB", "Memory limit (for query) exceeded"]) {
    expect([exceedsItsMemory(said(own)), isTooHeavy(said(own)), said(own).kind]).toEqual([
      true,
      true,
      "transient",
    ]);
  }
  for (const all of [
    "(total) memory limit exceeded: would use 9 GiB",
    "Code: 241. DB::Exception: (total) memory limit exceeded: would use 9 GiB",
    "User memory limit exceeded: would use 9 GiB",
    "Memory limit (total) exceeded: would use 9 GiB",
  ]) {
    expect([exceedsItsMemory(said(all)), isTooHeavy(said(all)), said(all).kind]).toEqual([
      false,
      false,
      "transient",
    ]);
  }
});
