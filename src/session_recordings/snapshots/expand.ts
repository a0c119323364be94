// Inflates events that posthog-js compressed. An event that cannot be inflated, or exceeds the page's budget, is passed
// on unchanged: PostHog's player inflates it itself.

import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { gunzip, type ZlibOptions } from "node:zlib";
import { hexValue, isTextAt, toBytes } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { JsonWalker } from "../../core/json/json_walker.ts";
import type { EventOffsets, ValueOffsets } from "./event_offsets.ts";
import { snapshotLimits } from "./limits.ts";

/** Bytes that the compressed parts of one page may still inflate to. */
type InflateBudget = { left: number };

interface Splice extends ValueOffsets {
  /** Replaces the bytes [from, to); empty to remove a member. */
  by: Uint8Array;
}

const nothing = new Uint8Array(0);
/** Members of incremental events that posthog-js compresses separately. */
const compressedMembers = ["texts", "attributes", "removes", "adds"].map(toBytes);

/** The event's JSON text in parts, to be joined. `bytes` is the piece that holds it. */
export async function expandEvent(
  bytes: Uint8Array,
  event: EventOffsets,
  budget: InflateBudget,
): Promise<Uint8Array[]> {
  const asItCame = [bytes.subarray(event.from, event.to)];
  if (!event.compressed) return asItCame;
  const { cv, data } = event.compressed;
  const inflated = await inflateData(bytes, data, budget);
  if (!inflated) return asItCame;
  const parts: Uint8Array[] = [];
  let bytesJoined = 0;
  let at = event.from;
  for (const { from, to, by } of [...inflated, { ...cv, by: nothing }].sort((a, b) => a.from - b.from)) {
    parts.push(bytes.subarray(at, from), by);
    bytesJoined += from - at + by.length;
    at = to;
  }
  parts.push(bytes.subarray(at, event.to));
  bytesJoined += event.to - at;
  // Short events are joined: the objects of thousands of parts would take more memory than their bytes.
  return bytesJoined <= joinedBytesMax ? [Buffer.concat(parts, bytesJoined)] : parts;
}

const joinedBytesMax = 16 * 1024;

/** posthog-js compresses `data` of full snapshots whole, and the long members of incremental ones separately. */
async function inflateData(
  bytes: Uint8Array,
  data: ValueOffsets,
  budget: InflateBudget,
): Promise<Splice[] | undefined> {
  const first = bytes[data.from];
  if (first === 0x22) {
    const by = await inflateText(bytes, data, budget);
    return by && [{ ...data, by }];
  }
  if (first !== 0x7b) return undefined;
  const texts = await compressedTexts(bytes, data);
  if (!texts) return undefined;
  const splices: Splice[] = [];
  for (const range of texts) {
    const by = await inflateText(bytes, range, budget);
    if (!by) return undefined;
    splices.push({ ...range, by });
  }
  return splices;
}

/** Ranges of the compressed members of `data`; undefined when there are more than any recorder writes. */
async function compressedTexts(bytes: Uint8Array, data: ValueOffsets): Promise<ValueOffsets[] | undefined> {
  const ranges: ValueOffsets[] = [];
  const members = new JsonCursor(bytes, data.from);
  for (;;) {
    const goal = members.at + snapshotLimits.snapshotWalkBytesMax;
    while (members.next(goal)) {
      const { key, keyEnd, value: from, end: to } = members;
      const isCompressed =
        bytes[from] === 0x22 && compressedMembers.some((name) => isTextAt(bytes, key, keyEnd, name));
      if (isCompressed && ranges.push({ from, to }) > compressedMembers.length) return undefined;
    }
    if (members.ended || members.at >= data.to) return ranges;
    await yieldToEventLoop();
  }
}

/**
 * Inflates the JSON string at `range`. Resolves to its JSON text, or undefined when it is not gzip of JSON or exceeds
 * the budget. A text whose real length differs from the declared one empties the budget: no recorder writes such texts,
 * and each further one would cost as much.
 */
async function inflateText(
  bytes: Uint8Array,
  { from, to }: ValueOffsets,
  budget: InflateBudget,
): Promise<Uint8Array | undefined> {
  const gzipped = await readLatin1(bytes, from + 1, to - 1);
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
async function readLatin1(
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
