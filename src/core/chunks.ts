// Bytes that arrive in chunks: collected in pieces of a sensible size, joined slice by slice, and freed without waiting
// for garbage collection.

import { yieldToEventLoop } from "./clock.ts";
import { limits } from "./limits.ts";

/** Collects chunks and copies small ones together, since each object costs some hundred bytes. */
export class Chunks {
  size = 0;
  readonly #pieces: Uint8Array[] = [];
  #open: Uint8Array = nothing;
  #used = 0;

  add(chunk: Uint8Array): void {
    this.size += chunk.length;
    if (chunk.length >= limits.chunkBytesMin) {
      this.#end();
      this.#pieces.push(chunk);
      return;
    }
    if (this.#used + chunk.length > this.#open.length) {
      this.#end();
      // A body that has brought little takes little: thousands may wait for the rest of theirs.
      const bytes = Math.max(openBytesMin, Math.min(limits.chunkBytesMin, this.size - chunk.length));
      this.#open = Buffer.allocUnsafeSlow(Math.max(bytes, chunk.length));
    }
    this.#open.set(chunk, this.#used);
    this.#used += chunk.length;
  }

  /** The first bytes, copied where they lie in several pieces. */
  start(bytesMax: number): Uint8Array {
    const open = this.#open.subarray(0, this.#used);
    const [first = open] = this.#pieces;
    if (first.length >= bytesMax || this.#pieces.length === 0) return first.subarray(0, bytesMax);
    const all = [...this.#pieces, open];
    return Buffer.concat(all, Math.min(bytesMax, this.size));
  }

  /** Returns the pieces; the collection is empty afterwards. */
  drain(): Uint8Array[] {
    this.#end();
    this.size = 0;
    return this.#pieces.splice(0);
  }

  #end(): void {
    if (this.#used > 0) this.#pieces.push(this.#open.subarray(0, this.#used));
    this.#open = nothing;
    this.#used = 0;
  }
}

const nothing = new Uint8Array(0);

/** The first memory that is allocated for short chunks, in bytes. */
const openBytesMin = 1024;

/** The pieces in one array, copied slice by slice; their memory is freed. */
export async function joined(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const [only] = pieces;
  if (only && pieces.length === 1) return only;
  const whole = Buffer.allocUnsafeSlow(bytesIn(pieces));
  await copyPieces(pieces, whole);
  return whole;
}

export function bytesIn(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/**
 * Copies the pieces into `out`, which is large enough, and yields to the event loop between slices. If there are
 * several pieces, each one is freed once it is copied.
 */
export async function copyPieces(pieces: readonly Uint8Array[], out: Uint8Array): Promise<void> {
  let [place, left] = [0, limits.copyBytesMax];
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += limits.copyBytesMax) {
      if (left <= 0) {
        await yieldToEventLoop();
        left = limits.copyBytesMax;
      }
      const part = piece.subarray(at, at + limits.copyBytesMax);
      out.set(part, place);
      place += part.length;
      left -= part.length;
    }
    if (pieces.length > 1) free(piece);
  }
}

/**
 * Frees the memory of bytes that are not read any more. A view of a larger buffer is left alone unless `whole` says
 * that the buffer belongs to it; so are short ones, which may lie in a pool.
 */
export function free({ buffer, byteLength }: ArrayBufferView, whole = false): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < limits.chunkBytesMin) return;
  if (whole || buffer.byteLength === byteLength) buffer.transfer(0);
}
