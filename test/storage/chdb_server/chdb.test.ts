// The engine's sessions: what each statement is begun with, and how it ends. chDB is a record of its calls here.

import { beforeEach, expect, mock, test } from "bun:test";
import type { EngineStatement } from "../../../src/storage/chdb_server/chdb.ts";

const calls: string[] = [];
/** By a text within a statement: what the engine throws at it. */
const faults = new Map<string, Error>();
let held: PromiseWithResolvers<void> | undefined;

function check(text: string): void {
  for (const [part, fault] of faults) if (text.includes(part)) throw fault;
}

class Session {
  constructor(path: string, options?: { connectionArgs: string[] }) {
    calls.push(`open ${path}${options ? ` ${options.connectionArgs.join(" ")}` : ""}`);
    check("open");
  }
  async queryAsync(text: string) {
    calls.push(text);
    check(text);
    if (text.startsWith("SELECT slow")) await held?.promise;
    return { bytes: () => Buffer.from(text.includes("system.events") ? "3\n" : "rows") };
  }
  queryStream(text: string) {
    calls.push(text);
    check(text);
    return {
      cancel: () => calls.push("cancel"),
      async *[Symbol.asyncIterator]() {
        yield { raw: () => Buffer.from("one") };
        yield { raw: () => Buffer.from("two") };
      },
    };
  }
  close() {
    calls.push("close");
  }
}
await mock.module("chdb", () => ({ Session, drainPending: async () => void calls.push("drain") }));
const { EngineError, openEngine } = await import("../../../src/storage/chdb_server/chdb.ts");

beforeEach(() => {
  calls.length = 0;
  faults.clear();
});

function statement(text: string, more: Partial<EngineStatement> = {}): EngineStatement {
  return {
    tag: "t1",
    text,
    format: "TSV",
    database: "default",
    settings: new Map(),
    params: new Map(),
    abort: new AbortController().signal,
    ...more,
  };
}

const engine = openEngine("/data/clickhouse", "/data/config.xml");

test("the first session keeps the engine open, with its configuration, and counts failed writes", async () => {
  openEngine("/data/clickhouse", "/data/config.xml");
  expect(calls).toEqual(["open /data/clickhouse --config-file=/data/config.xml"]);
  expect(await engine.failedWrites()).toBe(3);
  expect(calls.filter((one) => one.startsWith("open"))).toHaveLength(1);
});

test("a statement has a session of its own, with its settings and values quoted, which ends with it", async () => {
  const settings = new Map([["max_threads", "1'; DROP TABLE t --"]]);
  const params = new Map([["name", "it\\'s"]]);
  const asked = statement("SELECT 1", { settings, params, database: "odd`name" });
  expect(Buffer.from(await engine.run(asked)).toString()).toBe("rows");
  expect(calls).toEqual([
    "open /data/clickhouse",
    String.raw`USE ${"`odd\\`name`"}; SET log_comment = 't1', max_threads = '1\'; DROP TABLE t --', param_name = 'it\\\'s'`,
    "SELECT 1",
    "close",
  ]);
});

test("a setting whose name is none is refused as ClickHouse refuses it, and nothing is run", async () => {
  for (const name of ["a b", "a=1, b", "", "a'"]) {
    calls.length = 0;
    const thrown: unknown = await engine
      .run(statement("SELECT 1", { settings: new Map([[name, "1"]]) }))
      .catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(EngineError);
    expect((thrown as InstanceType<typeof EngineError>).code).toBe(115);
    expect(calls).toEqual(["open /data/clickhouse", "close"]);
  }
});

test("values beyond what the engine parses by default are announced, those at the bound are not", async () => {
  const set = "SET max_query_size = 268435456";
  const lengthOf = (chars: number) => new Map([["v", "x".repeat(chars)]]);
  await engine.run(statement("SELECT 1", { params: lengthOf(0) }));
  const room = 50_000 - calls[1]!.length;
  calls.length = 0;
  await engine.run(statement("SELECT 1", { params: lengthOf(room) }));
  expect(calls).not.toContain(set);
  await engine.run(statement("SELECT 1", { params: lengthOf(room + 1) }));
  expect(calls).toContain(set);
});

test("a stream gives its chunks, and is cancelled and closed when its reader leaves", async () => {
  const chunks: string[] = [];
  for await (const chunk of engine.stream(statement("SELECT 1"))) chunks.push(Buffer.from(chunk).toString());
  expect(chunks).toEqual(["one", "two"]);
  calls.length = 0;
  for await (const _ of engine.stream(statement("SELECT 1"))) break;
  expect(calls.slice(-2)).toEqual(["cancel", "close"]);
});

test("an error has the engine's code, an unknown one is said to be, and a session is closed all the same", async () => {
  faults.set("SELECT", new Error("Code: 62. DB::Exception: Syntax error"));
  const codeOf = async (run: Promise<unknown>) => {
    const thrown: unknown = await run.catch((reason: unknown) => reason);
    return thrown instanceof EngineError ? [thrown.code, thrown.fatal] : thrown;
  };
  expect(await codeOf(engine.run(statement("SELECT 1")))).toEqual([62, false]);
  expect(calls.at(-1)).toBe("close");
  faults.set("SELECT", new Error("segment of the library"));
  expect(await codeOf(Array.fromAsync(engine.stream(statement("SELECT 1"))))).toEqual([1002, false]);
  expect(calls.at(-1)).toBe("close");
  faults.set("SELECT", new Error("Code: 236. DB::Exception: the server is shutting down"));
  expect(await codeOf(engine.run(statement("SELECT 1")))).toEqual([236, true]);
});

test("a statement that was aborted before it began does not run", async () => {
  const asked = engine.run(statement("SELECT 1", { abort: AbortSignal.abort(new Error("left")) }));
  expect(asked).rejects.toThrow("left");
  await asked.catch(() => undefined);
  expect(calls.filter((one) => one === "SELECT 1")).toEqual([]);
  expect(calls.at(-1)).toBe("close");
});

test("a running statement that is aborted is killed by its tag, until it has ended", async () => {
  held = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const running = engine.run(statement("SELECT slow", { abort: leaving.signal }));
  while (!calls.includes("SELECT slow")) await Promise.resolve();
  leaving.abort();
  while (!calls.some((one) => one.startsWith("KILL"))) await Promise.resolve();
  expect(calls).toContain("KILL QUERY WHERE Settings['log_comment'] = 't1' ASYNC");
  held.resolve();
  held = undefined;
  await running;
});

test("closing waits for what runs, before the first session ends and after it", async () => {
  const own = openEngine("/data/clickhouse", "/data/config.xml");
  calls.length = 0;
  await own.close();
  expect(calls).toEqual(["drain", "close", "drain"]);
});
