import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type ClickHouse, openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import {
  frontPassword,
  nativeOf,
  startFront,
  storesStartMsMax,
  type TestFront,
} from "../../support/stores.ts";

afterAll(cleanUp);

const dataDir = makeFolder();
let front: TestFront;
let clickhouse: ClickHouse;
let bytes: Uint8Array[];

beforeAll(async () => {
  front = await startFront(dataDir);
  clickhouse = openClickHouse(front.url);
  later(() => clickhouse.close());
  await clickhouse.createDatabase();
  await clickhouse.command("CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a");
  bytes = [await nativeOf(front.url, "SELECT toUInt32(1) AS a")];
}, storesStartMsMax);

async function rows(): Promise<number> {
  const [counted] = await clickhouse.query<{ count: string }>("SELECT count() AS count FROM t");
  return Number(counted?.count);
}

const faults = [
  ["fail_before", 0],
  ["fail_after", 1],
  ["drop_before", 0],
  ["drop_reply", 1],
  ["hang", 0],
] as const;
test.each(faults)("%s makes an insert's outcome uncertain; %d rows are stored", async (kind, stored) => {
  const before = await rows();
  await front.fault({ kind, match: "INSERT INTO t" });
  // Who hears nothing gives up soon; the others hear of it, however long the engine takes.
  const timeoutMs = kind === "hang" ? 1000 : 60_000;
  await expect(clickhouse.insertNative("t", { bytes }, { timeoutMs })).rejects.toMatchObject({
    name: "ClickHouseError",
    kind: "transient",
  });
  expect((await rows()) - before).toBe(stored);
  await clickhouse.insertNative("t", { bytes });
  expect((await rows()) - before).toBe(stored + 1);
});

test("a fault may have any error, and occurs as often as configured", async () => {
  const struck = await front.struck();
  await front.fault({
    kind: "fail_before",
    match: "SELECT 7",
    times: 2,
    code: 469,
    type: "VIOLATED_CONSTRAINT",
  });
  for (let turn = 0; turn < 2; turn++) {
    await expect(clickhouse.query("SELECT 7 AS n")).rejects.toMatchObject({ kind: "refused", code: "469" });
  }
  expect(await clickhouse.query("SELECT 7 AS n")).toEqual([{ n: 7 }]);
  expect((await front.struck()) - struck).toBe(2);
});

test("an INSERT selects from its own rows, which an embedded engine reads from a file", async () => {
  const blocks = [await nativeOf(front.url, "SELECT toUInt32(number) AS a, 'x' AS other FROM numbers(4)")];
  const path = join(dataDir, "rows.native");
  await Bun.write(path, blocks[0]!);
  const insert = {
    structure: "a UInt32",
    text: (rows: string) => `INSERT INTO t SELECT toUInt32(sum(a)) + 1000 FROM ${rows}`,
  };
  const embedded = openClickHouse(front.url, { embedded: true });
  later(() => embedded.close());
  await clickhouse.insertDerived(insert, { bytes: blocks });
  await embedded.insertDerived(insert, { path });
  await embedded.insertDerived(insert, { bytes: blocks });
  const stored = await clickhouse.query("SELECT a FROM t WHERE a >= 1000");
  expect(stored).toEqual([{ a: 1006 }, { a: 1006 }, { a: 1006 }]);
  const none = embedded.insertDerived(insert, { path: `${path}.gone` });
  await expect(none).rejects.toMatchObject({ name: "ClickHouseError" });
});

test("an upload that is cut off stores nothing, and leaves no file", async () => {
  const before = await rows();
  const authorization = `Basic ${Buffer.from(`default:${frontPassword}`).toString("base64")}`;
  const head = (length: string) =>
    `POST /?database=sluice&query=INSERT+INTO+t+FORMAT+TSV HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${length}\r\n\r\n`;
  const uploads = [
    `${head("Content-Length: 1000")}1\n2\n3\n`,
    `${head("Transfer-Encoding: chunked")}6\r\n1\n2\n3\n\r\n`,
  ];
  for (const upload of uploads) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect(front.port, "127.0.0.1", () =>
      socket.write(upload, () => setTimeout(() => socket.destroy(), 100)),
    );
    socket.on("close", () => resolve());
    await promise;
  }
  const inDir = join(dataDir, "clickhouse-in");
  while (readdirSync(inDir).length > 0) await Bun.sleep(10);
  expect((await rows()) - before).toBe(0);
});

const uploads = [
  ["malformed", Buffer.from("abc")],
  ["cut off", Bun.zstdCompressSync(Buffer.from("rows"))],
] as const;
test.each(uploads)(
  "a compressed upload that is %s before anybody reads it ends nothing else",
  async (_, sent) => {
    const before = await rows();
    const authorization = `Basic ${Buffer.from(`default:${frontPassword}`).toString("base64")}`;
    await front.fault({ kind: "hang", match: "INSERT INTO t" });
    const { promise, resolve } = Promise.withResolvers<void>();
    const struck = await front.struck();
    const head =
      `POST /?database=sluice&query=INSERT+INTO+t+FORMAT+Native HTTP/1.1\r\nHost: x\r\n` +
      `Authorization: ${authorization}\r\nContent-Encoding: zstd\r\nContent-Length: 1000\r\n\r\n`;
    const socket = connect(front.port, "127.0.0.1", () =>
      socket.write(Buffer.concat([Buffer.from(head), sent])),
    );
    socket.on("close", () => resolve());
    while ((await front.struck()) === struck) await Bun.sleep(10);
    socket.destroy();
    await promise;
    // The front hears of it within its next turns, each of which a statement takes.
    for (let i = 0; i < 20; i++) expect(await rows()).toBe(before);
  },
);

test(
  "what was stored is there after the process was killed and started again",
  async () => {
    const before = await rows();
    await clickhouse.insertNative("t", { bytes });
    await front.fault({ kind: "exit_after", match: "INSERT INTO t" });
    await expect(clickhouse.insertNative("t", { bytes })).rejects.toMatchObject({ kind: "transient" });
    await front.end("SIGKILL");
    front = await startFront(dataDir, front.port);
    expect((await rows()) - before).toBe(2);
  },
  storesStartMsMax,
);

test(
  "it ends when it is told to, with what runs finished",
  async () => {
    const before = await rows();
    await front.fault({ kind: "delay", match: "INSERT INTO t", ms: 300 });
    const inserting = clickhouse.insertNative("t", { bytes }).then(
      () => 1,
      () => 0,
    );
    await Bun.sleep(50);
    await front.end("SIGTERM");
    const stored = await inserting;
    front = await startFront(dataDir, front.port);
    const found = (await rows()) - before;
    expect(found).toBeGreaterThanOrEqual(stored);
  },
  storesStartMsMax,
);

test("an insert finds a place beside reads that take long, however many wait", async () => {
  const abort = new AbortController();
  let ended = 0;
  // Half a minute each, twenty at once: more than may run.
  const reads = Array.from({ length: 20 }, () =>
    clickhouse
      .stream(
        "SELECT sleepEachRow(1) FROM numbers(30) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT Null",
        {},
        {
          abort: abort.signal,
        },
      )
      .next()
      .catch(() => {})
      .finally(() => ended++),
  );
  // Time for them to arrive; should some not have, the insert finds a place all the more.
  await Bun.sleep(500);
  await clickhouse.insertNative("t", { bytes });
  expect(ended).toBe(0);
  abort.abort();
  await Promise.all(reads);
});
