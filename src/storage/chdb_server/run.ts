// Runs a request in the embedded ClickHouse: data goes through a file, answers are whole or in chunks. Statements may
// name files below the data folder only.

import { createWriteStream, mkdirSync, realpathSync, rmSync, statfsSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { wordsIn } from "../../core/words.ts";
import { primed } from "../../work/slices.ts";
import {
  type Insert,
  quoteText,
  readInsert,
  readShape,
  splitStatements,
  unquoteText,
} from "../clickhouse/statement.ts";
import type { Engine } from "./chdb.ts";
import { DiskCheck } from "./disk_check.ts";
import { chdbServerLimits } from "./limits.ts";
import { type EngineRequest, readBounded, ServerError } from "./request.ts";
import { openAnswers } from "./stream.ts";

export interface EngineAnswer {
  format: string;
  body: Uint8Array | AsyncGenerator<Uint8Array, void>;
}

/** Formats whose chunks can be joined: no head, no tail, no separators. */
const streamable: ReadonlySet<string> = new Set(
  wordsIn(`
    JSONEachRow JSONLines NDJSON JSONStringsEachRow JSONCompactEachRow JSONCompactStringsEachRow Native RowBinary
    TabSeparated TabSeparatedRaw TSV TSVRaw CSV
  `),
);

export class Runner {
  readonly #engine: Engine;
  readonly #dataDir: string;
  readonly #inDir: string;
  readonly #answer = openAnswers();
  readonly #disk: DiskCheck;

  /** `dataDir`: the folder whose files statements may name; bodies are written to `clickhouse-in` in it. */
  constructor(engine: Engine, dataDir: string) {
    this.#engine = engine;
    this.#disk = new DiskCheck(engine);
    this.#dataDir = realpathSync(dataDir);
    this.#inDir = join(this.#dataDir, "clickhouse-in");
    // Files of an earlier process were never acknowledged.
    rmSync(this.#inDir, { recursive: true, force: true });
    mkdirSync(this.#inDir, { mode: 0o700 });
  }

  /** Must be awaited before the first statement. */
  start(): Promise<void> {
    return this.#disk.start();
  }

  /** @throws ServerError and EngineError, as ClickHouse would refuse. */
  run(request: EngineRequest, abort: AbortSignal): Promise<EngineAnswer> {
    const verb = /^\s*(\w+)/.exec(request.text)?.[1];
    const isRead = verb !== undefined && readingVerbs.has(verb.toUpperCase());
    return this.#disk.run(isRead, () => this.#run(request, abort));
  }

  /** Waits for running statements, then closes the engine. */
  async close(): Promise<void> {
    this.#disk.stop();
    await this.#engine.close();
  }

  async #run(request: EngineRequest, abort: AbortSignal): Promise<EngineAnswer> {
    const insert = readInsert(request.text);
    if (insert?.file !== undefined) return this.#insertFile(request, insert.file);
    if (insert?.format !== undefined && hasBodyData(request, insert))
      return this.#insertData(request, insert);
    const bodyText = request.body ? (await readBounded(request.body)).toString() : "";
    const text = onlyStatement(bodyText ? `${request.text}\n${bodyText}` : request.text);
    const shape = readShape(text);
    if (shape.outfile) throw new ServerError(48, "NOT_IMPLEMENTED", "INTO OUTFILE is not allowed");
    if (definingVerbs.has(shape.verb) && !needsNoSpace.test(text)) this.#checkDiskSpace();
    const format = shape.format ?? request.format;
    const reads = readingVerbs.has(shape.verb);
    // An INSERT continues when its client leaves, as in ClickHouse: the client reads back whether it was stored.
    const statement = { ...toStatement(request, text), abort: reads ? abort : neverAborted };
    if (request.whole || shape.verb !== "SELECT") return { format, body: await this.#engine.run(statement) };
    if (shape.selects === 1 && streamable.has(format))
      return { format, body: await primed(this.#engine.stream(statement)) };
    // Planning a subquery may run it, and the engine plans a stream of its own on the event loop.
    const select = shape.unformatted;
    if (select !== undefined && format !== "Null")
      return { format, body: await primed(this.#answer(this.#engine, statement, select, format)) };
    return { format, body: await this.#engine.run(statement) };
  }

  async #insertFile(request: EngineRequest, literal: string): Promise<EngineAnswer> {
    this.#checkFile(unquoteText(literal));
    await this.#engine.run(toStatement(request, onlyStatement(request.text)));
    return { format: request.format, body: nothing };
  }

  async #insertData(request: EngineRequest, insert: Insert): Promise<EngineAnswer> {
    const path = join(this.#inDir, crypto.randomUUID());
    try {
      const inline = request.text.slice(insert.dataAt).replace(/^\s+/, "");
      await pipeline(
        Readable.from(readData(inline, request.body), { objectMode: false }),
        createWriteStream(path),
      );
      if (statSync(path).size === 0) return { format: request.format, body: nothing };
      await this.#engine.run(toStatement(request, readingFile(request.text, insert, path)));
      return { format: request.format, body: nothing };
    } finally {
      rmSync(path, { force: true });
    }
  }

  /**
   * Refuses a change of a table when the disk is nearly full: if it were interrupted, the engine could not start again.
   */
  #checkDiskSpace(): void {
    const { bavail, bsize } = statfsSync(this.#dataDir);
    if (bavail * bsize >= chdbServerLimits.definitionRoomBytes) return;
    throw new ServerError(243, "NOT_ENOUGH_SPACE", "The disk has no space for a change of a table");
  }

  /**
   * Checked here because the engine treats a missing file, or a name that looks like a pattern, as no rows, and reports
   * success.
   */
  #checkFile(path: string): void {
    const refuse = (reason: string): never => {
      throw new ServerError(107, "FILE_DOESNT_EXIST", `FROM INFILE: ${reason}`);
    };
    if (/[*?{}]/.test(path)) refuse("the name must not contain * ? { }");
    let real = "";
    try {
      real = realpathSync(path);
      if (!statSync(real).isFile()) refuse("not a file");
    } catch (thrown) {
      if (thrown instanceof ServerError) throw thrown;
      refuse("no such file");
    }
    if (!real.startsWith(`${this.#dataDir}${sep}`)) {
      const reason = "FROM INFILE: the file is outside the data folder";
      throw new ServerError(291, "DATABASE_ACCESS_DENIED", reason);
    }
  }
}

const readingVerbs: ReadonlySet<string> = new Set([
  ...wordsIn("SELECT WITH SHOW DESCRIBE DESC EXPLAIN EXISTS"),
  "",
]);

/** Statements with these verbs write files besides parts. */
const definingVerbs: ReadonlySet<string> = new Set(["CREATE", "ALTER", "DELETE", "UPDATE"]);

/**
 * Statements that are allowed without disk space: those of each start, which then write nothing, and those that free
 * space.
 */
const needsNoSpace = /^\s*(CREATE (DATABASE|TABLE) IF NOT EXISTS|ALTER TABLE \w+ DROP PARTITION)/i;

const nothing = new Uint8Array(0);

const neverAborted = new AbortController().signal;

/** Whether rows follow in the body. After VALUES they may be in the statement, which the engine reads itself. */
function hasBodyData(request: EngineRequest, insert: Insert): boolean {
  if (insert.format?.toUpperCase() !== "VALUES") return true;
  return request.body !== undefined && request.text.slice(insert.dataAt).trim() === "";
}

/** The INSERT, whose data are now in a file. */
function readingFile(text: string, { splitAt, settings, format, input }: Insert, path: string): string {
  const head = text.slice(0, splitAt);
  if (!input) return `${head} FROM INFILE ${quoteText(path)} COMPRESSION 'none' ${settings} FORMAT ${format}`;
  const file = `file(${quoteText(path)}, ${quoteText(format ?? "")}, `;
  return `${head.slice(0, input.start)}${file}${head.slice(input.end)}`;
}

async function* readData(inline: string, body: Readable | undefined): AsyncGenerator<Uint8Array> {
  if (inline) yield Buffer.from(body ? `${inline}\n` : inline);
  if (body) yield* body;
}

function toStatement({ tag, format, database, settings, params }: EngineRequest, text: string) {
  return { tag, text, format, database, settings, params, abort: neverAborted };
}

function onlyStatement(text: string): string {
  const [statement, ...more] = splitStatements(text);
  if (statement === undefined) throw new ServerError(62, "SYNTAX_ERROR", "Syntax error: Empty query");
  if (more.length > 0)
    throw new ServerError(62, "SYNTAX_ERROR", "Syntax error: Multi-statements are not allowed");
  return statement;
}
