// Compressed bytes, inflated within a bound, piece by piece. Decides nothing about which method it is.

import {
  brotliDecompressSync,
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
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";

export type Method = "gzip" | "deflate" | "deflate-raw" | "br" | "zstd";

/** Inflates what is written to it, in a thread of its own. */
interface Inflater {
  on(event: "data", listener: (piece: Uint8Array) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
}

interface Inflating {
  now(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
  later(options: { chunkSize: number }): Inflater;
}

const methods: Record<Method, Inflating> = {
  gzip: { now: gunzipSync, later: createGunzip },
  deflate: { now: inflateSync, later: createInflate },
  "deflate-raw": { now: inflateRawSync, later: createInflateRaw },
  br: { now: brotliDecompressSync, later: createBrotliDecompress },
  zstd: { now: zstdDecompressSync, later: createZstdDecompress },
};

/** Below this a body is inflated on the spot: a thread's round trip costs more. */
const inlineBytesMax = 32 * 1024;
/** And only up to this much of it, about 1 ms of work: ten kilobytes of zstd can hold a hundred megabytes. */
const inlineInflatedBytesMax = 1024 * 1024;

/**
 * The pieces of what was compressed, one after the other: joining them is left to those who can take their time.
 * @throws Fault payload_too_large past limits.inflatedBytesMax (counted while inflating), invalid_payload
 *   when the bytes are damaged.
 */
export async function inflateBytes(method: Method, bytes: Uint8Array): Promise<Uint8Array[]> {
  try {
    const small = bytes.length <= inlineBytesMax ? inflateSmall(method, bytes) : undefined;
    return small ? [small] : await inflateLarge(method, bytes);
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    throw new Fault(
      "invalid_payload",
      `Malformed request data: the body of ${bytes.length} bytes is no sound ${method}.`,
    );
  }
}

/** The whole of it, or undefined when it is not small after all. */
function inflateSmall(method: Method, bytes: Uint8Array): Uint8Array | undefined {
  try {
    return methods[method].now(bytes, { maxOutputLength: inlineInflatedBytesMax });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw thrown;
  }
}

function inflateLarge(method: Method, bytes: Uint8Array): Promise<Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    const inflater = methods[method].later({ chunkSize: limits.inflatePieceBytes });
    inflater.on("data", (piece) => {
      pieces.push(piece);
      size += piece.length;
      if (size <= limits.inflatedBytesMax) return;
      pieces.length = 0;
      inflater.destroy();
      reject(tooLarge(bytes.length));
    });
    inflater.on("error", reject);
    inflater.on("end", () => resolve(pieces));
    inflater.end(bytes);
  });
}

export function tooLarge(bytes: number): Fault {
  return new Fault(
    "payload_too_large",
    `The inflated body may have up to ${limits.inflatedBytesMax} bytes; ${bytes} compressed bytes make more.`,
  );
}
