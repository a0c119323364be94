// Compressed bytes, inflated within a bound. Decides nothing about which method it is.

import {
  brotliDecompress,
  brotliDecompressSync,
  gunzip,
  gunzipSync,
  inflate,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";

export type Method = "gzip" | "deflate" | "deflate-raw" | "br" | "zstd";

type Options = { maxOutputLength: number };
type Later = (
  bytes: Uint8Array,
  options: Options,
  done: (error: Error | null, result: Buffer) => void,
) => void;

const inflaters: Record<Method, { now: (bytes: Uint8Array, options: Options) => Buffer; later: Later }> = {
  gzip: { now: gunzipSync, later: gunzip },
  deflate: { now: inflateSync, later: inflate },
  "deflate-raw": { now: inflateRawSync, later: inflateRaw },
  br: { now: brotliDecompressSync, later: brotliDecompress },
  zstd: { now: zstdDecompressSync, later: zstdDecompress },
};

/** Below this a body is inflated on the spot: a thread's round trip costs more. */
const inlineBytesMax = 32 * 1024;
/** And only up to this much of it, about 1 ms of work: ten kilobytes of zstd can hold a hundred megabytes. */
const inlineInflatedBytesMax = 1024 * 1024;

/**
 * @throws Fault payload_too_large past limits.inflatedBytesMax (counted while inflating), invalid_payload
 *   when the bytes are damaged.
 */
export async function inflateBytes(method: Method, bytes: Uint8Array): Promise<Uint8Array> {
  const options = { maxOutputLength: limits.inflatedBytesMax };
  const { later } = inflaters[method];
  try {
    const small = bytes.length <= inlineBytesMax ? inflateSmall(method, bytes) : undefined;
    if (small) return small;
    return await new Promise<Buffer>((resolve, reject) => {
      later(bytes, options, (error, result) => (error ? reject(error) : resolve(result)));
    });
  } catch (thrown) {
    if (isTooLarge(thrown)) throw tooLarge(bytes.length);
    throw new Fault(
      "invalid_payload",
      `Malformed request data: the body of ${bytes.length} bytes is no sound ${method}.`,
    );
  }
}

/** The whole of it, or undefined when it is not small after all. */
function inflateSmall(method: Method, bytes: Uint8Array): Buffer | undefined {
  try {
    return inflaters[method].now(bytes, { maxOutputLength: inlineInflatedBytesMax });
  } catch (thrown) {
    if (isTooLarge(thrown)) return undefined;
    throw thrown;
  }
}

function isTooLarge(thrown: unknown): boolean {
  return (thrown as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}

export function tooLarge(bytes: number): Fault {
  return new Fault(
    "payload_too_large",
    `The inflated body may have up to ${limits.inflatedBytesMax} bytes; ${bytes} compressed bytes make more.`,
  );
}
