// Azure's blob storage. Rows stream through this process: ClickHouse's own azureBlobStorage() goes wherever an answer
// sends it. A blob appears under its name when all of it is there.

import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import { destinationLimits } from "../limits.ts";
import { type AzureRequest, put } from "./azure_request.ts";
import { type Delivery, rowsOf } from "../../source/delivery.ts";
import type { AzureBlobConfig } from "../config.ts";
import { DeliveryError } from "../failure.ts";
import type { FileRows, ObjectStore, Writing } from "./objects.ts";
import { type RowCount, rowCount } from "./row_count.ts";
import { fileOf, type ExportStatement } from "../../source/store.ts";

export function azureStore(config: AzureBlobConfig): ObjectStore {
  const send = async (work: Writing, request: Omit<AzureRequest, "headers">, headers = {}): Promise<void> =>
    await put(config, { ...request, headers }, work);
  const write = async (work: Delivery, key: string, source: FileSource): Promise<void> => {
    const blob = new BlockBlob(async (query, body) => await send(work, { key, query, body }));
    await blob.write(source.pieces);
    source.check();
    await blob.close();
  };
  return {
    writeFile: async (work, key, rows) =>
      await write(work, key, sourceOf(work, rows.selection.select, rows, work.rows)),
    writeParts: async (work, keyOf, rows, { files, used }) => {
      for (const { file, rows: expected } of used) {
        const select = fileOf(rows.selection, files, file);
        await write(work, keyOf(file), sourceOf(work, select, rows, Number(expected)));
      }
    },
    writeText: async (work, key, content) => {
      const body = Buffer.from(`${content}\n`);
      await send(work, { key, query: {}, body }, { "x-ms-blob-type": "BlockBlob" });
    },
  };
}

/** A blob that is written in blocks; until it is closed, what had its name before stays. */
class BlockBlob {
  readonly #send: (query: Record<string, string>, body: Uint8Array) => Promise<void>;
  readonly #ids: string[] = [];
  /** Unlike in every other attempt, which may still be under way; together with a number as long as Azure's own. */
  readonly #attempt = randomBytes(16).toString("hex");
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(send: (query: Record<string, string>, body: Uint8Array) => Promise<void>) {
    this.#send = send;
  }

  async write(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of pieces) {
      this.#pieces.push(piece);
      this.#bytes += piece.length;
      if (this.#bytes >= destinationLimits.azureBlockBytesMin) await this.#sendBlock();
    }
    if (this.#bytes > 0) await this.#sendBlock();
  }

  async close(): Promise<void> {
    const list = this.#ids.map((id) => `<Latest>${id}</Latest>`).join("");
    const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${list}</BlockList>`);
    await this.#send({ comp: "blocklist" }, body);
  }

  async #sendBlock(): Promise<void> {
    if (this.#ids.length >= destinationLimits.azureBlocksMax) {
      throw new DeliveryError("A file is larger than a blob may be: set max_file_size_mb", true);
    }
    const number = String(this.#ids.length).padStart(blockNumberDigits, "0");
    const id = Buffer.from(`${this.#attempt}${number}`).toString("base64");
    const body = Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    await this.#send({ comp: "block", blockid: id }, body);
    this.#ids.push(id);
  }
}

/** Azure requires all block ids of one blob to have the same length. */
const blockNumberDigits = 16;

interface FileSource {
  pieces: AsyncIterable<Uint8Array>;
  /** @throws DeliveryError when not all rows came. */
  check: () => void;
}

/** The rows of a SELECT as a file: in its format, counted, compressed. */
function sourceOf(
  work: Delivery,
  select: ExportStatement,
  { format, compression, settings }: FileRows,
  expected: number,
): FileSource {
  const count = rowCount(format);
  const pieces = counted(rowsOf(work, select, format, settings), count);
  const check = (): void => {
    const rows = count.rows() ?? expected;
    if (rows === expected && count.ended()) return;
    throw new DeliveryError(`ClickHouse stopped after ${rows} of ${expected} rows`, false);
  };
  return { pieces: compressed(pieces, compression), check };
}

async function* counted(pieces: AsyncIterable<Uint8Array>, count: RowCount): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    count.add(piece);
    yield piece;
  }
}

/** Compressed off the event loop, as fast as it is read. Levels are those of the engine's own files. */
async function* compressed(
  pieces: AsyncIterable<Uint8Array>,
  compression: string,
): AsyncGenerator<Uint8Array> {
  if (compression === "none") return yield* pieces;
  const packer =
    compression === "gzip"
      ? createGzip({ level: 3 })
      : createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 3 } });
  const packing = pipeline(Readable.from(pieces, { objectMode: false }), packer);
  packing.catch(() => {});
  try {
    for await (const piece of packer) yield piece as Uint8Array;
  } finally {
    packer.destroy();
  }
  await packing;
}
