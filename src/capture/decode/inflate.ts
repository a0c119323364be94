// Inflates compressed bytes chunk by chunk, with limits on size, memory and ratio.

import type { Duplex } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from "node:zlib";
import { free } from "../../core/chunks.ts";
import { Fault } from "../../core/fault.ts";
import { toCode } from "../../core/log.ts";
import { exhausted, type MemoryLease } from "../../work/bodies/memory_budget.ts";
import { captureLimits } from "../limits.ts";
import { findGzipContent, isOnlyMember } from "./gzip_member.ts";

export type Method = "gzip" | "deflate" | "deflate-raw" | "br" | "zstd";

interface Inflating {
  /** Undefined for brotli, which first fills a window of up to 16 MB, for 20 ms. */
  now?: (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  /** A stream that inflates what is written to it, in a thread of its own, until its reader has ended. */
  later(options: { chunkSize: number }): Duplex & { bytesWritten: number };
}

/** HTTP's zstd has a window of up to 8 MiB (RFC 9659); a body of 15 bytes can declare 128 MiB. */
const zstdWindowBits = 23;
const zstdParams = { [constants.ZSTD_d_windowLogMax]: zstdWindowBits };

const methods: Record<Method, Inflating> = {
  gzip: { now: gunzipSync, later: createGunzip },
  deflate: { now: inflateSync, later: createInflate },
  "deflate-raw": { now: inflateRawSync, later: createInflateRaw },
  br: { later: createBrotliDecompress },
  zstd: {
    now: (bytes, options) => zstdDecompressSync(bytes, { ...options, params: zstdParams }),
    later: (options) => createZstdDecompress({ ...options, params: zstdParams }),
  },
};

/** A shorter body is inflated synchronously, in bytes: a round trip to a thread costs more. */
const inlineBytesMax = 32 * 1024;
/**
 * The most that is inflated synchronously, in bytes, less than 1 ms of work: ten kilobytes of zstd can hold a hundred
 * megabytes.
 */
const inlineInflatedBytesMax = 256 * 1024;

interface InflateBounds {
  /** The size limit of the result, in bytes. */
  bytesMax: number;
  /** The bytes on the wire, which limit the result through all layers; by default the compressed bytes. */
  wireBytes?: number;
  /** The lease for the result, whose memory stays acquired. */
  lease: MemoryLease;
  /** Called with the first of several chunks; what it throws ends the inflation. */
  admit?: ((chunk: Uint8Array) => Promise<void> | undefined) | undefined;
}

/**
 * Inflates the bytes; returns the chunks, so that joining them may be done slice by slice.
 * @throws Fault payload_too_large past `bytesMax` or the ratio (both counted while inflating), unavailable when there
 *   is no memory, invalid_payload for damaged bytes, or what `admit` throws. Then the result is freed and its memory
 *   released.
 */
export async function inflateBytes(
  method: Method,
  bytes: Uint8Array,
  bounds: InflateBounds,
): Promise<Uint8Array[]> {
  try {
    const small = bytes.length <= inlineBytesMax ? inflateSmall(method, bytes, bounds) : undefined;
    if (!small) return await inflateLarge(method, bytes, bounds);
    // Acquired afterwards, since its size was not known. Where the share of unknown owners is used up, the owner's may
    // have bytes left.
    if (!bounds.lease.tryAcquire(small.length)) {
      await bounds.admit?.(small);
      bounds.lease.acquire(small.length);
    }
    return [small];
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    const chunks = method === "gzip" ? await inflateFirst(bytes, bounds) : undefined;
    if (chunks) return chunks;
    throw new Fault(
      "invalid_payload",
      `Malformed request data: the body of ${bytes.length} bytes is no sound ${method}.`,
    );
  }
}

/**
 * The member of a body with something else behind it, such as the line break of an editor: zlib's readers stop there,
 * the runtime takes it for the next member. undefined where the body is damaged, or has a second member.
 */
async function inflateFirst(bytes: Uint8Array, bounds: InflateBounds): Promise<Uint8Array[] | undefined> {
  const start = findGzipContent(bytes);
  if (start === undefined) return undefined;
  const chunks = await inflateBytes("deflate-raw", bytes.subarray(start), bounds).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === "invalid_payload") return undefined;
    throw thrown;
  });
  if (!chunks || isOnlyMember(bytes, chunks)) return chunks;
  bounds.lease.release(chunks.reduce((sum, { length }) => sum + length, 0));
  for (const chunk of chunks) free(chunk);
  return undefined;
}

/** The whole result, or undefined when it is not small. */
function inflateSmall(
  method: Method,
  bytes: Uint8Array,
  { bytesMax }: InflateBounds,
): Uint8Array | undefined {
  const { now } = methods[method];
  if (!now) return undefined;
  const maxOutputLength = Math.min(inlineInflatedBytesMax, bytesMax);
  try {
    return now(bytes, { maxOutputLength });
  } catch (thrown) {
    if (toCode(thrown) === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw thrown;
  }
}

/** Inflates the first bytes of a gzip body; none when they are no such body, or far more than usual ones hold. */
export function gunzipStart(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.subarray(0, 0);
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: inlineInflatedBytesMax };
  try {
    return gunzipSync(bytes.subarray(0, captureLimits.gzipStartBytes), options);
  } catch {
    return bytes.subarray(0, 0);
  }
}

/** Waits for a thread for a body of this lease's owner; returns what releases it. */
async function enterThread({ owner, budget }: MemoryLease): Promise<() => void> {
  const releaseThread = await budget.inflaters.enter(owner);
  if (!releaseThread) throw exhausted();
  return releaseThread;
}

async function inflateLarge(
  method: Method,
  bytes: Uint8Array,
  { bytesMax, wireBytes = bytes.length, lease, admit }: InflateBounds,
): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let releaseThread = await enterThread(lease);
  const inflater = methods[method].later({ chunkSize: captureLimits.inflateChunkBytes });
  try {
    inflater.end(bytes);
    for await (const chunk of inflater as AsyncIterable<Uint8Array>) {
      // During this turn the chunk is in memory before it is acquired.
      if (!lease.tryAcquire(chunk.length)) {
        if (chunks.length === 0) await admit?.(chunk);
        lease.acquire(chunk.length);
      }
      chunks.push(chunk);
      size += chunk.length;
      if (size > bytesMax) throw tooLarge(bytes.length, bytesMax);
      // Counts the compressed bytes read so far: a bomb shows in its first megabyte.
      const read = Math.min(inflater.bytesWritten, wireBytes);
      if (size > inflatedBytesFor(read)) throw tooDense(read, size);
      const admitting = chunks.length === 1 ? admit?.(chunk) : undefined;
      if (!admitting) continue;
      // Others use the thread while the first chunk is checked.
      releaseThread();
      await admitting;
      releaseThread = await enterThread(lease);
    }
    return chunks;
  } catch (thrown) {
    lease.release(size);
    for (const chunk of chunks) free(chunk);
    throw thrown;
  } finally {
    releaseThread();
  }
}

/** The largest result of so many compressed bytes, in bytes. */
export function inflatedBytesFor(wireBytes: number): number {
  return captureLimits.inflateFreeBytes + wireBytes * captureLimits.inflateRatioMax;
}

export function tooLarge(bytes: number, bytesMax: number): Fault {
  return new Fault(
    "payload_too_large",
    `The inflated body may have up to ${bytesMax} bytes; ${bytes} compressed bytes make more.`,
  );
}

export function tooDense(wireBytes: number, bytes: number): Fault {
  const { inflateRatioMax, inflateFreeBytes } = captureLimits;
  return new Fault(
    "payload_too_large",
    `Beyond ${inflateFreeBytes} bytes the inflated body may have up to ${inflateRatioMax} times as many bytes as ` +
      `were sent; ${wireBytes} bytes make ${bytes} and more.`,
  );
}
