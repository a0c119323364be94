// Requests to the embedded engine: which statements run, how data comes to them, and which files they may name. The
// engine is a record of what it is given.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Engine, EngineStatement } from "../../../src/storage/chdb_server/chdb.ts";
import { type EngineRequest, ServerError } from "../../../src/storage/chdb_server/request.ts";
import { Runner } from "../../../src/storage/chdb_server/run.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

const ran: { text: string; format: string; isAborted: boolean; file?: string }[] = [];
let failing = false;

/** The file that a statement reads is remembered: it is gone afterwards. */
function record({ text, format, abort }: EngineStatement): void {
  const [, path] =
    /FROM INFILE '([^']+)'|file\('([^']+)'/.exec(text)?.filter((one) => one !== undefined) ?? [];
  const file = path !== undefined && existsSync(path) ? readFileSync(path, "utf8") : undefined;
  ran.push({ text, format, isAborted: abort.aborted, ...(file !== undefined && { file }) });
  if (failing) throw new Error("the engine refuses");
}

const engine: Engine = {
  run: async (statement) => {
    record(statement);
    return Buffer.from("answer");
  },
  stream: async function* (statement) {
    record(statement);
    yield Buffer.from("one ");
    yield Buffer.from("two");
  },
  failedWrites: () => Promise.resolve(0),
  close: () => Promise.resolve(),
};

let dataDir: string;
let runner: Runner;
const aborted = AbortSignal.abort();

beforeAll(async () => {
  dataDir = makeFolder();
  mkdirSync(join(dataDir, "clickhouse-in"));
  writeFileSync(join(dataDir, "clickhouse-in", "left"), "of an earlier process");
  runner = new Runner(engine, dataDir);
  await runner.start();
});

beforeEach(() => {
  ran.length = 0;
  failing = false;
});

afterAll(async () => {
  await runner.close();
  await cleanUp();
});

function request(text: string, more: Partial<EngineRequest> = {}): EngineRequest {
  return {
    queryId: "q",
    tag: "t",
    text,
    body: undefined,
    database: "default",
    format: "TabSeparated",
    settings: new Map(),
    params: new Map(),
    whole: false,
    gzip: false,
    ...more,
  };
}

async function answerOf(
  text: string,
  more: Partial<EngineRequest> = {},
  signal?: AbortSignal,
): Promise<string> {
  const { body } = await runner.run(request(text, more), signal ?? new AbortController().signal);
  return Buffer.from(
    body instanceof Uint8Array ? body : Buffer.concat(await Array.fromAsync(body)),
  ).toString();
}

async function refusalOf(text: string, more: Partial<EngineRequest> = {}): Promise<string> {
  const thrown: unknown = await answerOf(text, more).catch((reason: unknown) => reason);
  if (!(thrown instanceof ServerError)) throw new Error(`not refused: ${String(thrown)}`);
  return `${thrown.code} ${thrown.message.replace(/^Code: \d+\. DB::Exception: /, "")}`;
}

test("files of an earlier process are removed: nothing of them was acknowledged", () => {
  expect(existsSync(join(dataDir, "clickhouse-in", "left"))).toBe(false);
});

test("a plain SELECT is streamed, unless its status waits for the end; other statements are answered whole", async () => {
  expect(await answerOf("SELECT 1")).toBe("one two");
  expect(await answerOf("SELECT 1", { whole: true })).toBe("answer");
  expect(await answerOf("SHOW TABLES")).toBe("answer");
  expect(await answerOf("INSERT INTO t SELECT 1")).toBe("answer");
});

test("data after FORMAT go through a file, which is gone when the statement has ended, also where it failed", async () => {
  const text = "INSERT INTO t FORMAT JSONEachRow";
  await answerOf(`${text}\n{"a":1}`, { body: Readable.from([Buffer.from('{"a":2}\n')]) });
  expect(ran[0]!.file).toBe('{"a":1}\n{"a":2}\n');
  expect(ran[0]!.text).toMatch(/^INSERT INTO t +FROM INFILE '.*' COMPRESSION 'none' +FORMAT JSONEachRow$/);
  failing = true;
  const refused = answerOf(text, { body: Readable.from([Buffer.from("{}")]) });
  expect(await refused.catch(String)).toBe("Error: the engine refuses");
  expect(ran.at(-1)!.file).toBe("{}");
  expect(readdirSync(join(dataDir, "clickhouse-in"))).toEqual([]);
});

test("an INSERT without data is none, and VALUES in the statement are the engine's to read", async () => {
  await answerOf("INSERT INTO t FORMAT JSONEachRow", { body: Readable.from([]) });
  expect(ran).toEqual([]);
  await answerOf("INSERT INTO t VALUES (1)");
  expect(ran.map(({ text }) => text)).toEqual(["INSERT INTO t VALUES (1)"]);
});

test("an INSERT goes on when its client has left, a read does not", async () => {
  await answerOf("INSERT INTO t SELECT 1", {}, aborted);
  await answerOf("SELECT 1", { whole: true }, aborted);
  expect(ran.map(({ isAborted }) => isAborted)).toEqual([false, true]);
});

test("a request is one statement, and writes no file of its choice", async () => {
  expect(await refusalOf("SELECT 1; SELECT 2")).toBe(
    "62 Syntax error: Multi-statements are not allowed (SYNTAX_ERROR)",
  );
  expect(await refusalOf(" -- nothing\n")).toBe("62 Syntax error: Empty query (SYNTAX_ERROR)");
  expect(await refusalOf("SELECT 1 INTO OUTFILE '/tmp/x'")).toBe(
    "48 INTO OUTFILE is not allowed (NOT_IMPLEMENTED)",
  );
  expect(ran).toEqual([]);
});

test("only files below the data folder are read, by their whole names", async () => {
  const inside = join(dataDir, "rows");
  writeFileSync(inside, "{}");
  const outside = join(makeFolder(), "rows");
  writeFileSync(outside, "{}");
  symlinkSync(outside, join(dataDir, "link"));
  mkdirSync(join(dataDir, "folder"));
  const insert = (path: string) => `INSERT INTO t FROM INFILE '${path}' FORMAT JSONEachRow`;
  await answerOf(insert(inside));
  expect(ran).toHaveLength(1);
  const far = "291 FROM INFILE: the file is outside the data folder (DATABASE_ACCESS_DENIED)";
  expect(await refusalOf(insert(outside))).toBe(far);
  expect(await refusalOf(insert(join(dataDir, "link")))).toBe(far);
  expect(await refusalOf(insert(`${dataDir}/folder/../../${outside.split("/").slice(2).join("/")}`))).toMatch(
    /^(?:291|107) /,
  );
  expect(await refusalOf(insert(join(dataDir, "none")))).toBe(
    "107 FROM INFILE: no such file (FILE_DOESNT_EXIST)",
  );
  expect(await refusalOf(insert(join(dataDir, "folder")))).toBe(
    "107 FROM INFILE: not a file (FILE_DOESNT_EXIST)",
  );
  expect(await refusalOf(insert(join(dataDir, "row*")))).toBe(
    "107 FROM INFILE: the name must not contain * ? { } (FILE_DOESNT_EXIST)",
  );
  expect(ran).toHaveLength(1);
});
