// Reads a request to the embedded ClickHouse as ClickHouse's HTTP interface does.

import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { wordsIn } from "../../core/words.ts";
import type { EngineStatement } from "./chdb.ts";
import { chdbServerLimits } from "./limits.ts";

/** A request that is refused before it reaches the engine, in ClickHouse's form. */
export class ServerError extends Error {
  readonly code: number;

  constructor(code: number, type: string, reason: string) {
    super(`Code: ${code}. DB::Exception: ${reason} (${type})`);
    this.name = "ServerError";
    this.code = code;
  }
}

/** A statement; in an INSERT, data may follow its FORMAT. */
export interface EngineRequest extends Omit<EngineStatement, "abort"> {
  queryId: string;
  /** The rest of the data; undefined when the body was the statement. */
  body: Readable | undefined;
  /** Whether the status waits for the end of the answer. */
  whole: boolean;
  gzip: boolean;
}

/** URL parameters that are not settings, or that have no effect here. */
const ignored: ReadonlySet<string> = new Set(
  wordsIn(`
    query query_id database default_format wait_end_of_query user password quota_key role session_id session_timeout
    session_check close_session buffer_size stacktrace client_protocol_version log_comment
  `),
);

/** Reads everything but the data. */
export async function readRequest(request: IncomingMessage, url: URL): Promise<EngineRequest> {
  const search = url.searchParams;
  if (search.get("compress") === "1" || search.get("decompress") === "1")
    throw new ServerError(48, "NOT_IMPLEMENTED", "ClickHouse's own block compression is not spoken here.");
  const statement: EngineRequest = {
    queryId: search.get("query_id") ?? crypto.randomUUID(),
    tag: search.get("log_comment") ?? crypto.randomUUID(),
    text: search.get("query") ?? "",
    body: undefined,
    database: search.get("database") ?? header(request, "x-clickhouse-database") ?? "default",
    format: search.get("default_format") ?? header(request, "x-clickhouse-format") ?? "TabSeparated",
    settings: new Map(),
    params: new Map(),
    whole: search.get("wait_end_of_query") === "1",
    gzip:
      search.get("enable_http_compression") === "1" &&
      /\bgzip\b/.test(header(request, "accept-encoding") ?? ""),
  };
  readParameters(statement, search);
  const body = inflated(request);
  if (header(request, "content-type")?.startsWith("multipart/form-data"))
    await readForm(statement, request, body);
  else if (statement.text) statement.body = body;
  else statement.text = (await readBounded(body)).toString();
  return statement;
}

export function knows(request: IncomingMessage, url: URL, password: string): boolean {
  const basic = /^Basic (.+)$/.exec(header(request, "authorization") ?? "")?.[1];
  const [name, key] = basic
    ? splitOnce(Buffer.from(basic, "base64").toString(), ":")
    : [
        header(request, "x-clickhouse-user") ?? url.searchParams.get("user") ?? "default",
        header(request, "x-clickhouse-key") ?? url.searchParams.get("password") ?? "",
      ];
  return name === "default" && timingSafeEqual(digest(key), digest(password));
}

/** Reads a body that is a statement or its parameters and has to fit in memory. */
export async function readBounded(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > chdbServerLimits.statementBytesMax) {
      const reason = `A statement may have ${chdbServerLimits.statementBytesMax} bytes.`;
      throw new ServerError(308, "QUERY_IS_TOO_LARGE", reason);
    }
  }
  return Buffer.concat(chunks);
}

function readParameters(statement: EngineRequest, entries: Iterable<[string, string]>): void {
  for (const [name, value] of entries) {
    if (name.startsWith("param_")) statement.params.set(name.slice("param_".length), value);
    else if (!ignored.has(name)) statement.settings.set(name, value);
  }
}

/** The multipart form in which clients send parameters that are too long for a URL. */
async function readForm(statement: EngineRequest, request: IncomingMessage, body: Readable): Promise<void> {
  const headers = { "content-type": header(request, "content-type") ?? "" };
  const form = await new Response(await readBounded(body), { headers }).formData();
  for (const [name, value] of form) {
    const text = typeof value === "string" ? value : await value.text();
    if (name === "query") statement.text += text;
    else if (Buffer.byteLength(text) > chdbServerLimits.paramBytesMax) {
      throw new ServerError(1000, "POCO_EXCEPTION", "HTML Form Exception: Field value too long");
    } else readParameters(statement, [[name, text]]);
  }
}

function inflated(request: IncomingMessage): Readable {
  const encoding = header(request, "content-encoding") ?? "identity";
  if (encoding === "identity") return request;
  if (encoding !== "gzip" && encoding !== "zstd")
    throw new ServerError(48, "NOT_IMPLEMENTED", "This content-encoding is not spoken here.");
  const inflate = encoding === "gzip" ? createGunzip() : createZstdDecompress();
  // Errors reach the reader. A statement may end before there is one: without a listener the process would end.
  inflate.on("error", () => {});
  // An error of the upload is passed on to the reader of the inflated stream.
  request.on("error", (error) => inflate.destroy(error));
  return request.pipe(inflate);
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value || undefined;
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

function digest(text: string): Buffer {
  return new Bun.CryptoHasher("sha256").update(text).digest();
}
