// Checks a whole body against a resource's schema. The first wrong field in the schema's order is refused; fields that
// the schema does not name are dropped, or refused where the schema is strict.

import type { TObject } from "typebox";
import { isDictionary } from "../../core/json/dictionary.ts";
import type { CreateInput, UpdateInput } from "./field.ts";
import { excerpt, fieldFault, type FieldPath, nameType } from "./field_fault.ts";
import {
  checkChoice,
  checkEmpty,
  checkFlag,
  checkJson,
  checkMoment,
  checkText,
  checkTimezone,
  checkUuid,
  type Rule,
} from "./field_rule.ts";
import { checkInteger, checkNumber, checkReference } from "./number_rule.ts";

/**
 * The purpose of a request. "make": every field without a default is required, the others get their defaults.
 * "replace": the same fields are required, the others stay. "change": no field is required.
 */
export type Purpose = "make" | "replace" | "change";

export type Input<Schema extends TObject, For extends Purpose> = For extends "make"
  ? CreateInput<Schema>
  : UpdateInput<Schema>;

/** @throws Fault with the code, the text and the field of the first mistake. */
export function checkFields<Schema extends TObject, For extends Purpose = "make">(
  schema: Schema,
  body: unknown,
  purpose?: For,
): Input<Schema, For> {
  if (body === null) throw fieldFault("null", "No data provided", []);
  return checkObject(schema as Rule, body, [], purpose ?? "make") as Input<Schema, For>;
}

function checkObject(rule: Rule, value: unknown, path: FieldPath, purpose: Purpose): Record<string, unknown> {
  if (!isDictionary(value)) {
    const detail = `Invalid data. Expected a dictionary, but got ${nameType(value)}.`;
    throw fieldFault("invalid_input", detail, path.length > 0 ? [...path, "non_field_errors"] : []);
  }
  const checked: Record<string, unknown> = {};
  const checkedLast: [string, Rule][] = [];
  for (const [name, field] of Object.entries(rule.properties ?? {})) {
    if (Object.hasOwn(value, name)) {
      if (field["x-empty"] !== undefined) checkEmpty(field, value[name], [...path, name]);
      else if (field["x-checked-last"]) checkedLast.push([name, field]);
      else checked[name] = checkValue(field, value[name], [...path, name], purpose);
    } else if (field.default !== undefined) {
      if (purpose === "make") checked[name] = structuredClone(field.default);
    } else if (purpose !== "change" && rule.required?.includes(name)) {
      // A misspelt name is refused before the one that it was meant for is reported as missing.
      refuseUnknown(rule, value, path);
      throw fieldFault("required", "This field is required.", [...path, name]);
    }
  }
  for (const [name, field] of checkedLast) {
    checked[name] = checkValue(field, value[name], [...path, name], purpose);
  }
  refuseUnknown(rule, value, path);
  return checked;
}

function refuseUnknown(rule: Rule, value: Record<string, unknown>, path: FieldPath): void {
  if (rule.additionalProperties !== false) return;
  const { properties = {}, "x-dropped": droppedNames = [] } = rule;
  // The key may be in a body; it was checked before.
  const dropped = path.length === 0 ? ["personal_api_key", ...droppedNames] : droppedNames;
  const isKnown = (name: string) => Object.hasOwn(properties, name) || dropped.includes(name);
  const unknown = Object.keys(value).find((name) => !isKnown(name));
  if (unknown === undefined) return;
  const names = Object.keys(properties).join(", ");
  const detail = `"${excerpt(unknown)}" is not a field of this request. There are: ${names}.`;
  throw fieldFault("invalid_input", detail, [...path, excerpt(unknown)]);
}

function checkValue(rule: Rule, value: unknown, path: FieldPath, purpose: Purpose): unknown {
  const { rule: plain, isNullable } = plainRule(rule);
  if (value === null) {
    // A schema without rules accepts anything, null too.
    if (isNullable || acceptsAny(plain)) return null;
    throw fieldFault("null", "This field may not be null.", path);
  }
  if (plain.enum) return checkChoice(plain.enum, value, path);
  if (plain["x-reference"]) return checkReference(value, path);
  switch (plain.type) {
    case "string":
      return checksByFormat[plain.format ?? ""]?.(value, path) ?? checkText(plain, value, path);
    case "integer":
      return checkInteger(plain, value, path);
    case "number":
      return checkNumber(plain, value, path);
    case "boolean":
      return checkFlag(value, path, isNullable);
    case "array":
      return checkList(plain, value, path, purpose);
    case "object":
      return plain.properties ? checkObject(plain, value, path, purpose) : checkDictionary(value, path);
    default:
      return checkJson(value, path);
  }
}

const checksByFormat: Record<string, (value: unknown, path: FieldPath) => string> = {
  "date-time": checkMoment,
  uuid: checkUuid,
  "iana-timezone": checkTimezone,
};

function checkList(rule: Rule, value: unknown, path: FieldPath, purpose: Purpose): unknown[] {
  if (!Array.isArray(value))
    throw fieldFault("not_a_list", `Expected a list of items but got type "${nameType(value)}".`, path);
  const { minItems = 0, maxItems = Infinity, items = {} } = rule;
  if (value.length < minItems) throw fieldFault("empty", "This list may not be empty.", path);
  if (value.length > maxItems)
    throw fieldFault("max_length", `Ensure this field has no more than ${maxItems} elements.`, path);
  return value.map((item: unknown, i) => checkValue(items, item, [...path, String(i)], purpose));
}

function checkDictionary(value: unknown, path: FieldPath): unknown {
  if (!isDictionary(value))
    throw fieldFault("not_a_dict", `Expected a dictionary of items but got type "${nameType(value)}".`, path);
  return checkJson(value, path);
}

/** The rule without its null, and whether it has one. */
export function plainRule(rule: Rule): { rule: Rule; isNullable: boolean } {
  if (!rule.anyOf) return { rule, isNullable: false };
  const alternatives = rule.anyOf.filter((item) => item.type !== "null");
  const isNullable = alternatives.length < rule.anyOf.length;
  const [only] = alternatives;
  if (only && alternatives.length === 1) return { rule: only, isNullable };
  return { rule: { enum: alternatives.map((alternative) => alternative.const) }, isNullable };
}

export function acceptsAny(rule: Rule): boolean {
  return rule.type === undefined && rule.enum === undefined;
}
