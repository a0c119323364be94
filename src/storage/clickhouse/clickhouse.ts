// The ClickHouse client: statements, Native batches, and the meaning of errors. The only file that imports
// @clickhouse/client. It never repeats a statement.

import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { constants, createZstdCompress } from "node:zlib";
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { limits } from "../../core/limits.ts";
import { RunningStatements } from "../running_statements.ts";
import type { Work } from "../work_watch.ts";
import { classified, ClickHouseError, readFailure } from "./error.ts";
import { HiddenRowsOfProjects } from "./hidden_rows.ts";
import { clickhouseLimits } from "./limits.ts";
import { openLongReads } from "./long_reads.ts";
import { isLong, openReader, openWriter, type Reader, type ReadKind, readReplyRows } from "./read.ts";
import { withShortParams } from "./short_params.ts";
import { type Cluster, ownTables, quoteName, quoteText } from "./statement.ts";
import { countFittingZones, openEngineZones } from "./zones.ts";

export {
  busyErrors,
  ClickHouseError,
  describeExcess,
  isOfServer,
  isTooBig,
  isTooHeavy,
  unlessTooBig,
  WorkExceeded,
} from "./error.ts";
export type { Work } from "../work_watch.ts";

export interface QueryOptions {
  /** How long the whole answer may take, in ms; clickhouseLimits.statementMsMax by default. */
  timeoutMs?: number;
  settings?: Record<string, string | number>;
  /** Ends the wait; a writing statement continues in ClickHouse. */
  abort?: AbortSignal;
  kind?: ReadKind;
  /** CPU-seconds that reads may use; without a bound by default. */
  work?: Work;
}

/**
 * Native blocks in a row: bytes, or a file that contains nothing else, below DATA_DIR, which an embedded engine reads
 * by name.
 */
export type NativeBody = { path: string } | { bytes: Uint8Array[] };

/** An INSERT of a SELECT's result over the rows of a body. */
export interface DerivedInsert {
  /** The body's columns that are read, with their types; others are skipped. */
  structure: string;
  /** The statement; `rows` is the text after FROM. */
  text: (rows: string) => string;
}

/**
 * The status is sent after the whole answer, so that no error hides in the middle. Expressions are not compiled:
 * compiled `min` and `max` take a moment before 1970 for a late one, in queries and in views. An INSERT writes with one
 * thread, hence one part: from 26.8 on the engine's default is one thread per core.
 */
const steady = { wait_end_of_query: 1, compile_aggregate_expressions: 0, max_insert_threads: "1" } as const;

const reading = { ...steady, output_format_json_quote_64bit_integers: 1 } as const;

/**
 * One INSERT is one block: the sizes for squashing are far above a batch. Asynchronous inserts and deduplication (by
 * token or hash) are off: the engine logs a block before it publishes its part, so after a kill in between, the retry
 * would report success and store nothing. A batch in doubt is read back instead.
 */
const inserting = {
  ...steady,
  async_insert: 0,
  insert_deduplicate: 0,
  max_insert_block_size: "100000000",
  min_insert_block_size_rows: "100000000",
  min_insert_block_size_bytes: "0",
  // Merges and reads collapse rows that replace each other anyway: collapsing them here, too, took more than a quarter
  // of an INSERT.
  optimize_on_insert: 0,
} as const;

type Client = ReturnType<typeof createClient>;
type Params = Record<string, unknown>;
type Connected = ReturnType<typeof connect>;

/** Opens a client of `http(s)://user:password@host:port/database`; it connects on first use. */
export function openClickHouse(url: string, { embedded = false }: { embedded?: boolean } = {}) {
  const connected = connect(url, embedded);
  const { database, client, admin, running } = connected;
  return {
    /** The database of unqualified table names. */
    database,
    /** Whether it runs on this machine and may read our files by name. */
    embedded,
    cluster: undefined as Cluster | undefined,
    /** The names of tables for statements that change rows or read system tables. */
    tables: ownTables,
    running,
    /** Permits for pages that are read block by block. */
    longReads: openLongReads(),
    /** The time zones that the engine was sent. */
    zones: openEngineZones(embedded ? countFittingZones() : Number.POSITIVE_INFINITY),
    ...openReads(connected, embedded),
    ...openWrites(connected, embedded),
    close: async () => {
      await client.close();
      await admin.close();
    },
  };
}

/** Opens reads, which change nothing. */
function openReads({ client, read }: Connected, embedded: boolean) {
  const hidden = new HiddenRowsOfProjects();
  /** Rows parsed from JSON; 64-bit integers are strings. `params` are the values of `{name:Type}`. */
  const query = <Row>(text: string, params?: Params, options?: QueryOptions): Promise<Row[]> =>
    sendRead(read, [`${text}\nFORMAT JSONEachRow`, params], hidden.of(params, options), readReplyRows<Row>);
  return {
    query,
    /** The whole answer of a SELECT that names its FORMAT, as bytes. */
    bytes: (text: string, params?: Params, options?: QueryOptions): Promise<Uint8Array> =>
      sendRead(read, [text, params], hidden.of(params, options), (reply) => reply.bytes()),
    /**
     * The answer of a SELECT that names its FORMAT, as a stream. ClickHouse may fail half way, with an error text in
     * the stream or without: the caller must know how much to expect.
     */
    stream: (text: string, params?: Params, options?: QueryOptions) =>
      streamed(client, text, params, hidden.of(params, options)),
    /** From now on these reads with the parameter `project_id` omit these rows of the project. */
    hide: (...rows: Parameters<typeof hidden.hide>) => hidden.hide(...rows),
    /** The options of another statement that reads rows of the project in its parameters. */
    omitHidden: (params: Params, options: QueryOptions) => hidden.of(params, options),
    /** Whether the engine can. */
    canHide: async (): Promise<boolean> =>
      embedded || (await hidden.canHide((text, settings) => query(text, undefined, { settings }))),
  };
}

/** Statements without rows, and what inserts. */
function openWrites({ database, client, admin, write, running }: Connected, embedded: boolean) {
  const knownSettings = findKnown(admin);
  const command =
    (on: Client) =>
    async (text: string, params?: Params, options: QueryOptions = {}): Promise<void> => {
      const { timeoutMs, abort } = options;
      const settings = { ...steady, ...options.settings };
      const send = async (abort_signal: AbortSignal) => {
        if (params && isLong(params)) return await write({ text, params, settings, abort: abort_signal });
        const statement = { query: text, ...(params && { query_params: params }) };
        const stream = await execute(on, { ...statement, abort_signal, clickhouse_settings: settings });
        const answer = await readText(stream);
        if (answer.includes("DB::Exception")) throw readFailure(answer);
      };
      await running.during(text, () => within(timeoutMs, send, abort));
    };
  const [run, runAnywhere] = [command(client), command(admin)];

  /** One INSERT of rows that the embedded engine reads by name, or that are sent behind `text`. */
  function insert(body: NativeBody, text: string, nameFile: (path: string) => string, options: QueryOptions) {
    if (embedded && "path" in body) return run(nameFile(quoteText(body.path)), undefined, options);
    return insertBody(client, `${text} FORMAT Native`, body, options, !embedded);
  }

  return {
    command: run,
    /** Resolves when it has answered a query, whether or not its database exists. */
    ping: (timeoutMs: number = limits.healthMsMax) =>
      runAnywhere("SELECT 1 FORMAT Null", undefined, { timeoutMs }),
    /** `where`: text behind its name, such as ON CLUSTER. */
    createDatabase: (where = "") =>
      runAnywhere(`CREATE DATABASE IF NOT EXISTS ${quoteName(database)}${where}`),
    /** Writes the rows as one INSERT and one block, so one part for each partition; resolves when they are stored. */
    insertNative: async (table: string, body: NativeBody, options: QueryOptions = {}) => {
      const settings = { ...inserting, ...(await knownSettings()), ...options.settings };
      const into = `INSERT INTO ${table}`;
      const nameFile = (path: string) => `${into} FROM INFILE ${path} COMPRESSION 'none' FORMAT Native`;
      await insert(body, into, nameFile, { ...options, settings });
    },
    /** Writes the SELECT's result over the rows, which are read chunk by chunk; resolves when it is stored. */
    insertDerived: async (derived: DerivedInsert, body: NativeBody, options: QueryOptions = {}) => {
      const { structure, text } = derived;
      const settings = { ...inserting, input_format_skip_unknown_fields: 1, ...options.settings };
      const columns = quoteText(structure);
      const nameFile = (path: string) => text(`file(${path}, 'Native', ${columns})`);
      await insert(body, text(`input(${columns})`), nameFile, { ...options, settings });
    },
  };
}

export type ClickHouse = ReturnType<typeof openClickHouse>;

function sendRead<Taken>(
  read: Reader,
  [text, params]: [text: string, params: Params | undefined],
  { timeoutMs, settings, abort, kind, work }: QueryOptions = {},
  readReply: (reply: Response) => Promise<Taken>,
): Promise<Taken> {
  // The engine's own time limit comes first and gives a reason; this one is for an engine that does not answer.
  const engineMs = (timeoutMs ?? clickhouseLimits.statementMsMax) - limits.engineSaysMsMax;
  const max_execution_time = Math.max(1, Math.floor(engineMs / 1000));
  const all = { ...reading, max_execution_time, ...settings };
  const run = (abort_signal: AbortSignal) =>
    read({ text, params, settings: all, abort: abort_signal, kind, work }, readReply);
  return within(timeoutMs, run, abort);
}

type OptionsChange = (options?: QueryOptions) => QueryOptions;

/** A client with other options for what reads, for what writes, and for other statements. */
export function withOptions(
  clickhouse: ClickHouse,
  read: OptionsChange,
  write: OptionsChange = (options = {}) => options,
  command = write,
): ClickHouse {
  return {
    ...clickhouse,
    query: (text, params, options) => clickhouse.query(text, params, read(options)),
    bytes: (text, params, options) => clickhouse.bytes(text, params, read(options)),
    stream: (text, params, options) => clickhouse.stream(text, params, read(options)),
    command: (text, params, options) => clickhouse.command(text, params, command(options)),
    insertNative: (table, body, options) => clickhouse.insertNative(table, body, write(options)),
    insertDerived: (insert, body, options) => clickhouse.insertDerived(insert, body, write(options)),
  };
}

/** A client whose reads end when the signal aborts. */
export function readsUntil(clickhouse: ClickHouse, end: AbortSignal): ClickHouse {
  return withOptions(clickhouse, endedBy(end));
}

/** A client whose statements are waited for until the signal aborts; those that write go on in ClickHouse. */
export function statementsUntil(clickhouse: ClickHouse, end: AbortSignal): ClickHouse {
  return withOptions(clickhouse, endedBy(end), endedBy(end));
}

function endedBy(end: AbortSignal): OptionsChange {
  return ({ abort, ...options } = {}) => ({
    ...options,
    abort: abort ? AbortSignal.any([abort, end]) : end,
  });
}

/** Settings of an INSERT that only some engine versions have; used where they exist and can be set. */
const insertingWhereKnown: Readonly<Record<string, string>> = {
  // Newer engines switch deduplication off by this name, which wins over the one in `inserting`.
  deduplicate_insert: "disable",
  // The views behind an INSERT are planned for each one; the older planner takes two thirds of the CPU. From 26.9 on
  // the setting is obsolete, and an engine refuses a statement that has it.
  enable_analyzer: "0",
};

/** The settings of `insertingWhereKnown` that the engine has. Read once. */
function findKnown(admin: Client): () => Promise<Record<string, string>> {
  let settings: Promise<Record<string, string>> | undefined;
  const query = () =>
    within(undefined, async (abort_signal): Promise<Record<string, string>> => {
      const query =
        "SELECT name, is_obsolete, readonly FROM system.settings WHERE name IN {names:Array(String)}";
      const query_params = { names: Object.keys(insertingWhereKnown) };
      const found = await admin.query({ query, query_params, format: "JSONEachRow", abort_signal });
      const settings = await found.json<{ name: string; is_obsolete: number; readonly: number }>();
      const usable = settings.filter(({ is_obsolete, readonly }) => is_obsolete === 0 && readonly === 0);
      return Object.fromEntries(usable.map(({ name }) => [name, insertingWhereKnown[name]!]));
    });
  return () => {
    settings ??= query();
    settings.catch(() => (settings = undefined));
    return settings;
  };
}

async function* streamed(
  client: Client,
  text: string,
  params: Params = {},
  { timeoutMs = clickhouseLimits.statementMsMax, settings = {}, abort }: QueryOptions = {},
): AsyncGenerator<Uint8Array> {
  const { text: query, params: query_params } = withShortParams(text, params);
  const ends = [AbortSignal.timeout(timeoutMs), ...(abort ? [abort] : [])];
  const abort_signal = AbortSignal.any(ends);
  try {
    const bounds = { abort_signal, clickhouse_settings: settings };
    const stream = await execute(client, { query, query_params, ...bounds });
    try {
      for await (const chunk of stream) yield chunk as Uint8Array;
    } finally {
      stream.destroy();
    }
  } catch (thrown) {
    throw classified(thrown);
  }
}

/** Compresses for a remote engine: a tenth of the bytes for a tenth more CPU of an import. */
async function insertBody(
  client: Client,
  query: string,
  body: NativeBody,
  { timeoutMs, settings = {}, abort }: QueryOptions,
  compressed: boolean,
): Promise<void> {
  const source =
    "path" in body ? createReadStream(body.path) : Readable.from(body.bytes, { objectMode: false });
  // An unreadable file fails the request; without a listener it would also end the process.
  const values = compressed
    ? pipeline(source, createZstdCompress(fast), () => {})
    : source.on("error", () => {});
  try {
    const send = async (abort_signal: AbortSignal): Promise<void> => {
      if ("path" in body) await access(body.path);
      const stream = await execute(client, {
        query,
        values,
        abort_signal,
        clickhouse_settings: settings,
        ...(compressed && { http_headers: { "content-encoding": "zstd" } }),
      });
      // A stored INSERT has an empty answer.
      const answer = await readText(stream);
      if (answer !== "") throw readFailure(answer);
    };
    await within(timeoutMs, send, abort);
  } finally {
    source.destroy();
    values.destroy();
  }
}

/**
 * The answer as a stream. @throws the error as readFailure() names it: the client reads the first name in brackets, and
 * that may be a row's text.
 */
async function execute(client: Client, statement: Parameters<Client["exec"]>[0]): Promise<Readable> {
  const answer = await client.exec({ ...statement, ignore_error_response: true });
  const { stream, response_headers: headers, http_status_code: status = 0 } = answer;
  if (status < 200 || status > 299 || headers?.["x-clickhouse-exception-code"])
    throw readFailure(await readText(stream));
  return stream;
}

const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/**
 * Reads the whole answer, since a proxy, or an engine that fails late, may put an exception below a status of 200. A
 * response that is not drained keeps its socket out of the pool.
 */
async function readText(stream: Readable): Promise<string> {
  return Buffer.concat((await stream.toArray()) as Uint8Array[]).toString();
}

/** Two clients: the second names no database, since ours may not exist yet. */
function connect(url: string, embedded: boolean) {
  const address = new URL(url);
  const database = decodeURIComponent(address.pathname.slice(1)) || "sluice";
  const origin = `${address.protocol}//${address.host}`;
  const username = decodeURIComponent(address.username) || "default";
  const password = decodeURIComponent(address.password);
  const open = (name: string, connectionsMax: number) =>
    createClient({
      url: origin,
      username,
      password,
      database: name,
      application: "sluice",
      // Each call has its own time limit; the client's, for silence on a socket, is only a fallback.
      request_timeout: limits.longStatementMsMax,
      max_open_connections: connectionsMax,
      // By default ClickHouse closes idle connections after 3 s: the client must close them first.
      keep_alive: { enabled: true, idle_socket_ttl: 2000 },
      log: { level: ClickHouseLogLevel.OFF },
    });
  const client = open(database, clickhouseLimits.clickhouseConnectionsMax);
  const running = new RunningStatements();
  const { killed } = running;
  const server = { origin, username, password, database, embedded, failure: readFailure, killed };
  const [read, write] = [openReader(server), openWriter(server)];
  return { database, client, admin: open("default", 1), read, write, running };
}

async function within<T>(
  timeoutMs: number = clickhouseLimits.statementMsMax,
  run: (abort: AbortSignal) => Promise<T>,
  abort?: AbortSignal,
): Promise<T> {
  const late = AbortSignal.timeout(timeoutMs);
  try {
    // The client does not check whether the signal was aborted before.
    abort?.throwIfAborted();
    return await run(abort ? AbortSignal.any([late, abort]) : late);
  } catch (thrown) {
    if (abort?.aborted) throw new ClickHouseError("the statement was given up", "ABORTED", "ABORTED");
    if (thrown instanceof ClickHouseError) throw thrown;
    if (late.aborted)
      throw new ClickHouseError(`ClickHouse did not answer within ${timeoutMs} ms`, "TIMEOUT", "TIMEOUT");
    throw classified(thrown);
  }
}
