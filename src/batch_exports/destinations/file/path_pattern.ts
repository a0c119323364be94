// Where a File export writes, as a pattern: two exports whose patterns overlap could write the same names.

import type { Settings } from "../fields.ts";
import { replacePlaceholders } from "../objects/object_key.ts";

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
export function pathPatternOf({ path, prefix }: Settings, model: string): PathPattern {
  const filled = replacePlaceholders(String(prefix ?? ""), (name) =>
    name === "table" ? model : digit.repeat(digits[name] ?? 0) || anything,
  );
  const steps = `${path ?? ""}/${filled}`.normalize("NFC").toLowerCase().split("/");
  return steps.filter((step) => step !== "");
}

export function pathPatternsOverlap(one: PathPattern, other: PathPattern): boolean {
  return one.length === other.length && one.every((step, i) => stepsMeet([...step], [...(other[i] ?? "")]));
}

/**
 * Where a step has any text, only the parts before and after it are compared: this may report patterns that never
 * overlap, but misses none that do.
 */
function stepsMeet(one: string[], other: string[]): boolean {
  const open = one.includes(anything) || other.includes(anything);
  if (!open && one.length !== other.length) return false;
  return headsMeet(one, other) && headsMeet(one.toReversed(), other.toReversed());
}

function headsMeet(one: string[], other: string[]): boolean {
  for (let at = 0; at < one.length && at < other.length; at++) {
    const [a = "", b = ""] = [one[at], other[at]];
    if (a === anything || b === anything) return true;
    if (!partsMeet(a, b)) return false;
  }
  return true;
}

function partsMeet(one: string, other: string): boolean {
  return (
    one === other || (one === digit && /^[0-9]$/.test(other)) || (other === digit && /^[0-9]$/.test(one))
  );
}
