// A body off the wire: received within a bound, inflated within another. Never looks inside.

import {
  brotliDecompress,
  brotliDecompressSync,
  gunzip,
  gunzipSync,
  inflate,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";

/**
 * Receives a request's body, smaller than `bytesMax`.
 * @throws Fault payload_too_large (the rest of the body is read and dropped, so that the connection
 *   survives),
 *   upload_timeout when the client went away.
 */
export async function receiveBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) < bytesMax) {
    return await request.bytes().catch(() => {
      throw new Fault("upload_timeout", "The client stopped sending data.");
    });
  }
  if (!request.body) return new Uint8Array(0);
  return await receiveStream(request.body, bytesMax);
}

async function receiveStream(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size < bytesMax) chunks.push(chunk);
      else chunks.length = 0;
      if (size > bytesMax * limits.drainFactor) break;
    }
  } catch {
    throw new Fault("upload_timeout", "The client stopped sending data.");
  }
  if (size >= bytesMax) throw tooLarge(size, bytesMax);
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks, size);
}

function tooLarge(size: number, bytesMax: number): Fault {
  return new Fault(
    "payload_too_large",
    `The body must be smaller than ${bytesMax} bytes; ${size} bytes arrived.`,
  );
}

type Method = "gzip" | "deflate" | "br" | "zstd";
type Options = { maxOutputLength: number };
type Later = (
  bytes: Uint8Array,
  options: Options,
  done: (error: Error | null, result: Buffer) => void,
) => void;

const inflaters: Record<Method, { now: (bytes: Uint8Array, options: Options) => Buffer; later: Later }> = {
  gzip: { now: gunzipSync, later: gunzip },
  deflate: { now: inflateSync, later: inflate },
  br: { now: brotliDecompressSync, later: brotliDecompress },
  zstd: { now: zstdDecompressSync, later: zstdDecompress },
};

/** Below this a body is inflated on the spot: a thread's round trip costs more. */
const inlineBytesMax = 32 * 1024;

/**
 * Inflates a body by what its first bytes, the Content-Encoding header or the `compression` query parameter
 * say.
 * A hint that the bytes belie is passed over: plain JSON is plain JSON.
 * @throws Fault payload_too_large past limits.inflatedBytesMax, invalid_payload for corrupt or unknown
 *   compression.
 */
export async function inflateBody(
  bytes: Uint8Array,
  hints: { encoding: string | null; query: string | null },
): Promise<Uint8Array> {
  const method = methodOf(bytes, hints);
  if (!method) return bytes;
  const options = { maxOutputLength: limits.inflatedBytesMax };
  const { now, later } = inflaters[method];
  try {
    if (bytes.length <= inlineBytesMax) return now(bytes, options);
    return await new Promise<Buffer>((resolve, reject) => {
      later(bytes, options, (error, result) => (error ? reject(error) : resolve(result)));
    });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new Fault(
        "payload_too_large",
        `The inflated body would be larger than ${limits.inflatedBytesMax} bytes.`,
      );
    }
    throw new Fault("invalid_payload", `Malformed request data: the body is no sound ${method}.`);
  }
}

function methodOf(
  bytes: Uint8Array,
  hints: { encoding: string | null; query: string | null },
): Method | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  if (bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd) return "zstd";
  const looksLikeJson = bytes[0] === 0x7b || bytes[0] === 0x5b;
  const hint = (hints.encoding ?? hints.query ?? "").trim().toLowerCase();
  if (hint === "" || hint === "identity" || looksLikeJson) return undefined;
  if (hint === "gzip" || hint === "x-gzip" || hint === "gzip-js") return "gzip";
  if (hint === "deflate" || hint === "br" || hint === "zstd") return hint;
  return undefined;
}
