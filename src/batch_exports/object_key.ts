// Under which key an interval's rows rest in an object store. Pure: the same interval has the same keys for ever, so
// that a retry overwrites; never leaves the prefix.

import type { FileFormat } from "./destination_config.ts";
import type { Interval } from "./interval.ts";

export interface ObjectNaming {
  prefix: string;
  model: string;
  format: FileFormat;
  /** Of the file as a whole; what is inside a Parquet file has its own. */
  compression: string | null;
  interval: Interval;
}

const formatEndings: Readonly<Record<FileFormat, string>> = {
  JSONLines: "jsonl",
  CSV: "csv",
  Parquet: "parquet",
};

const compressionEndings: Readonly<Record<string, string>> = {
  gzip: "gz",
  brotli: "br",
  zstd: "zst",
  snappy: "sz",
  lz4: "lz4",
};

/** A prefix that names something we cannot fill in. */
export class KeyError extends Error {}

/**
 * The key of one file.
 * @param file which of several; undefined when they are not split.
 * @throws KeyError
 */
export function objectKey(naming: ObjectNaming, file?: number | string): string {
  const number = file === undefined ? "" : `-${file}`;
  const compressed = naming.compression ? `.${endingOf(naming.compression)}` : "";
  return `${stem(naming)}${number}.${formatEndings[naming.format]}${compressed}`;
}

/** The key of the list of files, written last. */
export function manifestKey(naming: ObjectNaming): string {
  return `${stem(naming)}_manifest.json`;
}

export function manifestText(keys: readonly string[]): string {
  return JSON.stringify({ files: keys });
}

/** Where a destination is tried out: a file in the folder that files go to, as far as its name is fixed. */
export function checkKey(prefix: string): string {
  const folder = prefix
    .replace(/\{.*$/s, "")
    .replace(/[^/]*$/, "")
    .replace(/^\/+/, "");
  return `${folder}sluice-check/connection.txt`;
}

function stem({ prefix, model, interval }: ObjectNaming): string {
  const name = `${startText(interval)}-${isoText(interval.end)}`;
  const folder = filledPrefix(prefix, model, interval).replace(/\/+$/, "");
  const key = `${folder}/${name}`.replace(/^\/+/, "");
  // Globs are how ClickHouse reads many objects at once; it writes to none of them.
  if (/[*?{}]/.test(key) || hasControl(key)) {
    throw new KeyError("An invalid S3 key was provided: it must not contain * ? { } or control characters");
  }
  return key;
}

function startText({ start }: Interval): string {
  return start === null ? "START" : isoText(start);
}

function filledPrefix(prefix: string, model: string, interval: Interval): string {
  const end = isoText(interval.end);
  const values: Record<string, string> = {
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
  return prefix.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw new KeyError(`An invalid S3 key was provided: '${name}' is unknown`);
    return value;
  });
}

/** As Python writes it: 2025-01-07T00:00:00+00:00, with microseconds only where there are some. */
export function isoText(ms: number): string {
  const text = new Date(ms).toISOString();
  const fraction = text.slice(20, 23) === "000" ? "" : `.${text.slice(20, 23)}000`;
  return `${text.slice(0, 19)}${fraction}+00:00`;
}

function endingOf(compression: string): string {
  const ending = compressionEndings[compression];
  if (ending === undefined) throw new KeyError(`The compression "${compression}" is unknown`);
  return ending;
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 32) return true;
  return false;
}
