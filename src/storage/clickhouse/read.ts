// Reads from ClickHouse with fetch: through the client they cost six times as much CPU for one row and nine times as
// much for a megabyte, on the event loop that captures. Only statements that change nothing belong here, since they may
// be sent twice.

import { sleep, systemClock, yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { toCode } from "../../core/log.ts";
import { memoryHere, readThreadSeconds } from "../../core/machine.ts";
import type { Owner } from "../../work/fair_share.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { type CountedWork, openWorkWatch, type Work } from "../work_watch.ts";
import { exceedsItsMemory, tooManyWait } from "./error.ts";
import { clickhouseLimits } from "./limits.ts";
import { MemoryNeeds } from "./memory_needs.ts";
import { withShortParams } from "./short_params.ts";

/** Settings of statements with a client's expressions: see Q-7. */
export const inWrittenOrder = { optimize_move_to_prewhere: 0 } as const;

/** The kind of a read: each has permits of its own, so that none waits behind another. */
export type ReadKind = "page" | "query" | "export" | "flush";

interface Allowance {
  permits: Semaphore;
  bytes: number;
  /** Whether all projects have one share of it, as kinds of reads have. */
  isShared?: true;
}

interface ReaderOptions {
  /** `http(s)://host:port`. */
  origin: string;
  username: string;
  password: string;
  database: string;
  /** Whether its engine runs on this machine. */
  embedded?: boolean;
  /** The error of an answer whose status is not 200. */
  failure(text: string): Error;
  /** Statements that are being killed, by tag, each with when its limit was over, by systemClock.elapsed(). */
  killed?: Map<string, number>;
}

interface ReadRequest {
  /** A statement that names its FORMAT. */
  text: string;
  /** Values of `{name:Type}`: texts, numbers, booleans, null, and arrays of these. */
  params?: Record<string, unknown> | undefined;
  /** A `max_memory_usage` below that of the level is kept. */
  settings: Record<string, string | number>;
  abort: AbortSignal;
  /** "page" by default. */
  kind?: ReadKind | undefined;
  /** Bounds the work; none by default. */
  work?: Work | undefined;
}

/** Sends a read; `readReply` reads the body while the permit is held. */
export type Reader = <Taken>(
  reading: ReadRequest,
  readReply: (reply: Response) => Promise<Taken>,
) => Promise<Taken>;

/**
 * A reader whose permit is held until the statement has left the engine, even if its caller has left: a running
 * statement uses memory that the next one relies on.
 * @throws what `failure` makes, the signal's reason, or the error of a connection.
 */
export function openReader(options: ReaderOptions): Reader {
  const allowances = openAllowances();
  const needs = new MemoryNeeds();
  const transport = openTransport(options);
  const watch = openWorkWatch(transport.count, systemClock, options.embedded ? readThreadSeconds : undefined);

  async function attempt<Taken>(
    { permits, bytes, isShared }: Allowance,
    reading: ReadRequest,
    readReply: (reply: Response) => Promise<Taken>,
  ): Promise<Taken> {
    // A read that timed out in the queue gets the error that allows a retry.
    const owner = findOwner(reading);
    const share = { weight: reading.kind === "query" ? queryWeight : 1, person: owner };
    const release = await permits
      .enter(isShared ? "questions" : owner, reading.abort, share)
      .catch(() => undefined);
    if (!release) throw tooManyWait();
    const tag = crypto.randomUUID();
    const stop = new AbortController();
    const abort = AbortSignal.any([reading.abort, stop.signal]);
    if (reading.work) watch.begin(tag, reading.work, (reason) => stop.abort(reason));
    const limitMs = systemClock.elapsed() + 1000 * Number(reading.settings["max_execution_time"] ?? 0);
    let ended = false;
    try {
      const max_memory_usage = Math.min(ownBytes(reading), bytes);
      const limited = reading.kind === "query" ? queryBounds : {};
      const bounds = { ...computeBounds(max_memory_usage), ...limited, log_comment: tag };
      const settings = { ...bounds, ...reading.settings, max_memory_usage };
      const reply = await transport.send({ ...reading, settings, abort });
      if (reply.status !== 200) {
        const text = await reply.text();
        ended = true;
        throw options.failure(text);
      }
      const result = await readReply(reply);
      ended = true;
      return result;
    } catch (thrown) {
      throw stop.signal.aborted ? stop.signal.reason : thrown;
    } finally {
      watch.end(tag);
      if (ended) release();
      else void transport.end(tag, stop.signal.aborted ? systemClock.elapsed() : limitMs).finally(release);
    }
  }

  return async (reading, readReply) => {
    const all = allowances[reading.kind ?? "page"];
    const first = reading.kind === "query" ? needs.findLevel(reading) : 0;
    for (let level = first; ; level++) {
      try {
        return await attempt(all[level]!, reading, readReply);
      } catch (thrown) {
        if (level + 1 === all.length || ownBytes(reading) <= all[level]!.bytes) throw thrown;
        if (!exceedsItsMemory(thrown)) throw thrown;
        if (reading.kind === "query") needs.add(reading, level + 1);
      }
    }
  };
}

/**
 * The levels of one reader, for each kind of read, in the order they are tried: the next one when memory does not
 * suffice. @param memory of the machine, in bytes.
 */
export function openAllowances(memory = memoryHere()): Readonly<Record<ReadKind, readonly Allowance[]>> {
  const allow = (permits: number, bytes: number): Allowance => ({
    permits: new Semaphore(permits, clickhouseLimits.readsWaitingMax, limits.workingFreeMultiple),
    bytes,
  });
  const small = allow(clickhouseLimits.readSmallPermits, limits.readSmallBytesMax);
  const large = allow(clickhouseLimits.readLargePermits, clickhouseLimits.readLargeBytesMax);
  const hugeBytes = Math.min(
    clickhouseLimits.readHugeBytesMax,
    memory * clickhouseLimits.readHugeMemoryFraction,
  );
  const huge = allow(clickhouseLimits.readHugePermits, Math.floor(hugeBytes));
  return {
    page: [small, large],
    // A small machine has the levels of a page only.
    query: [small, { ...large, isShared: true }, ...(huge.bytes > large.bytes ? [huge] : [])],
    export: [allow(clickhouseLimits.readExportPermits, clickhouseLimits.readExportBytesMax), large],
    flush: [allow(clickhouseLimits.readFlushPermits, clickhouseLimits.readFlushBytesMax), large],
  };
}

/** Settings that limit a read's memory and answer, and end it when its client leaves. */
function computeBounds(bytes: number): Record<string, string | number> {
  const spill = Math.floor(bytes * clickhouseLimits.readSpillFraction);
  return {
    max_memory_usage: bytes,
    max_bytes_before_external_group_by: spill,
    max_bytes_before_external_sort: spill,
    max_result_bytes: clickhouseLimits.readResultBytesMax,
    result_overflow_mode: "throw",
    max_block_size: clickhouseLimits.readBlockRowsMax,
    cancel_http_readonly_queries_on_client_close: 1,
  };
}

/** The queries of a project have half of the permits of a level: the others are for pages, and for other projects. */
const queryWeight = 2;

/**
 * A client's query changes nothing, and the disk space that it uses is bounded. Its conditions follow the project's: in
 * PREWHERE they would be computed for other projects' rows, and an error would tell what these hold.
 */
const queryBounds = {
  readonly: 2,
  ...inWrittenOrder,
  max_temporary_data_on_disk_size_for_query: clickhouseLimits.readTemporaryBytesMax,
};

function ownBytes({ settings }: ReadRequest): number {
  return Number(settings["max_memory_usage"] ?? Number.POSITIVE_INFINITY);
}

function openTransport(options: ReaderOptions) {
  const send = (reading: ReadRequest): Promise<Response> => fetchAgain(...fetchArguments(options, reading));
  const queryText = async (
    text: string,
    params: ReadRequest["params"] & object,
    msMax = clickhouseLimits.readKillMsMax,
  ): Promise<string> => {
    const abort = AbortSignal.timeout(msMax);
    const reply = await send({ text, params, settings: { wait_end_of_query: 1 }, abort });
    return (await reply.text()).trim();
  };
  /** Resolves when the statement has left the engine, or clickhouseLimits.readGoneMsMax after its limit is over. */
  const end = async (tag: string, limitMs: number): Promise<void> => {
    const began = systemClock.elapsed();
    const until = Math.max(began, limitMs) + clickhouseLimits.readGoneMsMax;
    options.killed?.set(tag, Math.max(limitMs, began - limits.engineSaysMsMax));
    for (;;) {
      const countText = await queryText(killTagged, { tag })
        .then(() => queryText(countTagged, { tag }))
        .catch(() => "unknown");
      if (countText === "0" || systemClock.elapsed() > until) return;
      await sleep(clickhouseLimits.readKillAgainMs);
    }
  };
  const count = async (tags: readonly string[]): Promise<CountedWork[]> => {
    const lines = await queryText(countWork, { tags }, clickhouseLimits.engineSilentMsMax);
    // A user may be denied to read it. Any other text is of an engine that is overloaded, or of a proxy before it.
    if (lines === "" || lines.includes("(ACCESS_DENIED)")) return [];
    return JSON.parse(`[${lines.replaceAll("\n", ",")}]`);
  };
  const endAndForget = (tag: string, limitMs: number) =>
    end(tag, limitMs)
      .catch(() => {})
      .finally(() => options.killed?.delete(tag));
  return { send, count, end: endAndForget };
}

const killTagged = "KILL QUERY WHERE Settings['log_comment'] = {tag:String} ASYNC FORMAT Null";
const countTagged =
  "SELECT count() FROM system.processes WHERE Settings['log_comment'] = {tag:String} FORMAT TabSeparated";

const countWork = `SELECT Settings['log_comment'] AS tag, toString(sum(total_rows_approx)) AS rows,
  toString(sum(ProfileEvents['UserTimeMicroseconds'] + ProfileEvents['SystemTimeMicroseconds'])) AS micros,
  toString(sum(read_rows)) AS rows_read,
  arrayMap(thread -> toString(thread), groupUniqArrayArray(thread_ids)) AS threads
FROM system.processes WHERE has({tags:Array(String)}, tag) GROUP BY tag FORMAT JSONEachRow`;

/** The project in a statement's parameters; statements without one share an owner. */
function findOwner({ params }: ReadRequest): Owner {
  const project_id = params?.["project_id"];
  return typeof project_id === "number" ? project_id : "";
}

/** Whether these parameters are too long for a URL, where the client puts those of a command. */
export function isLong(params: Record<string, unknown>): boolean {
  const named = Object.entries(params).map(([name, value]): [string, string] => [name, paramText(value)]);
  return new URLSearchParams(named).toString().length > clickhouseLimits.clickhouseUrlCharsMax;
}

/**
 * Sends a statement that changes something, with parameters of any length. It is sent once, on a new connection, which
 * cannot have been closed while idle.
 */
export function openWriter(options: ReaderOptions): (statement: ReadRequest) => Promise<void> {
  return async (statement) => {
    const reply = await fetch(...fetchArguments(options, statement, { keepalive: false }));
    if (reply.status !== 200) throw options.failure(await reply.text());
    await reply.arrayBuffer();
  };
}

function fetchArguments(
  { origin, username, password, database }: ReaderOptions,
  reading: ReadRequest,
  more: BunFetchRequestInit = {},
): [url: string, request: BunFetchRequestInit] {
  const { search, body } = buildRequest(reading, database);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const request: BunFetchRequestInit = {
    method: "POST",
    body,
    headers: { authorization, "user-agent": "sluice" },
    signal: reading.abort,
    redirect: "manual",
    // Stores are never reached through the environment's HTTP proxy.
    proxy: false,
    // The runtime's own limit, five minutes without a byte, is less than a long statement takes.
    timeout: false,
    ...more,
  };
  return [`${origin}/?${search}`, request];
}

/**
 * Parses an answer in JSONEachRow, where each line is a row; long answers slice by slice.
 * @param parse makes rows of a JSON list of them. @param sliceBytes after so many a slice ends with the row.
 */
export async function readReplyRows<Row>(
  reply: Response,
  parse: (text: string) => Row[] = JSON.parse,
  sliceBytes: number = limits.replySliceBytes,
): Promise<Row[]> {
  const bytes = Buffer.from(await reply.arrayBuffer());
  const rows: Row[] = [];
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(0x0a, from + sliceBytes);
    const to = found < 0 ? bytes.length : found + 1;
    if (from > 0) await yieldToEventLoop();
    const lines = bytes.toString("utf8", from, to).trimEnd();
    const some = parse(`[${lines.replaceAll("\n", ",")}]`);
    if (to === bytes.length && from === 0) return some;
    for (const row of some) rows.push(row);
    from = to;
  }
  return rows;
}

/**
 * ClickHouse closes idle connections, perhaps while a request is on its way: a request that ended without an answer is
 * sent again, on a new connection.
 */
async function fetchAgain(url: string, request: BunFetchRequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (thrown) {
    if (toCode(thrown) !== "ECONNRESET" || request.signal?.aborted) throw thrown;
    return await fetch(url, { ...request, keepalive: false });
  }
}

function buildRequest({ text: whole, params: given = {}, settings }: ReadRequest, database: string) {
  const { text, params } = withShortParams(whole, given);
  const search = new URLSearchParams({ database });
  for (const [name, value] of Object.entries(settings)) search.append(name, String(value));
  const named = Object.entries(params).map(([name, value]) => [`param_${name}`, paramText(value)] as const);
  const inUrl = new URLSearchParams(search);
  for (const [name, value] of named) inUrl.append(name, value);
  const short = inUrl.toString();
  if (short.length <= clickhouseLimits.clickhouseUrlCharsMax) return { search: short, body: text };
  const body = new FormData();
  body.append("query", text);
  for (const [name, value] of named) body.append(name, value);
  return { search: search.toString(), body };
}

/** A parameter in the form of ClickHouse's URLs. */
function paramText(value: unknown): string {
  if (value === null) return "\\N";
  if (typeof value === "string") return escaped(value);
  if (typeof value === "boolean") return value ? "1" : "0";
  return memberText(value);
}

/** A parameter as it stands inside an array. */
function memberText(value: unknown): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return `'${escaped(value)}'`;
  if (Array.isArray(value)) return `[${value.map(memberText).join(",")}]`;
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  if (typeof value === "bigint" || (typeof value === "number" && Number.isFinite(value)))
    return String(value);
  throw new TypeError(`no parameter of a statement can be ${typeof value}`);
}

const escapes: Readonly<Record<string, string>> = {
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "'": "\\'",
  "\\": "\\\\",
};

function escaped(text: string): string {
  return text.replaceAll(/[\t\n\r'\\]/g, (name) => escapes[name] ?? name);
}
