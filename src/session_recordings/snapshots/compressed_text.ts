// What posthog-js compressed: gzip's bytes, each written as one character of a JSON text. Inflated within a budget that
// gzip's own length is held against before anything is inflated, and only to that length.

import { isUtf8 } from "node:buffer";
import { gunzip } from "node:zlib";
import { hexValue } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { JsonCheck } from "../../core/json/json_check.ts";
import { snapshotLimits } from "./limits.ts";
import type { ByteRange } from "./member_walk.ts";

/** Bytes that the parts of one page may still become. */
export interface InflateBudget {
  left: number;
}

/**
 * The JSON text that the compressed text at `range` stands for; undefined when it is none, or past the budget. One that
 * does not become what it says uses up the budget: no recorder writes it, and others like it would cost as much.
 */
export async function inflateText(
  bytes: Uint8Array,
  { from, to }: ByteRange,
  budget: InflateBudget,
): Promise<Uint8Array | undefined> {
  const packed = await latin1Of(bytes, from + 1, to - 1);
  if (!packed || packed.length < gzipBytesMin || packed[0] !== 0x1f || packed[1] !== 0x8b) return undefined;
  const size = packed.readUInt32LE(packed.length - 4);
  const cost = Math.max(size, snapshotLimits.snapshotInflateCostMin);
  if (cost > budget.left) return undefined;
  budget.left -= cost;
  const inflated = packed.length <= shortBytesMax ? inflateShort(packed) : await inflateLong(packed, size);
  if (inflated?.length !== size) budget.left = 0;
  else if (isUtf8(inflated) && (await isJson(inflated))) return inflated;
  return undefined;
}

/** Head and trail of gzip, and the shortest content. */
const gzipBytesMin = 20;
/**
 * Bytes that are inflated on the spot, whatever they say they become: it is a thousand times as much at most. The
 * runtime's own way costs a tenth of zlib's here, and has no bound.
 */
const shortBytesMax = 512;

function inflateShort(packed: Buffer): Uint8Array | undefined {
  try {
    return Bun.gunzipSync(packed as Uint8Array<ArrayBuffer>);
  } catch {
    return undefined;
  }
}

/** In a thread of its own; `size`: what gzip says it becomes. */
async function inflateLong(packed: Buffer, size: number): Promise<Uint8Array | undefined> {
  const options = { maxOutputLength: Math.max(1, size), chunkSize: Math.max(64, size + 1) };
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      gunzip(packed, options, (error, result) => (error ? reject(error) : resolve(result)));
    });
  } catch {
    return undefined;
  }
}

async function isJson(bytes: Uint8Array): Promise<boolean> {
  const check = new JsonCheck(bytes, snapshotLimits.snapshotDepthMax);
  for (;;) {
    const known = check.advance(snapshotLimits.snapshotWalkBytesMax);
    if (known !== undefined) return known;
    await yieldToEventLoop();
  }
}

/** The characters of a JSON text, without its quotes, as bytes; undefined when one of them is no byte. */
async function latin1Of(bytes: Uint8Array, from: number, to: number): Promise<Buffer | undefined> {
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

/** The character that the escape at `at` stands for. */
function escaped(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1]!;
  if (letter !== 0x75) return simpleEscapes[letter] ?? letter;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit++) code = code * 16 + hexValue[bytes[digit]!]!;
  return code;
}
