// One value against one rule: what is accepted, what it becomes, and the error for a wrong one. The errors are those of
// Django REST framework, since scripts for that API read them.

import type { Fault } from "../../core/fault.ts";
import { readUuid } from "../../core/id.ts";
import { limits } from "../../core/limits.ts";
import { trimmed } from "../../core/trim.ts";
import { toEngineZone } from "../../storage/clickhouse/zones.ts";
import { httpLimits } from "../limits.ts";
import { excerpt, fieldFault, type FieldPath } from "./field_fault.ts";
import { toIsoTime } from "./field_time.ts";

export interface Rule {
  type?: string;
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Rule[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Rule;
  properties?: Record<string, Rule>;
  required?: readonly string[];
  /** false: names that `properties` does not have are refused; by default they are dropped. */
  additionalProperties?: unknown;
  /** Names that are dropped even then, since they change nothing. */
  "x-dropped"?: readonly string[];
  default?: unknown;
  "x-reference"?: boolean;
  /** Only an empty value is accepted; any other is refused with this text. */
  "x-empty"?: string;
  /** Further values that are accepted where only an empty one is, and mean the same. */
  "x-also"?: readonly unknown[];
  /** Its presence is checked in the schema's order, its content after all other fields. */
  "x-checked-last"?: boolean;
  /** The text is not trimmed, and numbers are refused. */
  "x-exact"?: boolean;
  /** The body may be this member alone. */
  "x-list"?: boolean;
  "x-line"?: boolean;
}

/** The text, trimmed; numbers become text. A text that is exact stays as it is. @throws Fault */
export function checkText(rule: Rule, value: unknown, path: FieldPath): string {
  const { minLength = 0, maxLength = Infinity, "x-exact": isExact = false } = rule;
  if (typeof value !== "string" && (isExact || typeof value !== "number")) {
    throw fieldFault("invalid_input", "Not a valid string.", path);
  }
  const untrimmed = rule["x-line"] ? String(value).replaceAll(lineBreaks, " ") : String(value);
  // No character has more than two UTF-16 units.
  if (untrimmed.length > 2 * maxLength + httpLimits.blanksAroundMax) throw tooLong(maxLength, path);
  const text = isExact ? untrimmed : trimmed(untrimmed);
  if (text === "") {
    if (minLength > 0) throw fieldFault("blank", "This field may not be blank.", path);
    return text;
  }
  // A text has no more code points than UTF-16 units: they are counted only past the bound.
  const length = text.length > maxLength || minLength > 1 ? [...text].length : text.length;
  if (length > maxLength) throw tooLong(maxLength, path);
  if (length < minLength)
    throw fieldFault("min_length", `Ensure this field has at least ${minLength} characters.`, path);
  refuseUnstorable(text, path);
  return text;
}

// oxlint-disable-next-line no-control-regex
const lineBreaks = /[\n\v\f\r\u0085\u2028\u2029]+/g;

function tooLong(maxLength: number, path: FieldPath): Fault {
  return fieldFault("max_length", `Ensure this field has no more than ${maxLength} characters.`, path);
}

/** Refuses NUL, which Postgres cannot store, and halves of surrogate pairs, which UTF-8 cannot encode. */
export function refuseUnstorable(text: string, path: FieldPath): void {
  if (text.includes("\0")) {
    throw fieldFault("null_characters_not_allowed", "Null characters are not allowed.", path);
  }
  if (text.isWellFormed()) return;
  const lone = /[\ud800-\udfff]/u.exec(text)?.[0] ?? "";
  const point = lone.charCodeAt(0).toString(16).toUpperCase();
  const detail = `Surrogate characters are not allowed: U+${point}.`;
  throw fieldFault("surrogate_characters_not_allowed", detail, path);
}

const truthy = new Set<unknown>([..."t T y Y yes Yes YES true True TRUE on On ON 1".split(" "), 1, true]);
const falsy = new Set<unknown>([..."f F n N no No NO false False FALSE off Off OFF 0".split(" "), 0, false]);
const nullish = new Set<unknown>(["null", "Null", "NULL", ""]);

/** @param isNullable whether the words for null are accepted. */
export function checkFlag(value: unknown, path: FieldPath, isNullable: boolean): boolean | null {
  if (truthy.has(value)) return true;
  if (falsy.has(value)) return false;
  if (isNullable && nullish.has(value)) return null;
  throw fieldFault("invalid_input", "Must be a valid boolean.", path);
}

const wrongTime =
  "Datetime has wrong format. Use one of these formats instead: " +
  "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].";

/** The moment as toIsoTime() spells it. @throws Fault */
export function checkMoment(value: unknown, path: FieldPath): string {
  const time = typeof value === "string" && value.length <= 64 ? toIsoTime(value) : undefined;
  if (time === undefined) throw fieldFault("invalid_input", wrongTime, path);
  return time;
}

/** The UUID in small letters. @throws Fault */
export function checkUuid(value: unknown, path: FieldPath): string {
  const uuid = typeof value === "string" ? readUuid(value) : undefined;
  if (uuid === undefined) throw fieldFault("invalid_input", `“${excerpt(value)}” is not a valid UUID.`, path);
  return uuid;
}

/** @throws Fault for what is none of the choices. */
export function checkChoice(choices: readonly unknown[], value: unknown, path: FieldPath): unknown {
  const word = typeof value === "string" ? value : excerpt(value);
  const choice = choices.find((item) => String(item) === word);
  if (choice === undefined) throw notAChoice(value, path);
  return choice;
}

/** Returns the name as it was sent. @throws Fault for what is no zone that queries can use. */
export function checkTimezone(value: unknown, path: FieldPath): string {
  if (typeof value !== "string" || toEngineZone(value) === undefined) throw notAChoice(value, path);
  return value;
}

function notAChoice(value: unknown, path: FieldPath): Error {
  return fieldFault("invalid_choice", `"${excerpt(value)}" is not a valid choice.`, path);
}

/**
 * Accepts null, an empty object, list or text, and the values of `x-also`. False is empty, unless true is among those.
 * @throws Fault
 */
export function checkEmpty(rule: Rule, value: unknown, path: FieldPath): undefined {
  const { "x-empty": refusal = "", "x-also": also = [] } = rule;
  const isEmpty =
    typeof value === "object"
      ? Object.keys(value ?? {}).length === 0
      : value === "" || (value === false && !also.includes(true));
  if (!isEmpty && !also.includes(value)) throw fieldFault("invalid_input", refusal, path);
}

/** Any JSON that can be stored, no deeper than its readers accept. */
export function checkJson(value: unknown, path: FieldPath): unknown {
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value: member, depth } = next;
    if (typeof member === "string") refuseUnstorable(member, path);
    if (typeof member !== "object" || member === null) continue;
    if (depth >= limits.jsonDepthMax)
      throw fieldFault("invalid_input", `Value is nested deeper than ${limits.jsonDepthMax} levels.`, path);
    if (!Array.isArray(member)) for (const name of Object.keys(member)) refuseUnstorable(name, path);
    for (const child of Object.values(member)) pending.push({ value: child, depth: depth + 1 });
  }
  return value;
}
