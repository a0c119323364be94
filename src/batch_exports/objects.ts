// Rows into files of an object store or a folder, written by ClickHouse itself: one file, or several with a list of
// them that is written last. The same interval gives the same files, so that a retry overwrites.

import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { limits } from "../core/limits.ts";
import { ask, type Delivery, type Means, write } from "./delivery.ts";
import type { FileChoice, FileFormat } from "./destination_config.ts";
import { deliveryError, DeliveryError } from "./failure.ts";
import { KeyError, manifestKey, manifestText, objectKey, type ObjectNaming } from "./object_key.ts";
import {
  describeOf,
  filesOf,
  insertOf,
  insertTextOf,
  type Layout,
  sampleOf,
  type Selection,
  selectionOf,
  sizeOf,
  splitInsertOf,
  type Statement,
} from "./source_store.ts";

/** How one kind of store is written to. */
export interface ObjectStore {
  /**
   * The table function that writes one file. `{_partition_id}` in the key stands for the file's number.
   * @param compression of the whole file: none, gzip or br.
   */
  file(key: string, format: string, structure: string, compression: string): Statement;
  settings: Record<string, string | number>;
  /** What must not be shown when it fails. */
  secrets: readonly string[];
  /** Before the first file: the key without what follows the last slash. */
  open?(folder: string): Promise<void>;
  /** Finds out more about what went wrong; the error itself where there is no more. */
  explain?(error: DeliveryError, work: Means & Pick<Delivery, "abort">): Promise<DeliveryError>;
  /** After the last file: files appear under their names only now. */
  close?(keys: readonly string[]): Promise<void>;
}

const layouts: Readonly<Record<FileFormat, { layout: Layout; format: string }>> = {
  JSONLines: { layout: "lines", format: "LineAsString" },
  CSV: { layout: "texts", format: "CSVWithNames" },
  Parquet: { layout: "columns", format: "Parquet" },
};

const wholeFile: Readonly<Record<string, string>> = { gzip: "gzip", brotli: "br" };

/** Stands for a file's number until its key is part of a statement. */
const numberMark = "~file~";

/** @throws DeliveryError */
export async function deliverObjects(
  work: Delivery,
  store: ObjectStore,
  choice: FileChoice,
  prefix: string,
): Promise<void> {
  try {
    const { layout, format } = layouts[choice.file_format];
    const naming: ObjectNaming = {
      prefix,
      model: work.source.model,
      format: choice.file_format,
      compression: choice.file_format === "Parquet" ? null : choice.compression,
      interval: work.source.interval,
    };
    const selection = await typed(work, selectionOf(work.source, layout, work.days), layout);
    const plan: Plan = { naming, selection, format, choice };
    const keys =
      choice.max_file_size_mb === null ? await whole(work, store, plan) : await split(work, store, plan);
    await store.close?.(keys);
  } catch (thrown) {
    if (thrown instanceof KeyError) throw new DeliveryError(thrown.message, true);
    throw await failureOf(thrown, store, work);
  }
}

/** What went wrong with a store, without its secrets. */
export async function failureOf(
  thrown: unknown,
  store: ObjectStore,
  work: Means & Pick<Delivery, "abort">,
): Promise<DeliveryError> {
  const error = deliveryError(thrown, store.secrets);
  return (await store.explain?.(error, work)) ?? error;
}

/** Columns of the owner's own have the types that the engine gives them. */
async function typed(work: Delivery, selection: Selection, layout: Layout): Promise<Selection> {
  if (layout !== "columns" || !work.source.own) return selection;
  const columns = await ask<{ name: string; type: string }>(work, describeOf(selection));
  const structure = columns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
  return { ...selection, structure };
}

interface Plan {
  naming: ObjectNaming;
  selection: Selection;
  format: string;
  choice: FileChoice;
}

async function whole(work: Delivery, store: ObjectStore, plan: Plan): Promise<string[]> {
  const key = objectKey(plan.naming);
  await store.open?.(folderOf(key));
  await write(work, insertOf(target(store, plan, key), plan.selection, work.mark), settingsOf(store, plan));
  return [key];
}

async function split(work: Delivery, store: ObjectStore, plan: Plan): Promise<string[]> {
  const { naming, selection } = plan;
  const files = await filesNeeded(work, plan);
  const key = objectKey(naming, numberMark);
  await store.open?.(folderOf(key));
  const into = target(store, plan, key);
  const used = await ask<{ file: string }>(work, filesOf(selection, files));
  for (let from = 0; from < files; from += limits.exportFilesAtOnceMax) {
    const some = { files, from, to: Math.min(files, from + limits.exportFilesAtOnceMax) };
    await write(work, splitInsertOf(into, selection, some, work.mark), settingsOf(store, plan));
  }
  const keys = used.map(({ file }) => objectKey(naming, file));
  const list = store.file(manifestKey(naming), "LineAsString", "line String", "none");
  await write(work, insertTextOf(list, manifestText(keys), work.mark), store.settings);
  return [...keys, manifestKey(naming)];
}

function target(store: ObjectStore, { selection, format, choice, naming }: Plan, key: string): Statement {
  const compression = naming.compression === null ? undefined : wholeFile[choice.compression ?? ""];
  return store.file(key, format, selection.structure, compression ?? "none");
}

/** How many files make each about as big as it may be. Rows are spread by their hash, so they come out alike. */
async function filesNeeded(work: Delivery, plan: Plan): Promise<number> {
  const bytesMax = (plan.choice.max_file_size_mb ?? 0) * 1024 * 1024;
  const [size] = await ask<{ rows: string; bytes: string }>(work, sizeOf(plan.selection));
  const shrunk = Number(size?.bytes ?? 0) * (await shrinking(work, plan));
  // A little room: files differ by chance, and none may be much larger than asked for.
  return Math.max(1, Math.min(Number(size?.rows ?? 1), Math.ceil((shrunk * 1.05) / bytesMax)));
}

/** To what part of its size a sample of the rows is compressed. */
async function shrinking(work: Delivery, plan: Plan): Promise<number> {
  const { choice, selection } = plan;
  if (choice.compression === null && choice.file_format !== "Parquet") return 1;
  const sample = await ask<{ row: string }>(work, sampleOf(selection, limits.exportSampleRowsMax));
  let text = "";
  for (const { row } of sample) if (text.length < limits.exportSampleBytesMax) text += `${row}\n`;
  if (text === "") return 1;
  const bytes = Buffer.from(text);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } };
  const small =
    choice.compression === "brotli" ? brotliCompressSync(bytes, quality) : gzipSync(bytes, { level: 3 });
  // The quick ones leave about half as much again.
  const quick = choice.compression === "lz4" || choice.compression === "snappy" ? 1.6 : 1;
  return Math.min(1, (small.length / bytes.length) * quick);
}

function settingsOf(store: ObjectStore, { choice }: Plan): Record<string, string | number> {
  if (choice.file_format !== "Parquet") return { ...store.settings };
  return {
    ...store.settings,
    output_format_parquet_compression_method: choice.compression ?? "none",
    output_format_parquet_row_group_size: limits.parquetGroupRowsMax,
    output_format_parquet_row_group_size_bytes: limits.parquetGroupBytesMax,
    // On further threads it would be done sooner, at the cost of every capture beside it.
    output_format_parquet_parallel_encoding: 0,
  };
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}

/** What takes the place of the number's mark in a key that was made fit for an address. */
export function withNumber(key: string): string {
  return key.replaceAll(numberMark, "{_partition_id}");
}
