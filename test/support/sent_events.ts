// What an SDK sent, read from its recorded requests by rules of its own: nothing here is the server's code.

import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import type { Recorded } from "./recording_proxy.ts";

/** An event as it was sent, with all that its request says of it. */
export interface SentEvent {
  /** Undefined where the SDK leaves it to the server. */
  uuid: string | undefined;
  event: string;
  distinct_id: string;
  properties: Record<string, unknown>;
  /** Each from and to which the stored time may be, in milliseconds since 1970. */
  times: readonly [from: number, to: number][];
}

interface RawEvent {
  uuid?: string;
  /** An event that identifies a person (/engage) has no name, and nothing but `$set` or the like. */
  event?: string;
  distinct_id?: string;
  $distinct_id?: string;
  timestamp?: string;
  /** How many milliseconds ago. */
  offset?: number;
  properties?: Record<string, unknown>;
  /** Stored among the properties. */
  $set?: object;
  $set_once?: object;
  session_id?: string;
  window_id?: string;
  options?: { process_person_profile?: boolean };
}

interface RawBatch {
  batch: RawEvent[];
  sent_at?: string;
}

export const v1Path = "/i/v1/analytics/events";
const capturePaths = ["/batch", "/capture", "/e", "/i/v0/e", "/track", "/engage", v1Path];

export function isCapture({ method, url }: Recorded): boolean {
  return method === "POST" && capturePaths.includes(url.pathname.replace(/\/$/, ""));
}

/** The events of one capture request, in their order. */
export function sentEvents(request: Recorded): SentEvent[] {
  const isV1 = request.url.pathname === v1Path;
  const body = JSON.parse(textOf(request)) as RawBatch | RawEvent[] | RawEvent;
  const raw = Array.isArray(body) ? body : "batch" in body ? body.batch : [body];
  const sentAt = isV1
    ? request.headers.get("posthog-request-timestamp")
    : "batch" in body
      ? body.sent_at
      : request.url.searchParams.get("_");
  return raw.map((event) => {
    const { $set, $set_once } = event;
    const properties = { ...event.properties, ...($set && { $set }), ...($set_once && { $set_once }) };
    const id = event.distinct_id ?? event.$distinct_id ?? event.properties?.["distinct_id"];
    return {
      uuid: event.uuid?.toLowerCase(),
      event: event.event ?? "$identify",
      distinct_id: String(id),
      properties: isV1 ? { ...properties, ...v1Properties(event, request.headers) } : properties,
      times: timesOf(event, request, millisOf(sentAt)),
    };
  });
}

/** In v1 mode SDKs take some properties out, and say them beside the event or once a request. */
function v1Properties(event: RawEvent, headers: Headers): Record<string, unknown> {
  const [name, version] = headers.get("posthog-sdk-info")!.split("/");
  const person = event.options?.process_person_profile;
  return {
    ...event.properties,
    $lib: name,
    $lib_version: version,
    ...(event.session_id === undefined ? {} : { $session_id: event.session_id }),
    ...(event.window_id === undefined ? {} : { $window_id: event.window_id }),
    ...(person === undefined ? {} : { $process_person_profile: person }),
  };
}

/**
 * The time an event names is kept, or corrected by how far the clocks are apart: here there is one clock, so that this
 * is how long the request was under way. One without a time is of now.
 */
function timesOf(event: RawEvent, { from, to }: Recorded, sentAt: number): [number, number][] {
  const { timestamp, offset } = event;
  if (offset !== undefined) return [[from - offset, to - offset]];
  if (timestamp === undefined) return [[from, to]];
  // Without a zone it is UTC.
  const named = millisOf(/(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp) ? timestamp : `${timestamp}Z`);
  const kept: [number, number] = [named, named];
  return Number.isNaN(sentAt) ? [kept] : [kept, [named + from - sentAt, named + to - sentAt]];
}

function millisOf(time: string | null | undefined): number {
  if (time === null || time === undefined) return Number.NaN;
  return Math.floor(/^\d+$/.test(time) ? Number(time) : Date.parse(time));
}

/** A request's JSON, whatever it is wrapped in. */
function textOf({ headers, url, body }: Recorded): string {
  const encoding = headers.get("content-encoding");
  if (encoding === "deflate") return inflateSync(body).toString();
  if (encoding === "br") return brotliDecompressSync(body).toString();
  if (encoding === "zstd") return zstdDecompressSync(body).toString();
  // Old versions of posthog-js name it in the query only.
  if (body[0] === 0x1f && body[1] === 0x8b) return gunzipSync(body).toString();
  const text = body.toString();
  if (!text.startsWith("data=")) return text;
  if (url.searchParams.get("compression") === "lz64") throw new Error("nobody here sends lz64");
  return fromOldUtf8(Buffer.from(new URLSearchParams(text).get("data")!, "base64"));
}

/** Old versions of posthog-js write each half of a surrogate pair as a character of its own. */
function fromOldUtf8(bytes: Buffer): string {
  const halves: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const [first, second = 0, third = 0] = bytes.subarray(at, at + 3);
    if (first! < 0x80) halves.push(first!);
    else if (first! < 0xe0) halves.push(((first! & 0x1f) << 6) | (second & 0x3f));
    else halves.push(((first! & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f));
    at += first! < 0x80 ? 1 : first! < 0xe0 ? 2 : 3;
  }
  return halves.map((half) => String.fromCharCode(half)).join("");
}
