// Azure's blob storage. Rows stream through this process, because ClickHouse's azureBlobStorage() follows redirects to
// any address. A blob appears when it is complete.

import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import { ExportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import { eventColumns } from "../../source/columns.ts";
import { type ExportWork, rowStream, type Writing } from "../../source/statements.ts";
import { type ExportStatement, selectFile } from "../../source/store.ts";
import { destinationKind } from "../destination.ts";
import { checkFileChoice, readUrlHost } from "../fields.ts";
import * as objects from "../objects/objects.ts";
import {
  type AzureBlobConfig,
  azureFields,
  type AzureRequest,
  send,
  withoutConnectionString,
} from "./azure_request.ts";

export const azureBlob = destinationKind({
  fields: azureFields,
  read: withoutConnectionString,
  check: checkFileChoice,
  findHost: readUrlHost("endpoint_url"),
  columns: eventColumns,
  write: async (work, config) => await objects.deliverObjects(work, azureStore(config), config),
  remove: async (work, config, keys) => await objects.removeObjects(work, azureStore(config), keys),
  probe: async (work, config) => await objects.probeObjects(work, azureStore(config), config),
});

function azureStore(config: AzureBlobConfig): objects.ObjectStore {
  const put = async (work: Writing, request: Omit<AzureRequest, "headers">, headers = {}): Promise<void> =>
    await send(config, { ...request, headers }, work);
  const write = async (work: ExportWork, key: string, file: AsyncIterable<Uint8Array>): Promise<void> =>
    await writeBlob(async (query, body) => await put(work, { key, query, body }), file);
  return {
    writeFile: async (work, key, rows) =>
      await write(work, key, readFile(work, rows.selection.select, rows, work.rows)),
    writeParts: async (work, keyOf, rows, { files, used }) => {
      for (const { file, rows: expected } of used) {
        const select = selectFile(rows.selection, files, file);
        await write(work, keyOf(file), readFile(work, select, rows, Number(expected)));
      }
    },
    writeText: async (work, key, content) => {
      const body = Buffer.from(`${content}\n`);
      await put(work, { key, query: {}, body }, { "x-ms-blob-type": "BlockBlob" });
    },
    remove: async (work, key) => {
      const removing = put(work, { key, query: {}, body: new Uint8Array(), method: "DELETE" });
      await removing.catch((thrown: unknown) => {
        if (!(thrown instanceof ExportError) || thrown.status !== 404) throw thrown;
      });
    },
  };
}

/** Writes a blob in blocks; until the list of blocks is sent, an existing blob of the same name stays. */
async function writeBlob(
  send: (query: Record<string, string>, body: Uint8Array) => Promise<void>,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  // Different in every attempt, since an earlier one may still be running; with the number as long as Azure's own ids.
  const attempt = randomBytes(16).toString("hex");
  let list = "";
  let number = 0;
  for await (const body of cutBlocks(chunks)) {
    if (number >= exportLimits.azureBlocksMax)
      throw new ExportError("A file is larger than a blob may be: set max_file_size_mb", true);
    const blockid = Buffer.from(`${attempt}${String(number++).padStart(blockNumberDigits, "0")}`).toString(
      "base64",
    );
    await send({ comp: "block", blockid }, body);
    list += `<Latest>${blockid}</Latest>`;
  }
  const body = `<?xml version="1.0" encoding="utf-8"?><BlockList>${list}</BlockList>`;
  await send({ comp: "blocklist" }, Buffer.from(body));
}

/** Azure requires that all block ids of a blob have the same length. */
const blockNumberDigits = 16;

async function* cutBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    block.push(chunk);
    bytes += chunk.length;
    if (bytes < exportLimits.azureBlockBytesMin) continue;
    yield Buffer.concat(block);
    block = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(block);
}

/** The rows of a SELECT as a file in its format, compressed. @throws ExportError at its end when rows are missing. */
function readFile(
  work: ExportWork,
  select: ExportStatement,
  { format, compression, settings }: objects.FileRows,
  expected: number,
): AsyncGenerator<Uint8Array> {
  return compressed(countRows(rowStream(work, select, format, settings), format, expected), compression);
}

/** Compresses off the event loop, at the reader's speed, with the levels of the engine's own files. */
async function* compressed(chunks: AsyncIterable<Uint8Array>, compression: string) {
  if (compression === "none") return yield* chunks;
  const packer =
    compression === "gzip"
      ? createGzip({ level: 3 })
      : createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 3 } });
  const packing = pipeline(Readable.from(chunks, { objectMode: false }), packer);
  packing.catch(() => {});
  try {
    for await (const chunk of packer) yield chunk as Uint8Array;
  } finally {
    packer.destroy();
  }
  await packing;
}

const lineBreak = 10;
const quote = 34;
/** Parquet's last bytes are written when all rows were; its rows cannot be counted. */
const parquetMagic = Buffer.from("PAR1");

/**
 * The chunks of a file.
 * @param format LineAsString, CSVWithNames or Parquet. @throws ExportError at its end when rows are missing.
 */
export async function* countRows(chunks: AsyncIterable<Uint8Array>, format: string, expected: number) {
  const isCsv = format === "CSVWithNames";
  const isParquet = format === "Parquet";
  // The first row of CSV has the names.
  let rows = isParquet ? expected : isCsv ? -1 : 0;
  /** Quotes in a cell are doubled: a line break ends a row if the number of quotes is even. */
  let isInside = false;
  let tail = Buffer.from("\n");
  for await (const chunk of chunks) {
    tail = Buffer.concat([tail, chunk.subarray(-parquetMagic.length)]).subarray(-parquetMagic.length);
    for (let at = 0; isCsv && at < chunk.length; at++) {
      if (chunk[at] === quote) isInside = !isInside;
      else if (chunk[at] === lineBreak && !isInside) rows++;
    }
    if (!isCsv && !isParquet)
      for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, at + 1)) rows++;
    yield chunk;
  }
  const isWhole = isParquet ? tail.equals(parquetMagic) : !isInside && tail.at(-1) === lineBreak;
  if (rows !== expected || !isWhole)
    throw new ExportError(`ClickHouse stopped after ${Math.max(0, rows)} of ${expected} rows`, false);
}
