// The names of an export's files, as a pattern: two exports whose patterns overlap could write the same names.

import { files, type Settings } from "../fields.ts";
import { fileEnding, replacePlaceholders } from "../objects/object_key.ts";

/** Steps of a path, with these characters for placeholders; no path or prefix holds control characters. */
export type PathPattern = readonly string[];
const digit = "\u0001";
/** Any text without a slash. */
const anything = "\u0002";

/** Parts of an interval's end with a fixed number of digits. */
const digits: Readonly<Record<string, number>> = { year: 4, month: 2, day: 2, hour: 2, minute: 2, second: 2 };

/**
 * The pattern of a checked configuration. `{table}` is filled in; names that some file systems treat as equal are
 * equal. The path has no placeholders.
 */
export function readPathPattern({ path, prefix }: Settings, model: string): PathPattern {
  return readSteps(`${path ?? ""}/${prefix ?? ""}`, model).map((step) => step.normalize("NFC").toLowerCase());
}

function readSteps(text: unknown, model: string): string[] {
  const filled = replacePlaceholders(String(text ?? ""), (name) =>
    name === "table" ? model : digit.repeat(digits[name] ?? 0) || anything,
  );
  return filled.split("/").filter((step) => step !== "");
}

/** The fields of an export that decide where it writes. */
export interface FilePlace {
  model: string;
  interval: string;
  destination_type: string;
  destination_config: Settings;
}

/** Reads the pattern of an export's objects or files; undefined for other destinations. */
export function readPattern({ destination_type, destination_config: config, model }: FilePlace) {
  if (destination_type === "File") return readPathPattern(config, model);
  const store = {
    S3: config["bucket_name"],
    AzureBlob: `${config["account_name"]} ${config["container_name"]}`,
  };
  const name = store[destination_type as keyof typeof store];
  if (name === undefined) return undefined;
  const endpoint = String(config["endpoint_url"] ?? "")
    .toLowerCase()
    .replaceAll("/", " ")
    .trimEnd();
  return [`${endpoint} ${String(name)}`, ...readSteps(config["prefix"], model)];
}

/**
 * Whether two exports could write the same names: in an object store, intervals of different length and files of
 * different kinds have names of their own, except for the lists of files.
 */
export function writeSameNames(left: FilePlace, right: FilePlace): boolean {
  const [pattern, otherPattern] = [readPattern(left), readPattern(right)];
  if (left.destination_type !== right.destination_type || !pattern || !otherPattern) return false;
  if (!pathPatternsOverlap(pattern, otherPattern)) return false;
  if (left.destination_type === "File") return true;
  const [first, second] = [left, right].map(({ destination_config: config }) => ({
    ending: fileEnding({ file_format: files.file_format.otherwise, ...config }),
    isSplit: (config["max_file_size_mb"] ?? null) !== null,
  }));
  const areAlike = first!.isSplit ? second!.isSplit : !second!.isSplit && first!.ending === second!.ending;
  return left.interval === right.interval && areAlike;
}

export function pathPatternsOverlap(left: PathPattern, right: PathPattern): boolean {
  return left.length === right.length && left.every((step, i) => stepsMeet([...step], [...(right[i] ?? "")]));
}

/**
 * Compares only the parts before and after any text in a step: this may report patterns that never overlap, but misses
 * none that do.
 */
function stepsMeet(left: string[], right: string[]): boolean {
  const open = left.includes(anything) || right.includes(anything);
  if (!open && left.length !== right.length) return false;
  return headsMeet(left, right) && headsMeet(left.toReversed(), right.toReversed());
}

function headsMeet(left: string[], right: string[]): boolean {
  for (let at = 0; at < left.length && at < right.length; at++) {
    const [a = "", b = ""] = [left[at], right[at]];
    if (a === anything || b === anything) return true;
    if (!(a === b || (a === digit && /^[0-9]$/.test(b)) || (b === digit && /^[0-9]$/.test(a)))) return false;
  }
  return true;
}
