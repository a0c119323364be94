// Texts that posthog-js compressed: gzip bytes, each written as one character of a JSON string. The length in gzip's
// trailer is acquired from a budget before inflating, and inflating stops at that length.

import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { gunzip, type ZlibOptions } from "node:zlib";
import { hexValue } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { JsonWalker } from "../../core/json/json_walker.ts";
import type { ValueOffsets } from "./event_offsets.ts";
import { snapshotLimits } from "./limits.ts";

/** Bytes that the compressed parts of one page may still inflate to. */
export interface InflateBudget {
  left: number;
}

/**
 * Inflates the JSON string at `range`. Resolves to its JSON text, or undefined when it is not gzip of JSON or exceeds
 * the budget. A text whose real length differs from the declared one empties the budget: no recorder writes such texts,
 * and each further one would cost as much.
 */
export async function inflateText(
  bytes: Uint8Array,
  { from, to }: ValueOffsets,
  budget: InflateBudget,
): Promise<Uint8Array | undefined> {
  const gzipped = await latin1Of(bytes, from + 1, to - 1);
  if (!gzipped || gzipped.length < gzipBytesMin || gzipped[0] !== 0x1f || gzipped[1] !== 0x8b)
    return undefined;
  const size = gzipped.readUInt32LE(gzipped.length - 4);
  const cost = Math.max(size, snapshotLimits.snapshotInflateCostMin);
  if (cost > budget.left) return undefined;
  budget.left -= cost;
  const inflated = await inflate(gzipped, size);
  if (inflated?.length !== size) budget.left = 0;
  else if (isUtf8(inflated) && (await isJson(inflated))) return inflated;
  return undefined;
}

/** Gzip's header and trailer, and the shortest content. */
const gzipBytesMin = 20;
/**
 * Compressed bytes up to which the text is inflated synchronously: it expands to at most a thousand times as much.
 * Bun.gunzipSync costs a tenth of zlib here, but has no output limit.
 */
const shortBytesMax = 512;

/**
 * Inflates, a long text in zlib's thread pool; undefined when it is not gzip or becomes longer than declared.
 * @param size the length that gzip declares.
 */
async function inflate(gzipped: Buffer<ArrayBuffer>, size: number): Promise<Uint8Array | undefined> {
  try {
    if (gzipped.length <= shortBytesMax) return Bun.gunzipSync(gzipped);
    return await gunzipped(gzipped, {
      maxOutputLength: Math.max(1, size),
      chunkSize: Math.max(64, size + 1),
    });
  } catch {
    return undefined;
  }
}

const gunzipped = promisify<Buffer, ZlibOptions, Buffer>(gunzip);

async function isJson(bytes: Uint8Array): Promise<boolean> {
  const walk = new JsonWalker(bytes, snapshotLimits.snapshotDepthMax);
  try {
    walk.goal = Math.min(bytes.length, snapshotLimits.snapshotWalkBytesMax);
    for (let isPast = walk.skip(0); !isPast; isPast = walk.resume()) {
      await yieldToEventLoop();
      walk.goal = Math.min(bytes.length, walk.at + snapshotLimits.snapshotWalkBytesMax);
    }
    walk.goal = bytes.length;
    return walk.peek() === -1;
  } catch (thrown) {
    if (thrown instanceof Fault) return false;
    throw thrown;
  }
}

/** The characters of a JSON string, without its quotes, as bytes; undefined when a character is above U+00FF. */
async function latin1Of(
  bytes: Uint8Array,
  from: number,
  to: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const out = Buffer.allocUnsafe(to - from);
  let length = 0;
  for (let at = from; at < to;) {
    const goal = Math.min(to, at + snapshotLimits.snapshotWalkBytesMax);
    while (at < goal) {
      const byte = bytes[at]!;
      if (byte < 0x80 && byte !== 0x5c) {
        out[length++] = byte;
        at++;
      } else if (byte === 0xc2 || byte === 0xc3) {
        out[length++] = ((byte & 0x03) << 6) | (bytes[at + 1]! & 0x3f);
        at += 2;
      } else if (byte === 0x5c) {
        const code = escaped(bytes, at);
        if (code > 0xff) return undefined;
        out[length++] = code;
        at += bytes[at + 1] === 0x75 ? 6 : 2;
      } else return undefined;
    }
    if (at < to) await yieldToEventLoop();
  }
  return out.subarray(0, length);
}

const simpleEscapes: Readonly<Record<number, number>> = { 0x62: 8, 0x66: 12, 0x6e: 10, 0x72: 13, 0x74: 9 };

/** The code of the character of the escape at `at`. */
function escaped(bytes: Uint8Array, at: number): number {
  const escape = bytes[at + 1]!;
  if (escape !== 0x75) return simpleEscapes[escape] ?? escape;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit++) code = code * 16 + hexValue[bytes[digit]!]!;
  return code;
}
