// Answers of the embedded ClickHouse over HTTP: headers, statuses, compression.

import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import { EngineError } from "./chdb.ts";
import { type EngineRequest, ServerError } from "./request.ts";
import type { EngineAnswer } from "./run.ts";

const level = constants.Z_BEST_SPEED;
const gzipWhole = promisify<Uint8Array, { level: number }, Buffer>(gzip);

/** ClickHouse's error numbers by their HTTP status; that of all others is 500. */
const statuses: Readonly<Record<number, readonly number[]>> = {
  400: [6, 26, 27, 36, 38, 41, 43, 53, 62, 72, 376, 456, 457],
  401: [194],
  403: [291, 497, 516],
  404: [46, 47, 50, 60, 73, 81, 115],
  408: [159],
  413: [308],
  501: [48],
  503: [202],
};

export async function sendAnswer(
  response: ServerResponse,
  request: EngineRequest,
  { format, body }: EngineAnswer,
): Promise<void> {
  response.setHeader("x-clickhouse-query-id", request.queryId);
  response.setHeader("x-clickhouse-format", format);
  response.setHeader("x-clickhouse-timezone", "UTC");
  response.setHeader(
    "content-type",
    format.startsWith("JSON") ? "application/json" : "application/octet-stream",
  );
  if (request.gzip) response.setHeader("content-encoding", "gzip");
  if (body instanceof Uint8Array) {
    const bytes = request.gzip ? await gzipWhole(body, { level }) : body;
    response.setHeader("content-length", bytes.length);
    response.end(bytes);
    return;
  }
  // Once the headers are sent, an error can only cut the answer short, which clients notice.
  response.flushHeaders();
  const chunks = Readable.from(body, { objectMode: false });
  if (request.gzip) await pipeline(chunks, createGzip({ level }), response);
  else await pipeline(chunks, response);
}

/** Destroys the socket: a response that is destroyed before its headers were sent answers 200 first. */
export function cutOff(response: ServerResponse): void {
  response.socket?.destroy();
}

/** Sends an error in ClickHouse's form, or cuts the connection when the answer has begun. */
export function sendError(response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) {
    cutOff(response);
    return;
  }
  const coded = thrown instanceof EngineError || thrown instanceof ServerError;
  const code = coded ? thrown.code : 1002;
  const text = coded ? thrown.message : `Code: ${code}. DB::Exception: ${String(thrown)} (UNKNOWN_EXCEPTION)`;
  const status = Object.keys(statuses).find((name) => statuses[Number(name)]?.includes(code));
  response.statusCode = Number(status ?? 500);
  response.removeHeader("content-encoding");
  response.setHeader("x-clickhouse-exception-code", code);
  response.setHeader("content-type", "text/plain; charset=UTF-8");
  response.end(`${text}\n`);
}
