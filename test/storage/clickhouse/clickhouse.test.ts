// What the ClickHouse client sends with an INSERT, and what it takes for a success.

import { afterAll, expect, test } from "bun:test";
import { openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

/** Answers every statement with this text, and the question for settings with none. */
function answering(text: string, status = 200) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const asked = decodeURIComponent(request.url) + (await request.text());
      return asked.includes("system.settings") ? new Response("") : new Response(text, { status });
    },
  });
  later(() => server.stop(true));
  const clickhouse = openClickHouse(`http://default@127.0.0.1:${server.port}/sluice`);
  later(() => clickhouse.close());
  return clickhouse;
}

const exception =
  "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 25.1.1.1)\n";
const body = { bytes: [new Uint8Array([1, 2, 3])] };

interface Known {
  name: string;
  is_obsolete: number;
  readonly: number;
}

/** A server that answers questions about settings with these, and keeps the settings of INSERTs. */
function openPlayed(known: Known[], embedded = false) {
  const inserts: URLSearchParams[] = [];
  const bodies: { encoding: string | null; bytes: Uint8Array }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { searchParams } = new URL(request.url);
      const bytes = new Uint8Array(await request.arrayBuffer());
      const text = `${searchParams.get("query") ?? ""}${Buffer.from(bytes).toString("latin1")}`;
      if (text.includes("system.settings"))
        return new Response(known.map((one) => `${JSON.stringify(one)}\n`).join(""));
      if (text.includes("INSERT")) {
        inserts.push(searchParams);
        bodies.push({ encoding: request.headers.get("content-encoding"), bytes });
      }
      return new Response("");
    },
  });
  const clickhouse = openClickHouse(`http://default:word@127.0.0.1:${server.port}/sluice`, { embedded });
  later(() => clickhouse.close().then(() => server.stop(true)));
  return { clickhouse, inserts, bodies };
}

test("an exception below a status of 200 is a failure of the INSERT, with its code", async () => {
  const failed = answering(exception).insertNative("event_rows", body);
  await expect(failed).rejects.toMatchObject({
    code: "241",
    type: "MEMORY_LIMIT_EXCEEDED",
    kind: "transient",
  });
});

test("an exception below a status of 200 is a failure of a command", async () => {
  const failed = answering(exception).command("ALTER TABLE t DELETE WHERE 1");
  await expect(failed).rejects.toMatchObject({ type: "MEMORY_LIMIT_EXCEEDED" });
});

for (const status of [200, 500]) {
  test(`a row or a statement that an exception quotes does not name it, with status ${status}`, async () => {
    const quoting =
      "Code: 6. DB::Exception: Cannot parse 'Exception: x (MEMORY_LIMIT_EXCEEDED)'. (CANNOT_PARSE_TEXT) (version 25.1)";
    const clickhouse = answering(`${quoting}\n`, status);
    const named = { code: "6", type: "CANNOT_PARSE_TEXT", kind: "refused" };
    await expect(clickhouse.insertNative("event_rows", body)).rejects.toMatchObject(named);
    const derived = { structure: "a String", text: (rows: string) => `INSERT INTO t SELECT a FROM ${rows}` };
    await expect(clickhouse.insertDerived(derived, body)).rejects.toMatchObject(named);
    await expect(clickhouse.command("ALTER TABLE t DELETE WHERE 1")).rejects.toMatchObject(named);
    if (status === 500)
      await expect(Array.fromAsync(clickhouse.stream("SELECT 1 FORMAT Native"))).rejects.toMatchObject(named);
  });
}

test("an error without a text is one", async () => {
  const clickhouse = answering("", 502);
  await expect(clickhouse.insertNative("event_rows", body)).rejects.toMatchObject({ kind: "transient" });
  await expect(clickhouse.command("ALTER TABLE t DELETE WHERE 1")).rejects.toMatchObject({
    kind: "transient",
  });
});

test("an INSERT that its caller gives up ends at once, whether or not ClickHouse answers", async () => {
  const arrived = Promise.withResolvers<void>();
  const { promise, resolve } = Promise.withResolvers<Response>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const asked = decodeURIComponent(request.url) + (await request.text());
      if (asked.includes("system.settings")) return new Response("");
      arrived.resolve();
      return await promise;
    },
  });
  const clickhouse = openClickHouse(`http://default@127.0.0.1:${server.port}/sluice`);
  const giving = new AbortController();
  const failed = clickhouse.insertNative("event_rows", body, { abort: giving.signal });
  await arrived.promise;
  giving.abort();
  await expect(failed).rejects.toMatchObject({ type: "ABORTED" });
  const before = clickhouse.insertNative("event_rows", body, { abort: giving.signal });
  await expect(before).rejects.toMatchObject({ type: "ABORTED" });
  resolve(new Response(""));
  await clickhouse.close();
  await server.stop(true);
});

test("an INSERT that is answered with a page of a proxy is in doubt, and with nothing it is stored", async () => {
  const failed = answering("<html>Please log in</html>").insertNative("event_rows", body);
  await expect(failed).rejects.toMatchObject({ kind: "transient" });
  await answering("").insertNative("event_rows", body);
});

const usual = { is_obsolete: 0, readonly: 0 };

test("an INSERT asks for the older planner where the engine has it", async () => {
  const { clickhouse, inserts } = openPlayed([
    { name: "enable_analyzer", ...usual },
    { name: "deduplicate_insert", ...usual },
  ]);
  await clickhouse.insertNative("t", body);
  expect(inserts.map((one) => [one.get("enable_analyzer"), one.get("deduplicate_insert")])).toEqual([
    ["0", "disable"],
  ]);
});

test("an INSERT does not ask for it where it is gone or fixed, as from 26.9 on: the engine refuses that", async () => {
  const gone = openPlayed([
    { name: "enable_analyzer", ...usual, is_obsolete: 1 },
    { name: "deduplicate_insert", ...usual },
  ]);
  const fixed = openPlayed([{ name: "enable_analyzer", ...usual, readonly: 1 }]);
  for (const { clickhouse, inserts } of [gone, fixed]) {
    await clickhouse.insertNative("t", body);
    expect(inserts.map((one) => one.get("enable_analyzer"))).toEqual([null]);
  }
});

test("an INSERT is written by one thread, as one part, whatever the engine's default is", async () => {
  const { clickhouse, inserts } = openPlayed([]);
  await clickhouse.insertNative("t", body);
  await clickhouse.command("INSERT INTO t SELECT 1");
  expect(inserts.map((one) => one.get("max_insert_threads"))).toEqual(["1", "1"]);
});

test("rows for a remote engine are compressed, those for an embedded one are not", async () => {
  const bytes = new TextEncoder().encode("some rows ".repeat(1000));
  const path = `${makeFolder()}/rows`;
  await Bun.write(path, bytes);
  const remote = openPlayed([]);
  for (const rows of [{ path }, { bytes: [bytes, bytes] }]) await remote.clickhouse.insertNative("t", rows);
  const sent = remote.bodies.map((one) => Bun.zstdDecompressSync(one.bytes));
  expect(remote.bodies.map(({ encoding }) => encoding)).toEqual(["zstd", "zstd"]);
  expect(sent[0]!.equals(bytes)).toBe(true);
  expect(sent[1]!.equals(Buffer.concat([bytes, bytes]))).toBe(true);
  const own = openPlayed([], true);
  await own.clickhouse.insertNative("t", { bytes: [bytes] });
  expect(own.bodies).toEqual([{ encoding: null, bytes }]);
});

test("a file that cannot be read fails its INSERT, and nothing else", async () => {
  const { clickhouse, inserts } = openPlayed([]);
  await expect(clickhouse.insertNative("t", { path: `${makeFolder()}/none` })).rejects.toThrow("ENOENT");
  expect(inserts).toEqual([]);
});
