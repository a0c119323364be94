// Compressed bytes, inflated within a bound of bytes, of memory and of what so few may become, piece by piece. Decides
// nothing about which method it is.

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
import { bytesIn, free } from "../../core/chunks.ts";
import { Fault } from "../../core/fault.ts";
import { decodeLimits } from "./limits.ts";
import { type MemoryLease, exhausted } from "../../work/memory_budget.ts";
import { Semaphore } from "../../work/semaphore.ts";

export type Method = "gzip" | "deflate" | "deflate-raw" | "br" | "zstd";

/** Inflates what is written to it, in a thread of its own. */
interface Inflater {
  on(event: "data", listener: (piece: Uint8Array) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  end(bytes: Uint8Array): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
  /** Compressed bytes that were read. */
  readonly bytesWritten: number;
}

interface Inflating {
  /** Undefined for brotli: it fills a window of up to 16 MB, in 20 ms, before it hands anything out. */
  now?: (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  later(options: { chunkSize: number }): Inflater;
}

const methods: Record<Method, Inflating> = {
  gzip: { now: gunzipSync, later: createGunzip },
  deflate: { now: inflateSync, later: createInflate },
  "deflate-raw": { now: inflateRawSync, later: createInflateRaw },
  br: { later: createBrotliDecompress },
  zstd: {
    now: zstdDecompressSync,
    later: (options) => createZstdDecompress({ ...options, params: zstdParams }),
  },
};

/** Of HTTP's zstd, a window has up to 8 MiB (RFC 9659): others would take 128 MiB beside the body. */
const zstdWindowBits = 23;
const zstdParams = { [constants.ZSTD_d_windowLogMax]: zstdWindowBits };

/** Below this a body is inflated on the spot: a thread's round trip costs more. */
const inlineBytesMax = 32 * 1024;
/** And only up to this much of it, less than 1 ms of work: ten kilobytes of zstd can hold a hundred megabytes. */
const inlineInflatedBytesMax = 256 * 1024;

export interface InflateBounds {
  /** What it may become, in bytes. */
  bytesMax: number;
  /**
   * The bytes that came over the wire: what these may become has a bound as well, however many layers they are
   * wrapped in. The compressed bytes themselves unless told.
   */
  wireBytes?: number;
  /** What is inflated is acquired from it, and stays so. */
  lease: MemoryLease;
  /** Looks at the first piece, if there are several; what it throws ends the inflating. */
  first?: ((piece: Uint8Array) => Promise<void> | undefined) | undefined;
}

/**
 * The pieces of what was compressed, one after the other: joining them is left to those who can take their time.
 * @throws Fault payload_too_large past `bytesMax` or what so few bytes may become (both counted while inflating),
 *   unavailable when there is no memory, invalid_payload when the bytes are damaged, or what `first` throws. Then what
 *   was inflated is freed and given back.
 */
export async function inflateBytes(
  method: Method,
  bytes: Uint8Array,
  bounds: InflateBounds,
): Promise<Uint8Array[]> {
  try {
    const small = bytes.length <= inlineBytesMax ? inflateSmall(method, bytes, bounds) : undefined;
    return small ? [small] : await inflateLarge(method, bytes, bounds);
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    throw new Fault(
      "invalid_payload",
      `Malformed request data: the body of ${bytes.length} bytes is no sound ${method}.`,
    );
  }
}

/** The whole of it, or undefined when it is not small after all. */
function inflateSmall(
  method: Method,
  bytes: Uint8Array,
  { bytesMax, lease }: InflateBounds,
): Uint8Array | undefined {
  const { now } = methods[method];
  if (!now) return undefined;
  const maxOutputLength = Math.min(inlineInflatedBytesMax, bytesMax);
  let small: Uint8Array;
  try {
    small = now(bytes, { maxOutputLength });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw thrown;
  }
  // Its size is not known before; it is no more than the bound above, in one turn.
  lease.acquire(small.length);
  return small;
}

/** Threads that inflate: more at once would only wait for cores that the event loop needs too. */
const threads = new Semaphore(decodeLimits.inflatesAtOnceMax, decodeLimits.inflatesWaitingMax);
const noAbort = new AbortController().signal;

async function inflateLarge(method: Method, bytes: Uint8Array, bounds: InflateBounds): Promise<Uint8Array[]> {
  const inflation = new Inflation(method, bytes, bounds);
  try {
    return await inflation.run();
  } finally {
    inflation.leave();
  }
}

/** One body on its way through an inflater. */
class Inflation {
  readonly #bytes: Uint8Array;
  readonly #bounds: InflateBounds;
  readonly #inflater: Inflater;
  readonly #done = Promise.withResolvers<Uint8Array[]>();
  readonly #pieces: Uint8Array[] = [];
  #size = 0;
  #over = false;
  /** Gives the thread's place back. */
  #leave: () => void = () => {};

  constructor(method: Method, bytes: Uint8Array, bounds: InflateBounds) {
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#inflater = methods[method].later({ chunkSize: decodeLimits.inflatePieceBytes });
  }

  async run(): Promise<Uint8Array[]> {
    await this.#enter();
    const inflater = this.#inflater;
    inflater.on("data", (piece) => this.#take(piece));
    inflater.on("error", (error) => this.#fail(error));
    inflater.on("end", () => {
      this.#over = true;
      this.#done.resolve(this.#pieces);
    });
    inflater.end(this.#bytes);
    return await this.#done.promise;
  }

  /** Lets others have the thread. */
  leave(): void {
    this.#leave();
  }

  async #enter(): Promise<void> {
    const leave = await threads.enter(noAbort);
    if (!leave) throw exhausted();
    this.#leave = leave;
  }

  #take(piece: Uint8Array): void {
    if (this.#over) return;
    const { lease, first } = this.#bounds;
    try {
      // A piece more than was acquired is in memory for as long as this takes.
      lease.acquire(piece.length);
      this.#pieces.push(piece);
      this.#size += piece.length;
      this.#check();
      const looking = this.#pieces.length === 1 ? first?.(piece) : undefined;
      if (looking) void this.#pause(looking);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #check(): void {
    const { bytesMax, wireBytes = this.#bytes.length } = this.#bounds;
    if (this.#size > bytesMax) throw tooLarge(this.#bytes.length, bytesMax);
    // What was read so far: a bomb shows itself in its first megabyte.
    const read = Math.min(this.#inflater.bytesWritten, wireBytes);
    if (this.#size > inflatedBytesFor(read)) throw tooDense(read, this.#size);
  }

  /** Goes on when the first piece was looked at; others have the thread meanwhile. */
  async #pause(looking: Promise<void>): Promise<void> {
    this.#inflater.pause();
    this.#leave();
    try {
      await looking;
      await this.#enter();
      this.#inflater.resume();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#inflater.destroy();
    this.#bounds.lease.release(bytesIn(this.#pieces));
    for (const piece of this.#pieces.splice(0)) free(piece);
    this.#done.reject(thrown);
  }
}

/** What so many compressed bytes may become, in bytes. */
export function inflatedBytesFor(wireBytes: number): number {
  return decodeLimits.inflateFreeBytes + wireBytes * decodeLimits.inflateRatioMax;
}

export function tooLarge(bytes: number, bytesMax: number): Fault {
  return new Fault(
    "payload_too_large",
    `The inflated body may have up to ${bytesMax} bytes; ${bytes} compressed bytes make more.`,
  );
}

export function tooDense(wireBytes: number, bytes: number): Fault {
  const { inflateRatioMax, inflateFreeBytes } = decodeLimits;
  return new Fault(
    "payload_too_large",
    `Beyond ${inflateFreeBytes} bytes the inflated body may have up to ${inflateRatioMax} times as many bytes as ` +
      `were sent; ${wireBytes} bytes make ${bytes} and more.`,
  );
}
