// The operators of property filters, and the values that each compares with.

import { refuseInput } from "../../core/fault.ts";
import { numberIn } from "../../core/json/dictionary.ts";
import { limits } from "../../core/limits.ts";
import { wordsIn } from "../../core/words.ts";
import { storageLimits } from "../limits.ts";
import { countSteps } from "./pattern_steps.ts";

export const operators = wordsIn(`
  exact is_not icontains not_icontains regex not_regex gt gte lt lte is_set is_not_set is_date_exact is_date_before
  is_date_after between not_between in not_in
`);

export type PropertyOperator = (typeof operators)[number];
export type PropertyValue = string | number | boolean;

/** @throws Fault for values that the operator cannot compare with. */
export function checkValues(operator: PropertyOperator, value: unknown, attr: string): PropertyValue[] {
  if (operator === "is_set" || operator === "is_not_set") return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (value === undefined || value === null || list.length === 0)
    refuseInput("This filter needs a value.", attr, "required");
  if (list.length > storageLimits.propertyValuesMax)
    refuseInput(
      `Ensure this field has no more than ${storageLimits.propertyValuesMax} elements.`,
      attr,
      "max_length",
    );
  const values = list.map((item) => plainValue(item, attr));
  if (operator === "between" || operator === "not_between") {
    const [low, high] = values.map(numberIn);
    if (values.length === 2 && low !== undefined && high !== undefined && low <= high) return [low, high];
    refuseInput("Two numbers are needed, the smaller one first.", attr);
  }
  if (single.has(operator) && values.length > 1) refuseInput("This operator takes one value.", attr);
  if (numeric.has(operator)) {
    const number = numberIn(values[0]);
    if (number === undefined) refuseInput("A valid number is required.", attr);
    return [number];
  }
  if (operator.endsWith("regex")) {
    const steps = values.reduce<number>((sum, pattern) => sum + countSteps(String(pattern)), 0);
    const detail = `Patterns with their repetitions have at most ${limits.patternStepsMax} steps.`;
    if (steps > limits.patternStepsMax) refuseInput(detail, attr);
  }
  if (operator.startsWith("is_date") && !isDateValue(values[0])) {
    const shapes = "YYYY-MM-DD, YYYY-MM-DDThh:mm:ss with or without a zone, or like -7d";
    refuseInput(`A date of the years 1900 to 2299 is needed: ${shapes}.`, attr);
  }
  return values;
}

const numeric = new Set<PropertyOperator>(wordsIn("gt gte lt lte"));
const single = new Set<PropertyOperator>([
  ...numeric,
  ...wordsIn("is_date_exact is_date_before is_date_after"),
]);

function plainValue(value: unknown, attr: string): PropertyValue {
  if (typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const fits = typeof value === "string" && value.length <= storageLimits.propertyValueCharsMax;
  if (fits && !value.includes("\0")) return value;
  refuseInput("A text, a number or a boolean is needed.", attr);
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
