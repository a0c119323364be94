// What is read of ClickHouse, asked over the runtime's own HTTP: the client's costs the event loop, which captures as
// well, six times as much for one row and nine times as much for a megabyte. Never asks for anything that changes
// something: it may be asked twice.

import { othersTurn } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { Places } from "../work/places.ts";

export interface ReaderOptions {
  /** `http(s)://host:port`. */
  origin: string;
  username: string;
  password: string;
  database: string;
  /** What an answer that is none says. */
  failure(text: string): Error;
}

export interface Reading {
  /** A statement that names its FORMAT. */
  text: string;
  /** Fill `{name:Type}`: texts, numbers, booleans, null, and arrays of these. */
  params?: Record<string, unknown>;
  settings: Record<string, string | number>;
  abort: AbortSignal;
}

/** Asks, and has the answer's body read by `take` while its place is held. */
export type Reader = <Taken>(reading: Reading, take: (reply: Response) => Promise<Taken>) => Promise<Taken>;

/** @throws what `failure` says, the signal's reason, or the error of a connection. */
export function openReader({ origin, username, password, database, failure }: ReaderOptions): Reader {
  const places = new Places(limits.clickhouseReadsMax, limits.clickhouseReadsWaitingMax);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return async (reading, take) => {
    const leave = await places.enter(reading.abort);
    if (!leave) throw new Error("too many statements wait for ClickHouse");
    try {
      const { search, body } = requestOf(reading, database);
      const reply = await sent(`${origin}/?${search}`, {
        method: "POST",
        body,
        headers: { authorization, "user-agent": "sluice" },
        signal: reading.abort,
        redirect: "manual",
        // A store is never asked through whatever proxy the environment names.
        proxy: false,
      });
      if (reply.status !== 200) throw failure(await reply.text());
      return await take(reply);
    } finally {
      leave();
    }
  };
}

/** An answer in JSONEachRow: a line is a row, and within one no line ends. Long ones are read a slice at a time. */
export async function rowsOf<Row>(reply: Response): Promise<Row[]> {
  const bytes = Buffer.from(await reply.arrayBuffer());
  const rows: Row[] = [];
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(0x0a, from + limits.replySliceBytes);
    const to = found < 0 ? bytes.length : found + 1;
    if (from > 0) await othersTurn();
    const lines = bytes.toString("utf8", from, to).trimEnd();
    const some = JSON.parse(`[${lines.replaceAll("\n", ",")}]`) as Row[];
    if (to === bytes.length && from === 0) return some;
    for (const row of some) rows.push(row);
    from = to;
  }
  return rows;
}

/**
 * ClickHouse closes connections that were idle for long, and may do so while a request is on its way: one that ended
 * without an answer is asked again, on a connection of its own.
 */
async function sent(url: string, request: BunFetchRequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (thrown) {
    const reset = thrown instanceof Error && "code" in thrown && thrown.code === "ECONNRESET";
    if (!reset || request.signal?.aborted) throw thrown;
    return await fetch(url, { ...request, keepalive: false });
  }
}

function requestOf({ text, params = {}, settings }: Reading, database: string) {
  const search = new URLSearchParams({ database });
  for (const [name, value] of Object.entries(settings)) search.append(name, String(value));
  const named = Object.entries(params).map(([name, value]) => [`param_${name}`, paramText(value)] as const);
  const inUrl = new URLSearchParams(search);
  for (const [name, value] of named) inUrl.append(name, value);
  const short = inUrl.toString();
  if (short.length <= limits.clickhouseUrlCharsMax) return { search: short, body: text };
  const body = new FormData();
  body.append("query", text);
  for (const [name, value] of named) body.append(name, value);
  return { search: search.toString(), body };
}

/** A parameter as ClickHouse reads it of a URL. */
function paramText(value: unknown): string {
  if (value === null) return "\\N";
  if (typeof value === "string") return escaped(value);
  if (typeof value === "boolean") return value ? "1" : "0";
  return memberText(value);
}

/** The same within an array. */
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
  return text.replaceAll(/[\t\n\r'\\]/g, (one) => escapes[one] ?? one);
}
