// Writes rows into files of an object store or a folder: one file, or several with a list of them that is written last.
// An interval always gives the same files, so that a retry overwrites.

import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { type ExportError, exportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import { type ExportWork, queryRows, type Writing } from "../../source/statements.ts";
import { countBytes, sampleStatement, selectFiles, type Selection, toSelection } from "../../source/store.ts";
import type { FileChoice } from "../fields.ts";
import * as objectKeys from "./object_key.ts";

export interface ObjectStore {
  writeFile(work: ExportWork, key: string, rows: FileRows): Promise<void>;
  /** Writes the rows into several files, by their numbers. */
  writeParts(
    work: ExportWork,
    toKey: (file: string) => string,
    rows: FileRows,
    parts: { files: number; used: readonly { file: string; rows: string }[] },
  ): Promise<void>;
  writeText(work: Writing, key: string, content: string): Promise<void>;
  /** Removes a file, if it exists. */
  remove(work: Writing, key: string): Promise<void>;
  /** Runs before the first file; gets the key up to its last slash. */
  open?(folder: string): void;
  /** Explains an error; undefined when it cannot. */
  explain?(thrown: unknown, work: Writing): Promise<ExportError | undefined>;
  /** Runs after the last file: only now files get their names. */
  close?(keys: readonly string[]): void;
  /** Releases everything, in every case. */
  end?(): void;
}

export interface FileRows {
  selection: Selection;
  /** A format of ClickHouse. */
  format: string;
  /** The compression of the whole file: none, gzip or br. */
  compression: string;
  settings: Record<string, string | number>;
}

const wholeFile: Readonly<Record<string, string>> = { gzip: "gzip", brotli: "br" };

/** Resolves to the number of rows written: all of them. @throws ExportError */
export async function deliverObjects(work: ExportWork, store: ObjectStore, config: FileChoice) {
  try {
    const { format, layout } = objectKeys.fileFormats[config.file_format];
    const isEscaped = layout === "texts" && config.escape_formulas;
    const naming: objectKeys.ObjectNaming = {
      prefix: config.prefix,
      model: work.source.model,
      format: config.file_format,
      compression: config.file_format === "Parquet" ? null : config.compression,
      interval: work.source.interval,
      own_name: work.source.own_name,
    };
    const rows: FileRows = {
      selection: toSelection(work.source, isEscaped ? "harmless_texts" : layout, work.days),
      format,
      compression: wholeFile[naming.compression ?? ""] ?? "none",
      settings: buildSettings(config),
    };
    const files = await filesNeeded(work, rows.selection, config);
    const key = objectKeys.objectKey(naming);
    store.open?.(findFolder(key));
    if (files === undefined) {
      await work.record([key]);
      await store.writeFile(work, key, rows);
    }
    const keys = files === undefined ? [key] : await writeSplit(work, store, naming, rows, files);
    store.close?.(keys);
    return work.rows;
  } catch (thrown) {
    throw await explainFailure(thrown, store, work);
  } finally {
    store.end?.();
  }
}

const findFolder = (key: string): string => key.slice(0, key.lastIndexOf("/") + 1);

/** Removes files of one folder that earlier attempts wrote. @throws ExportError */
export async function removeObjects(work: Writing, store: ObjectStore, keys: readonly string[]) {
  try {
    store.open?.(findFolder(keys[0] ?? ""));
    for (const key of keys) {
      work.abort.throwIfAborted();
      await store.remove(work, key);
    }
  } catch (thrown) {
    throw await explainFailure(thrown, store, work);
  } finally {
    store.end?.();
  }
}

/** Writes a small text file. @throws ExportError */
export async function probeObjects(work: Writing, store: ObjectStore, { prefix }: { prefix: string }) {
  try {
    await store.writeText(work, objectKeys.checkKey(prefix), "This file may be removed.");
  } catch (thrown) {
    throw await explainFailure(thrown, store, work);
  }
}

async function explainFailure(thrown: unknown, store: ObjectStore, work: Writing): Promise<ExportError> {
  return (await store.explain?.(thrown, work)) ?? exportError(thrown);
}

async function writeSplit(
  work: ExportWork,
  store: ObjectStore,
  naming: objectKeys.ObjectNaming,
  rows: FileRows,
  files: number,
): Promise<string[]> {
  const toKey = (file: string): string => objectKeys.objectKey(naming, file);
  const used = await queryRows<{ file: string; rows: string }>(work, selectFiles(rows.selection, files));
  const keys = used.map(({ file }) => toKey(file));
  const manifest = objectKeys.manifestKey(naming);
  await work.record([...keys, manifest]);
  await store.writeParts(work, toKey, rows, { files, used });
  await store.writeText(work, manifest, objectKeys.manifestText(keys));
  return [...keys, manifest];
}

/**
 * The number of files of about the requested size; undefined without one. Rows are distributed by hash, so that files
 * have similar sizes.
 */
async function filesNeeded(work: ExportWork, selection: Selection, config: FileChoice) {
  if (config.max_file_size_mb === null) return undefined;
  const bytesMax = config.max_file_size_mb * 1024 * 1024;
  const [size] = await queryRows<{ rows: string; bytes: string }>(work, countBytes(selection));
  const bytes = Number(size?.bytes ?? 0) * (await compressionRatio(work, selection, config));
  // With some margin: sizes vary, and no file may be much larger than requested.
  return Math.max(1, Math.min(Number(size?.rows ?? 1), Math.ceil((bytes * 1.05) / bytesMax)));
}

async function compressionRatio(work: ExportWork, selection: Selection, config: FileChoice): Promise<number> {
  if (config.compression === null && config.file_format !== "Parquet") return 1;
  // Rows may be a megabyte each: the engine stops at the block that reaches the limit.
  const statement = sampleStatement(selection, exportLimits.sampleRowsMax);
  const sample = await queryRows<{ row: string }>(work, statement, {
    max_result_bytes: exportLimits.sampleBytesMax,
    result_overflow_mode: "break",
    max_block_size: exportLimits.sampleBlockRows,
  });
  let text = "";
  for (const { row } of sample) if (text.length < exportLimits.sampleBytesMax) text += `${row}\n`;
  if (text === "") return 1;
  const bytes = Buffer.from(text);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } };
  const compressed =
    config.compression === "brotli" ? brotliCompressSync(bytes, quality) : gzipSync(bytes, { level: 3 });
  // The fast compressions yield files about half as large again.
  const fastFactor = config.compression === "lz4" || config.compression === "snappy" ? 1.6 : 1;
  return Math.min(1, (compressed.length / bytes.length) * fastFactor);
}

function buildSettings(config: FileChoice): Record<string, string | number> {
  if (config.file_format !== "Parquet") return {};
  return {
    output_format_parquet_compression_method: config.compression ?? "none",
    output_format_parquet_row_group_size: exportLimits.parquetGroupRowsMax,
    output_format_parquet_row_group_size_bytes: exportLimits.parquetGroupBytesMax,
    // More threads would be faster, but would slow down captures.
    output_format_parquet_parallel_encoding: 0,
  };
}
