// A recorded piece as the rrweb events a player takes: what the recorder compressed is inflated. Never fails over one
// that cannot be: it is handed on as it is.

import { gunzip, gunzipSync } from "node:zlib";
import { limits } from "../../core/limits.ts";

export type RrwebEvent = Record<string, unknown>;

/** JSON text of an event or an array of them; items that are no objects are left out. */
export async function expandChunk(data: string): Promise<RrwebEvent[]> {
  const read: unknown = JSON.parse(data);
  const events = (Array.isArray(read) ? read : [read]).filter(isObject);
  const expanded: RrwebEvent[] = [];
  for (const event of events) expanded.push(await expandEvent(event));
  return expanded;
}

/** posthog-js compresses full snapshots whole, and the long members of incremental ones each by itself. */
async function expandEvent(event: RrwebEvent): Promise<RrwebEvent> {
  const { cv, data, ...rest } = event;
  if (cv !== "2024-10") return event;
  try {
    if (typeof data === "string") return { ...rest, data: await inflate(data) };
    if (!isObject(data)) return event;
    const whole: RrwebEvent = { ...data };
    for (const name of ["texts", "attributes", "removes", "adds"]) {
      const part = data[name];
      if (typeof part === "string") whole[name] = await inflate(part);
    }
    return { ...rest, data: whole };
  } catch {
    return event;
  }
}

/** gzip's bytes, each written as one character. */
async function inflate(text: string): Promise<unknown> {
  const bytes = Buffer.from(text, "latin1");
  const options = { maxOutputLength: limits.snapshotInflatedBytesMax };
  if (bytes.length <= inlineBytesMax) return JSON.parse(gunzipSync(bytes, options).toString());
  const inflated = await new Promise<Buffer>((resolve, reject) => {
    gunzip(bytes, options, (error, result) => (error ? reject(error) : resolve(result)));
  });
  return JSON.parse(inflated.toString());
}

/** Below this a thread's round trip costs more than inflating. */
const inlineBytesMax = 4096;

function isObject(value: unknown): value is RrwebEvent {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
