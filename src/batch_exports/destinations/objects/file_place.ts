// Where a File export writes, as a pattern: two exports whose patterns meet could write the same names.

import type { Settings } from "../config.ts";

/** Steps of a path. A step is a list of characters; a placeholder is a class of characters, or any text. */
export type FilePlace = readonly Step[];
type Step = readonly Part[];
/** One character, a digit, or any text without a slash. */
type Part = string | typeof digit | typeof anything;

const digit: unique symbol = Symbol("a digit");
const anything: unique symbol = Symbol("any text");

/** Parts of an interval's end with a fixed number of digits. */
const digits: Readonly<Record<string, number>> = { year: 4, month: 2, day: 2, hour: 2, minute: 2, second: 2 };

/**
 * The pattern of a checked configuration. `{table}` is filled in; names that some file systems treat as equal are
 * equal.
 */
export function filePlace({ path, prefix }: Settings, model: string): FilePlace {
  const filled = String(prefix ?? "").replaceAll("{table}", model);
  return [...stepsOf(String(path ?? "")).map(plain), ...stepsOf(filled).map(parsed)];
}

/** Whether the two may be the same folder. */
export function placesMeet(one: FilePlace, other: FilePlace): boolean {
  return one.length === other.length && one.every((step, i) => stepsMeet(step, other[i] ?? []));
}

function stepsOf(path: string): string[] {
  return path
    .normalize("NFC")
    .toLowerCase()
    .split("/")
    .filter((step) => step !== "");
}

/** The destination's path has no placeholders. */
function plain(step: string): Step {
  return [...step];
}

function parsed(step: string): Step {
  const parts: Part[] = [];
  for (let at = 0; at < step.length;) {
    const end = step[at] === "{" ? step.indexOf("}", at) : -1;
    if (end < 0) parts.push(step[at++] ?? "");
    else {
      const count = digits[step.slice(at + 1, end)] ?? 0;
      const filled: Part = count > 0 ? digit : anything;
      for (let n = 0; n < Math.max(1, count); n++) parts.push(filled);
      at = end + 1;
    }
  }
  return parts;
}

/**
 * Where a step has any text, only the parts before and behind it are compared: this may report two patterns that never
 * meet, but misses none.
 */
function stepsMeet(one: Step, other: Step): boolean {
  const open = one.includes(anything) || other.includes(anything);
  if (!open && one.length !== other.length) return false;
  return headsMeet(one, other) && headsMeet(one.toReversed(), other.toReversed());
}

function headsMeet(one: Step, other: Step): boolean {
  for (let at = 0; at < one.length && at < other.length; at++) {
    const a: Part = one[at] ?? "";
    const b: Part = other[at] ?? "";
    if (a === anything || b === anything) return true;
    if (!partsMeet(a, b)) return false;
  }
  return true;
}

function partsMeet(one: Part, other: Part): boolean {
  if (one === digit) return other === digit || isDigit(other);
  return other === digit ? isDigit(one) : one === other;
}

function isDigit(part: Part): boolean {
  return typeof part === "string" && part >= "0" && part <= "9";
}
