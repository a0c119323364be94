// A file's bytes, inflated as they are read; a few chunks are in memory at a time. Compressed data that ends too
// early is an error.

import { open, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { UserError } from "../../../core/fault.ts";
import { toCode, toReason } from "../../../core/log.ts";
import { importLimits } from "../limits.ts";

const chunkBytes = 256 * 1024;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

export const standardInput = "-";

/**
 * The size of a file in bytes, compressed as it is; undefined for standard input and pipes.
 * @throws UserError when there is no such file, or it is a directory.
 */
export async function measureFile(path: string): Promise<number | undefined> {
  if (path === standardInput) return undefined;
  const found = await stat(path).catch((thrown: unknown) => {
    throw new UserError(`${path}: ${describeRefusal(thrown)}`);
  });
  if (found.isDirectory()) throw new UserError(`${path}: a directory; name the files in it`);
  return found.isFile() ? found.size : undefined;
}

interface SourceOptions {
  /** Called with the number of bytes read, before inflating. */
  onBytes(count: number): void;
  input(): ReadableStream<Uint8Array>;
  /** Ends a wait for standard input. */
  stop: AbortSignal;
}

/**
 * Opens a file or standard input.
 * @returns the first inflated bytes, at least headBytesMin unless there are fewer; whether they are the whole file; and
 *   the bytes after them.
 * @throws UserError in one line when it cannot be read.
 */
export async function openSource(path: string, options: SourceOptions) {
  const raw = path === standardInput ? readInput(options) : readFile(path, options.onBytes);
  const inflated = inflate(path, raw);
  const bytes = await atLeast(inflated, importLimits.headBytesMin);
  const whole = bytes.length < importLimits.headBytesMin;
  const hasByteOrderMark = bytes.subarray(0, 3).equals(byteOrderMark);
  return { head: hasByteOrderMark ? bytes.subarray(3) : bytes, whole, rest: inflated };
}

async function* readFile(path: string, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  await using file = await open(path, "r");
  for (;;) {
    // Not reused: readers keep slices of a chunk for a record that continues in the next one.
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, null);
    if (bytesRead === 0) return;
    onBytes(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
}

async function* readInput({ input, onBytes, stop }: SourceOptions): AsyncGenerator<Buffer> {
  const reader = input().getReader();
  // The next bytes may never come, so an abort must cancel the read.
  const onStop = (): void => void reader.cancel().catch(() => {});
  stop.addEventListener("abort", onStop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes(value.length);
      yield Buffer.from(value.buffer, value.byteOffset, value.length);
    }
  } finally {
    stop.removeEventListener("abort", onStop);
    await reader.cancel();
  }
}

/**
 * Goes by the content, not by the name: HTTP clients may inflate a download without renaming it, and uploads to S3 pack
 * files a second time.
 */
async function* inflate(path: string, raw: AsyncGenerator<Buffer>, layers = 2): AsyncGenerator<Buffer> {
  try {
    const first = await atLeast(raw, 4);
    if (first.length === 0) return;
    const chunks = prepend(first, raw);
    if (layers === 0) yield* chunks;
    else if (first[0] === 0x1f && first[1] === 0x8b) yield* inflate(path, gunzipped(chunks), layers - 1);
    else if (isZstd(first)) yield* unzstd(chunks);
    else yield* chunks;
  } catch (thrown) {
    throw thrown instanceof UserError ? thrown : new UserError(`${path}: ${describeRefusal(thrown)}`);
  } finally {
    await raw.return(undefined);
  }
}

/** Whether the bytes begin a zstd frame, or a skippable frame, which some tools write first. */
function isZstd(first: Buffer): boolean {
  if (first.length < 4) return false;
  const magic = first.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

/** Reads at least `count` bytes, unless the file ends before. */
async function atLeast(chunks: AsyncGenerator<Buffer>, count: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let length = 0; length < count; length += parts.at(-1)!.length) {
    const { done, value } = await chunks.next();
    if (done) break;
    parts.push(value);
  }
  return Buffer.concat(parts);
}

async function* prepend(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** Uses node:zlib, which also reads files of several gzip members. */
async function* gunzipped(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const raw = Readable.from(chunks, { objectMode: false, highWaterMark: chunkBytes });
  const inflating = createGunzip({ chunkSize: chunkBytes });
  raw.once("error", (thrown) => inflating.destroy(thrown));
  try {
    for await (const bytes of raw.pipe(inflating) as AsyncIterable<Buffer>) yield bytes;
  } finally {
    inflating.destroy();
    raw.destroy();
  }
}

/** Uses the web stream: node:zlib accepts a frame that ends too early. */
async function* unzstd(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const raw = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as Uint8Array<ArrayBuffer>);
    },
  });
  const inflated = raw.pipeThrough(new DecompressionStream("zstd"));
  for await (const bytes of inflated) yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function describeRefusal(thrown: unknown): string {
  const code = toCode(thrown);
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  if (code === "EISDIR") return "a directory; name the files in it";
  const reason = toReason(thrown);
  if (code === "Z_BUF_ERROR" || reason === "unexpected end of file")
    return "the compressed data ends too early";
  if (code.startsWith("Z_")) return `the compressed data is damaged (${reason})`;
  return reason;
}
