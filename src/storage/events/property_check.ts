// Checks filters on properties in the form in which clients send them.

import { Fault } from "../../core/fault.ts";
import { storageLimits } from "../limits.ts";

export const operators = [
  "exact",
  "is_not",
  "icontains",
  "not_icontains",
  "regex",
  "not_regex",
  "gt",
  "gte",
  "lt",
  "lte",
  "is_set",
  "is_not_set",
  "is_date_exact",
  "is_date_before",
  "is_date_after",
  "between",
  "not_between",
  "in",
  "not_in",
] as const;

export type PropertyOperator = (typeof operators)[number];
export type PropertyValue = string | number | boolean;

/** A condition on one property of an event, or of its person. */
export interface PropertyCondition {
  type: "event" | "person";
  key: string;
  operator: PropertyOperator;
  /** One of these must match; none for is_set and is_not_set, two for between. */
  values: readonly PropertyValue[];
}

/** A group: all or any of its filters must match. */
interface PropertyGroup {
  type: "AND" | "OR";
  values: readonly PropertyFilter[];
}

export type PropertyFilter = PropertyCondition | PropertyGroup;

/**
 * What a request calls `properties`: a list of filters that must all hold, a group, or nothing.
 * Bounds: storageLimits.propertyFiltersMax filters, storageLimits.propertyValuesMax values each.
 * @param attr what the field is called in a refusal.
 * @throws Fault for what is malformed, and for what is not supported by name.
 */
export function checkPropertyFilters(value: unknown, attr = "properties"): PropertyFilter[] {
  if (value === undefined || value === null) return [];
  const budget = { left: storageLimits.propertyFiltersMax };
  if (isGroup(value)) return [checkGroup(value, attr, budget, 0)];
  if (!Array.isArray(value)) throw new Fault("not_a_list", "Expected a list of property filters.", { attr });
  return value.map((one: unknown, i) => checkFilter(one, `${attr}__${i}`, budget, 0));
}

/** The regular expressions in filters; only the engine can check them. */
export function patternsIn(filters: readonly PropertyFilter[]): string[] {
  return filters.flatMap((one) => {
    if (!("key" in one)) return patternsIn(one.values);
    return one.operator === "regex" || one.operator === "not_regex" ? one.values.map(String) : [];
  });
}

interface Budget {
  left: number;
}

function isGroup(value: unknown): value is { type: unknown; values: unknown } {
  return isDictionary(value) && Array.isArray(value["values"]) && !("key" in value);
}

function checkGroup(
  { type, values }: { type: unknown; values: unknown },
  attr: string,
  budget: Budget,
  depth: number,
): PropertyGroup {
  if (type !== "AND" && type !== "OR") {
    throw new Fault("invalid_choice", `"${brief(type)}" is not a valid choice.`, { attr: `${attr}__type` });
  }
  if (depth >= storageLimits.propertyGroupsDeepMax) {
    throw new Fault("invalid_input", "These groups are nested too deeply.", { attr });
  }
  const members = (values as unknown[]).map((one, i) =>
    checkFilter(one, `${attr}__values__${i}`, budget, depth + 1),
  );
  return { type, values: members };
}

function checkFilter(value: unknown, attr: string, budget: Budget, depth: number): PropertyFilter {
  if (isGroup(value)) return checkGroup(value, attr, budget, depth);
  if (!isDictionary(value)) {
    throw new Fault("not_a_dict", "Expected a property filter: an object with a key.", { attr });
  }
  if (budget.left-- === 0) {
    throw new Fault("max_length", `At most ${storageLimits.propertyFiltersMax} property filters are taken.`, {
      attr,
    });
  }
  const type = value["type"] ?? "event";
  if (type !== "event" && type !== "person") {
    const detail = `Property filters of type "${brief(type)}" are not supported; "event" and "person" are.`;
    throw new Fault("invalid_choice", detail, { attr: `${attr}__type` });
  }
  const key = value["key"];
  if (key === undefined) throw new Fault("required", "This field is required.", { attr: `${attr}__key` });
  if (typeof key !== "string" || key.length > storageLimits.propertyKeyCharsMax || key.includes("\0")) {
    throw new Fault("invalid_input", "Not a valid property name.", { attr: `${attr}__key` });
  }
  const operator = operatorOf(value["operator"] ?? "exact", `${attr}__operator`);
  return { type, key, operator, values: checkValues(operator, value["value"], `${attr}__value`) };
}

function operatorOf(value: unknown, attr: string): PropertyOperator {
  const plain = value === "min" ? "gte" : value === "max" ? "lte" : value;
  const found = operators.find((one) => one === plain);
  if (!found) throw new Fault("invalid_choice", `"${brief(value)}" is not a valid choice.`, { attr });
  return found;
}

function checkValues(operator: PropertyOperator, value: unknown, attr: string): PropertyValue[] {
  if (operator === "is_set" || operator === "is_not_set") return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (value === undefined || value === null || list.length === 0) {
    throw new Fault("required", "This filter needs a value.", { attr });
  }
  if (list.length > storageLimits.propertyValuesMax) {
    const detail = `Ensure this field has no more than ${storageLimits.propertyValuesMax} elements.`;
    throw new Fault("max_length", detail, { attr });
  }
  const values = list.map((one) => plainValue(one, attr));
  if (operator === "between" || operator === "not_between") {
    const [low, high] = values.map(numberOf);
    if (values.length === 2 && low !== undefined && high !== undefined && low <= high) return [low, high];
    throw new Fault("invalid_input", "Two numbers are needed, the smaller one first.", { attr });
  }
  if (single.has(operator) && values.length > 1) {
    throw new Fault("invalid_input", "This operator takes one value.", { attr });
  }
  if (numeric.has(operator)) {
    const number = numberOf(values[0]);
    if (number === undefined) throw new Fault("invalid_input", "A valid number is required.", { attr });
    return [number];
  }
  if (operator.startsWith("is_date") && !isDateValue(values[0])) {
    const shapes = "YYYY-MM-DD, YYYY-MM-DDThh:mm:ss with or without a zone, or like -7d";
    const detail = `A date of the years 1900 to 2299 is needed: ${shapes}.`;
    throw new Fault("invalid_input", detail, { attr });
  }
  return values;
}

const numeric: ReadonlySet<PropertyOperator> = new Set<PropertyOperator>(["gt", "gte", "lt", "lte"]);
const single: ReadonlySet<PropertyOperator> = new Set<PropertyOperator>([
  ...numeric,
  "is_date_exact",
  "is_date_before",
  "is_date_after",
]);

function plainValue(value: unknown, attr: string): PropertyValue {
  if (typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const fits = typeof value === "string" && value.length <= storageLimits.propertyValueCharsMax;
  if (fits && !value.includes("\0")) return value;
  throw new Fault("invalid_input", "A text, a number or a boolean is needed.", { attr });
}

function numberOf(value: PropertyValue | undefined): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** So many hours, days, weeks, months or years ago. */
export const relativeDate = /^-(\d{1,4})([hdwmy])$/;
const isoDate = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

function isDateValue(value: unknown): boolean {
  if (typeof value !== "string") return false;
  if (relativeDate.test(value)) return true;
  if (!isoDate.test(value)) return false;
  const day = value.slice(0, 10);
  // The years of a DateTime64; the engine changes any other year to one of these.
  if (day < "1900" || day >= "2300") return false;
  const [hour = 0, minute = 0, second = 0] = (value.slice(11).match(/\d\d/g) ?? []).map(Number);
  const at = new Date(`${day}T00:00:00Z`);
  const exists = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
  return exists && hour < 24 && minute < 60 && second < 60;
}

function isDictionary(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function brief(value: unknown): string {
  return String(typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 100);
}
