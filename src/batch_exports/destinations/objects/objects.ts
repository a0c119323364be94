// Writes rows into files of an object store or a folder: one file, or several with a list of them that is written last.
// The same interval gives the same files, so that a retry overwrites.

import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { destinationLimits } from "../limits.ts";
import { ask, type ExportWork, type Means } from "../../source/delivery.ts";
import type { FileChoice, FileFormat } from "../config.ts";
import { exportError, ExportError } from "../failure.ts";
import { KeyError, manifestKey, manifestText, objectKey, type ObjectNaming } from "./object_key.ts";
import {
  filesOf,
  type FileLayout,
  sampleStatement,
  type Selection,
  selectionOf,
  sizeOf,
} from "../../source/store.ts";

/** How one kind of store is written to. */
export interface ObjectStore {
  /** Writes all rows of a delivery into one file. */
  writeFile(work: ExportWork, key: string, rows: FileRows): Promise<void>;
  /** Writes the rows into several files, by their numbers. */
  writeParts(
    work: ExportWork,
    keyOf: (file: string) => string,
    rows: FileRows,
    parts: ObjectParts,
  ): Promise<void>;
  writeText(work: Writing, key: string, content: string): Promise<void>;
  /** Runs before the first file; gets the key up to its last slash. */
  open?(folder: string): Promise<void>;
  /** Finds out more about an error; undefined when it cannot. */
  explain?(thrown: unknown, work: Writing): Promise<ExportError | undefined>;
  /** Runs after the last file: only now files get their names. */
  close?(keys: readonly string[]): Promise<void>;
  /** Releases everything, in every case. */
  end?(): void;
}

/** What writing to a store needs. */
export type Writing = Means & Pick<ExportWork, "abort" | "mark">;

/** The content and format of a file. */
export interface FileRows {
  selection: Selection;
  /** A format of ClickHouse. */
  format: string;
  /** The compression of the whole file: none, gzip or br. */
  compression: string;
  /** Settings of the format. */
  settings: Record<string, string | number>;
}

export interface ObjectParts {
  /** The number of files that rows are spread over. */
  files: number;
  /** The files that have rows, and how many. */
  used: readonly { file: string; rows: string }[];
}

const layouts: Readonly<Record<FileFormat, { layout: FileLayout; format: string }>> = {
  JSONLines: { layout: "lines", format: "LineAsString" },
  CSV: { layout: "texts", format: "CSVWithNames" },
  Parquet: { layout: "columns", format: "Parquet" },
};

function layoutOf({ file_format, escape_formulas }: FileChoice): FileLayout {
  const { layout } = layouts[file_format];
  return layout === "texts" && escape_formulas ? "harmless_texts" : layout;
}

const wholeFile: Readonly<Record<string, string>> = { gzip: "gzip", brotli: "br" };

/** @throws ExportError */
export async function deliverObjects(
  work: ExportWork,
  store: ObjectStore,
  choice: FileChoice,
  prefix: string,
): Promise<void> {
  try {
    const { format } = layouts[choice.file_format];
    const layout = layoutOf(choice);
    const naming: ObjectNaming = {
      prefix,
      model: work.source.model,
      format: choice.file_format,
      compression: choice.file_format === "Parquet" ? null : choice.compression,
      interval: work.source.interval,
    };
    const selection = selectionOf(work.source, layout, work.days);
    const plan: Plan = { naming, selection, format, choice };
    const keys =
      choice.max_file_size_mb === null ? await whole(work, store, plan) : await split(work, store, plan);
    await store.close?.(keys);
  } catch (thrown) {
    if (thrown instanceof KeyError) throw new ExportError(thrown.message, true);
    throw await failureOf(thrown, store, work);
  } finally {
    store.end?.();
  }
}

/** The failure of a delivery to a store, as its owner is told. */
export async function failureOf(thrown: unknown, store: ObjectStore, work: Writing): Promise<ExportError> {
  return (await store.explain?.(thrown, work)) ?? exportError(thrown);
}

interface Plan {
  naming: ObjectNaming;
  selection: Selection;
  format: string;
  choice: FileChoice;
}

async function whole(work: ExportWork, store: ObjectStore, plan: Plan): Promise<string[]> {
  const key = objectKey(plan.naming);
  await store.open?.(folderOf(key));
  await store.writeFile(work, key, rowsIn(plan));
  return [key];
}

async function split(work: ExportWork, store: ObjectStore, plan: Plan): Promise<string[]> {
  const { naming, selection } = plan;
  const files = await filesNeeded(work, plan);
  const keyOf = (file: string): string => objectKey(naming, file);
  const used = await ask<{ file: string; rows: string }>(work, filesOf(selection, files));
  const keys = used.map(({ file }) => keyOf(file));
  const list = manifestKey(naming);
  await store.open?.(folderOf(list));
  await store.writeParts(work, keyOf, rowsIn(plan), { files, used });
  await store.writeText(work, list, manifestText(keys));
  return [...keys, list];
}

function rowsIn(plan: Plan): FileRows {
  const { selection, format, choice, naming } = plan;
  const compression = naming.compression === null ? undefined : wholeFile[choice.compression ?? ""];
  return { selection, format, compression: compression ?? "none", settings: settingsOf(plan) };
}

/** The number of files of about the size asked for. Rows are spread by their hash, so the files are alike. */
async function filesNeeded(work: ExportWork, plan: Plan): Promise<number> {
  const bytesMax = (plan.choice.max_file_size_mb ?? 0) * 1024 * 1024;
  const [size] = await ask<{ rows: string; bytes: string }>(work, sizeOf(plan.selection));
  const shrunk = Number(size?.bytes ?? 0) * (await shrinking(work, plan));
  // With some room: sizes vary, and no file may be much larger than asked for.
  return Math.max(1, Math.min(Number(size?.rows ?? 1), Math.ceil((shrunk * 1.05) / bytesMax)));
}

/** The compression ratio of a sample of the rows. */
async function shrinking(work: ExportWork, plan: Plan): Promise<number> {
  const { choice, selection } = plan;
  if (choice.compression === null && choice.file_format !== "Parquet") return 1;
  // Rows may be a megabyte each: the engine stops at the block that reaches the limit.
  const sample = await ask<{ row: string }>(
    work,
    sampleStatement(selection, destinationLimits.exportSampleRowsMax),
    {
      max_result_bytes: destinationLimits.exportSampleBytesMax,
      result_overflow_mode: "break",
      max_block_size: destinationLimits.exportSampleBlockRows,
    },
  );
  let text = "";
  for (const { row } of sample) if (text.length < destinationLimits.exportSampleBytesMax) text += `${row}\n`;
  if (text === "") return 1;
  const bytes = Buffer.from(text);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } };
  const small =
    choice.compression === "brotli" ? brotliCompressSync(bytes, quality) : gzipSync(bytes, { level: 3 });
  // The fast compressions leave about half as much again.
  const quick = choice.compression === "lz4" || choice.compression === "snappy" ? 1.6 : 1;
  return Math.min(1, (small.length / bytes.length) * quick);
}

function settingsOf({ choice }: Plan): Record<string, string | number> {
  if (choice.file_format !== "Parquet") return {};
  return {
    output_format_parquet_compression_method: choice.compression ?? "none",
    output_format_parquet_row_group_size: destinationLimits.parquetGroupRowsMax,
    output_format_parquet_row_group_size_bytes: destinationLimits.parquetGroupBytesMax,
    // More threads would be faster, but slow down every capture meanwhile.
    output_format_parquet_parallel_encoding: 0,
  };
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}
