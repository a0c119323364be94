// The keys of an interval's files in an object store. The same interval always has the same keys, so that a retry
// overwrites; keys stay below the prefix.

import { withoutFirst, withoutLast } from "../../../core/trim.ts";
import { excerpt } from "../../../http/fields/field_fault.ts";
import { ExportError } from "../../failure.ts";
import { type ExportInterval, isoText } from "../../interval.ts";
import { exportLimits } from "../../limits.ts";

/** Keyed by format: the file extension, compressions by their names in requests, and the engine's format. */
export const fileFormats = {
  Parquet: {
    ending: "parquet",
    compressions: ["zstd", "lz4", "snappy", "gzip", "brotli"],
    layout: "columns",
    format: "Parquet",
  },
  JSONLines: { ending: "jsonl", compressions: ["gzip", "brotli"], layout: "lines", format: "LineAsString" },
  CSV: { ending: "csv", compressions: ["gzip", "brotli"], layout: "texts", format: "CSVWithNames" },
} as const;
export type FileFormat = keyof typeof fileFormats;

export interface ObjectNaming {
  prefix: string;
  model: string;
  format: FileFormat;
  /** The compression of the whole file; Parquet compresses inside the file. */
  compression: string | null;
  interval: ExportInterval;
  /** Text in the names of files that tells exports below one prefix apart. */
  own_name?: string | undefined;
}

const compressionEndings: Readonly<Record<string, string>> = {
  gzip: "gz",
  brotli: "br",
  zstd: "zst",
  snappy: "sz",
  lz4: "lz4",
};

/** The key of one file. @param file its number; undefined when files are not split. @throws ExportError */
export function objectKey(naming: ObjectNaming, file?: number | string): string {
  const number = file === undefined ? "" : `-${file}`;
  const { format: file_format, compression } = naming;
  return `${stem(naming)}${number}.${fileEnding({ file_format, compression })}`;
}

export function fileEnding({ file_format, compression }: Record<string, unknown>): string {
  const format = file_format as FileFormat;
  const compressed =
    format !== "Parquet" && typeof compression === "string" ? `.${chooseEnding(compression)}` : "";
  return `${fileFormats[format].ending}${compressed}`;
}

/** The key of the list of files, which is written last. */
export function manifestKey(naming: ObjectNaming): string {
  return `${stem(naming)}_manifest.json`;
}

export function manifestText(keys: readonly string[]): string {
  return JSON.stringify({ files: keys });
}

/** The key of the file that tests a destination: in the folder of its files, as far as that name is fixed. */
export function checkKey(prefix: string): string {
  const [fixed = ""] = prefix.split("{", 1);
  const folder = withoutFirst(fixed.slice(0, fixed.lastIndexOf("/") + 1), "/");
  return `${folder}sluice-check/connection.txt`;
}

/** The longest names of an interval, to test a prefix. */
const longestNaming: ObjectNaming = {
  prefix: "",
  model: "persons",
  format: "JSONLines",
  compression: "gzip",
  interval: { start: Date.parse("2025-01-07T00:00:00.001Z"), end: Date.parse("2025-01-08T00:00:00.001Z") },
};

/** More files than one run writes. */
const filesMax = 999_999;

const placeholders = Object.keys(placeholderValues(longestNaming.model, longestNaming.interval))
  .map((name) => `{${name}}`)
  .join(", ");

/**
 * Why no file can have a key below this prefix, as a sentence; undefined when one can.
 * @param stepBytesMax bytes between two slashes, where they are limited.
 */
export function prefixFault(prefix: string, stepBytesMax = Number.POSITIVE_INFINITY): string | undefined {
  const problem = placeholderFault(prefix);
  if (problem !== undefined) return problem;
  const key = objectKey({ ...longestNaming, prefix }, filesMax);
  if (Buffer.byteLength(key) > exportLimits.keyBytesMax)
    return `makes names of files longer than ${exportLimits.keyBytesMax} bytes`;
  const folders = key.split("/").slice(0, -1);
  const isTooLong = folders.some((name) => Buffer.byteLength(name) > stepBytesMax);
  return isTooLong ? `makes names of folders longer than ${stepBytesMax} bytes` : undefined;
}

function placeholderFault(prefix: string): string | undefined {
  const values = placeholderValues(longestNaming.model, longestNaming.interval);
  let unknown: string | undefined;
  const fixed = replacePlaceholders(prefix, (name) => {
    if (!Object.hasOwn(values, name)) unknown ??= name;
    return "";
  });
  if (readsAsPattern(fixed)) return `must not contain * ? { }, except in its placeholders: ${placeholders}`;
  if (unknown === undefined) return undefined;
  return `'{${excerpt(unknown)}}' is no placeholder. There are ${placeholders}`;
}

/** Whether ClickHouse would read a name as a glob, which it cannot write to. */
export function readsAsPattern(text: string): boolean {
  return /[*?{}]/.test(text);
}

function stem({ prefix, model, interval, own_name = "" }: ObjectNaming): string {
  const name = `${startText(interval)}-${isoText(interval.end)}${own_name}`;
  const folder = withoutLast(filledPrefix(prefix, model, interval), "/");
  const key = withoutFirst(`${folder}/${name}`, "/");
  // oxlint-disable-next-line no-control-regex
  if (readsAsPattern(key) || /[\x00-\x1f]/.test(key)) {
    throw new ExportError(
      "An invalid S3 key was provided: it must not contain * ? { } or control characters",
      true,
    );
  }
  return key;
}

function startText({ start }: ExportInterval): string {
  return start === null ? "START" : isoText(start);
}

function placeholderValues(model: string, interval: ExportInterval): Record<string, string> {
  const end = isoText(interval.end);
  return {
    year: end.slice(0, 4),
    month: end.slice(5, 7),
    day: end.slice(8, 10),
    hour: end.slice(11, 13),
    minute: end.slice(14, 16),
    second: end.slice(17, 19),
    data_interval_start: startText(interval),
    data_interval_end: end,
    table: model,
  };
}

function filledPrefix(prefix: string, model: string, interval: ExportInterval): string {
  const values = placeholderValues(model, interval);
  return replacePlaceholders(prefix, (name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined)
      throw new ExportError(`An invalid S3 key was provided: '${name}' is unknown`, true);
    return value;
  });
}

/** An unclosed brace stays: such a prefix is refused. */
export function replacePlaceholders(prefix: string, findValue: (name: string) => string): string {
  return prefix.replace(/\{([^{}]*)\}/g, (_, name: string) => findValue(name));
}

function chooseEnding(compression: string): string {
  const ending = compressionEndings[compression];
  if (ending === undefined) throw new ExportError(`The compression "${compression}" is unknown`, true);
  return ending;
}
