// Bytes that arrive in chunks: small ones are copied together, all are joined slice by slice, and freed without waiting
// for garbage collection.

import { yieldToEventLoop } from "./clock.ts";
import { limits } from "./limits.ts";

/** Collects chunks and copies small ones together, since each object costs some hundred bytes. */
export class Chunks {
  size = 0;
  readonly #chunks: Uint8Array[] = [];
  #open: Uint8Array = nothing;
  #used = 0;

  add(chunk: Uint8Array): void {
    this.size += chunk.length;
    if (chunk.length >= limits.chunkBytesMin) {
      this.#end();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#used + chunk.length > this.#open.length) {
      this.#end();
      // A body of which little has arrived uses little memory: thousands may wait for the rest of theirs.
      const bytes = Math.max(openBytesMin, Math.min(limits.chunkBytesMin, this.size - chunk.length));
      this.#open = Buffer.allocUnsafeSlow(Math.max(bytes, chunk.length));
    }
    this.#open.set(chunk, this.#used);
    this.#used += chunk.length;
  }

  /** The first bytes, copied where they lie in several chunks. */
  firstBytes(bytesMax: number): Uint8Array {
    const open = this.#open.subarray(0, this.#used);
    const [first = open] = this.#chunks;
    if (first.length >= bytesMax || this.#chunks.length === 0) return first.subarray(0, bytesMax);
    return Buffer.concat([...this.#chunks, open], Math.min(bytesMax, this.size));
  }

  drain(): Uint8Array[] {
    this.#end();
    this.size = 0;
    return this.#chunks.splice(0);
  }

  #end(): void {
    if (this.#used > 0) this.#chunks.push(this.#open.subarray(0, this.#used));
    this.#open = nothing;
    this.#used = 0;
  }
}

const nothing = new Uint8Array(0);

/** The least memory that is allocated for short chunks, in bytes. */
const openBytesMin = 1024;

/** The chunks in one array, copied slice by slice; their memory is freed. */
export async function joined(chunks: readonly Uint8Array[]): Promise<Uint8Array> {
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const whole = Buffer.allocUnsafeSlow(bytesIn(chunks));
  await copyChunks(chunks, whole);
  return whole;
}

export function bytesIn(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}

/**
 * Copies the chunks into `out`, which is large enough, and yields to the event loop between slices. If there are
 * several chunks, each one is freed once it is copied.
 */
export async function copyChunks(chunks: readonly Uint8Array[], out: Uint8Array): Promise<void> {
  let [to, left] = [0, limits.copyBytesMax];
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += limits.copyBytesMax) {
      if (left <= 0) {
        await yieldToEventLoop();
        left = limits.copyBytesMax;
      }
      const part = chunk.subarray(at, at + limits.copyBytesMax);
      out.set(part, to);
      to += part.length;
      left -= part.length;
    }
    if (chunks.length > 1) free(chunk);
  }
}

/**
 * Frees the memory of bytes that are not read any more. A view of a larger buffer is not freed, unless `whole` declares
 * that the buffer belongs to it; nor are short ones, which may be in a pool.
 */
export function free({ buffer, byteLength }: ArrayBufferView, whole = false): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < limits.chunkBytesMin) return;
  if (whole || buffer.byteLength === byteLength) buffer.transfer(0);
}
