// Numbers against a rule.

import { withoutLast } from "../../core/trim.ts";
import { excerpt, fieldFault, type FieldPath, nameType } from "./field_fault.ts";
import type { Rule } from "./field_rule.ts";

const numberCharsMax = 1000;
const digits = /^[+-]?[\d_]+$/;
/** An underscore that has no digit on one of its sides. */
const looseUnderscore = /^[+-]?_|__|_$/;

/** @throws Fault for what is no whole number, or is out of the rule's bounds. */
export function checkInteger(rule: Rule, value: unknown, path: FieldPath): number {
  refuseLongNumber(value, path);
  const number = integerIn(value);
  if (number === undefined) throw fieldFault("invalid_input", "A valid integer is required.", path);
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = rule;
  return withinBounds(number, minimum, maximum, path);
}

function refuseLongNumber(value: unknown, path: FieldPath): void {
  if (typeof value === "string" && value.length > numberCharsMax)
    throw fieldFault("max_string_length", "String value too large.", path);
}

function integerIn(value: unknown): number | undefined {
  // Minus zero is zero.
  if (typeof value === "number" && Number.isInteger(value)) return value + 0;
  if (typeof value !== "string") return undefined;
  // Reads one as Python does: single underscores between digits, and a fraction of zeros.
  const text = value.trim();
  const whole = text.includes(".") ? withoutLast(text, "0") : `${text}.`;
  const number = whole.slice(0, -1);
  if (!whole.endsWith(".") || !digits.test(number) || looseUnderscore.test(number)) return undefined;
  return Number(number.replaceAll("_", "")) + 0;
}

function withinBounds(number: number, minimum: number, maximum: number, path: FieldPath): number {
  if (number < minimum)
    throw fieldFault("min_value", `Ensure this value is greater than or equal to ${minimum}.`, path);
  if (number > maximum)
    throw fieldFault("max_value", `Ensure this value is less than or equal to ${maximum}.`, path);
  return number;
}

/** A number out of range is refused as a missing reference. */
export function checkReference(value: unknown, path: FieldPath): number {
  const number = typeof value === "string" && value.length > numberCharsMax ? undefined : integerIn(value);
  if (number === undefined)
    throw fieldFault(
      "incorrect_type",
      `Incorrect type. Expected pk value, received ${nameType(value)}.`,
      path,
    );
  if (number < 1 || number > 2_147_483_647)
    throw fieldFault("does_not_exist", `Invalid pk "${excerpt(value)}" - object does not exist.`, path);
  return number;
}

/** @throws Fault for what is no finite number, or is out of the rule's bounds. */
export function checkNumber(rule: Rule, value: unknown, path: FieldPath): number {
  refuseLongNumber(value, path);
  const number = typeof value === "string" && /^\s*[+-]?[\d.]/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) {
    throw fieldFault("invalid_input", "A valid number is required.", path);
  }
  const { minimum = -Infinity, maximum = Infinity } = rule;
  return withinBounds(number, minimum, maximum, path);
}
