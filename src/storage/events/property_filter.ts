// Filters on properties, compiled to conditions over the JSON text in `properties`. Never puts a key or a value
// into a condition's text: both travel as parameters.

import { Fault } from "../../core/fault.ts";
import {
  type PropertyCondition,
  type PropertyFilter,
  type PropertyOperator,
  type PropertyValue,
  relativeDate,
} from "./property_check.ts";

export { checkPropertyFilters, patternsIn, type PropertyFilter } from "./property_check.ts";

export interface CompileOptions {
  /** What the rows are: events (with `properties` and `person_id`), or persons (with `properties`). */
  rows?: "events" | "persons";
  /** The moment that relative dates count from, in ms since 1970. */
  now?: number;
  /** The zone of dates that name none. */
  timezone?: string;
}

/**
 * A condition for rows of one project, with its parameters added to `params`, where `project_id` must be by then.
 * A broken regular expression fails as CANNOT_COMPILE_REGEXP when it runs.
 * A property that is absent or null is "not" anything: is_not, not_icontains, not_regex and not_in hold for it.
 * @param prefix sets these parameters' names apart from others.
 * @throws Fault invalid_input for an event's property where the rows are persons, or a relative date without `now`.
 */
export function compilePropertyFilters(
  filters: readonly PropertyFilter[],
  params: Record<string, unknown>,
  prefix: string,
  options: CompileOptions = {},
): string {
  const compiler: Compiler = { params, prefix, count: 0, options };
  return compileAll(compiler, filters, " AND ", "1");
}

/** Whether they can only be held against rows with `person_id`. */
export function readsPersons(filters: readonly PropertyFilter[]): boolean {
  return filters.some((one) => ("key" in one ? one.type === "person" : readsPersons(one.values)));
}

interface Compiler {
  params: Record<string, unknown>;
  prefix: string;
  count: number;
  options: CompileOptions;
}

function compileAll(
  compiler: Compiler,
  filters: readonly PropertyFilter[],
  joint: " AND " | " OR ",
  none: string,
): string {
  if (filters.length === 0) return none;
  const parts = filters.map((one) => {
    if ("key" in one) return compileOne(compiler, one);
    // A group of nothing asks for nothing.
    return compileAll(compiler, one.values, one.type === "AND" ? " AND " : " OR ", "1");
  });
  return `(${parts.join(joint)})`;
}

/** Adds a parameter and says how it is named in the text. */
function bind(compiler: Compiler, type: string, value: unknown): string {
  const name = `${compiler.prefix}${compiler.count++}`;
  compiler.params[name] = value;
  return `{${name}:${type}}`;
}

const negations: Partial<Record<PropertyOperator, PropertyOperator>> = {
  is_not: "exact",
  not_icontains: "icontains",
  not_regex: "regex",
  not_in: "in",
  is_not_set: "is_set",
};

function compileOne(compiler: Compiler, filter: PropertyCondition): string {
  const { rows = "events" } = compiler.options;
  if (rows === "persons" && filter.type === "event") {
    throw new Fault("invalid_input", "Persons can only be filtered by their own properties.");
  }
  const positive = negations[filter.operator];
  const yes = compilePositive(compiler, positive ? { ...filter, operator: positive } : filter);
  const not = positive ? "NOT " : "";
  if (rows === "persons" || filter.type === "event") return `${not}${yes}`;
  // Somebody of whom nothing is known is in no list of persons: it is the exception that is looked up.
  return `person_id ${not}IN (SELECT person_id FROM persons WHERE project_id = {project_id:UInt32} AND ${yes})`;
}

/** Numbers the engine's parser refuses, with the whole object around them: too many digits, or too big. */
const oversized = String.raw`([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})`;

/**
 * The property as text, null where it is absent or null: a text as itself, anything else as its JSON. In an object
 * that cannot be parsed, oversized numbers are put in quotes first; only such an object pays for it.
 * @param key an expression: the parameter that holds the property's name.
 */
export function propertyText(key: string): string {
  const read = (from: string) => `JSONExtract(${from}, ${key}, 'Nullable(String)')`;
  const plain = read("properties");
  const mended = read(String.raw`replaceRegexpAll(properties, '${oversized}', '\\1"\\2"')`);
  return `if(isNull(${plain}), if(JSONType(properties) = 'Object', NULL, ${mended}), ${plain})`;
}

function compilePositive(compiler: Compiler, { key, operator, values }: PropertyCondition): string {
  const text = propertyText(bind(compiler, "String", key));
  const number = `toFloat64OrNull(${text})`;
  const any = (each: (value: PropertyValue) => string) => `ifNull(${values.map(each).join(" OR ")}, 0)`;
  const compare = (sign: string) => `ifNull(${number} ${sign} ${bind(compiler, "Float64", values[0])}, 0)`;
  switch (operator) {
    case "exact":
    case "in":
      return compileExact(compiler, text, number, values);
    case "icontains":
      return any(
        (one) => `positionCaseInsensitiveUTF8(${text}, ${bind(compiler, "String", String(one))}) > 0`,
      );
    case "regex":
      return any((one) => `match(${text}, ${bind(compiler, "String", String(one))})`);
    case "gt":
      return compare(">");
    case "gte":
      return compare(">=");
    case "lt":
      return compare("<");
    case "lte":
      return compare("<=");
    case "between":
    case "not_between": {
      const [low, high] = values.map((one) => bind(compiler, "Float64", one));
      const within = `${number} BETWEEN ${low} AND ${high}`;
      return `ifNull(${operator === "between" ? within : `NOT (${within})`}, 0)`;
    }
    case "is_set":
      return `(${text} IS NOT NULL)`;
    default:
      return compileDate(compiler, text, operator, String(values[0]));
  }
}

/** Numbers are equal as numbers too: 1000 is what 1e3 says. */
function compileExact(
  compiler: Compiler,
  text: string,
  number: string,
  values: readonly PropertyValue[],
): string {
  const texts = bind(compiler, "Array(String)", values.map(String));
  const numbers = values.filter((one) => typeof one === "number");
  const same = `has(${texts}, ${text})`;
  if (numbers.length === 0) return `ifNull(${same}, 0)`;
  return `ifNull(${same} OR ifNull(has(${bind(compiler, "Array(Float64)", numbers)}, ${number}), 0), 0)`;
}

/**
 * Dates rest as text or as seconds or milliseconds since 1970. A day without an hour, asked for exactly, is all
 * of it.
 */
function compileDate(compiler: Compiler, text: string, operator: PropertyOperator, value: string): string {
  const zone = bind(compiler, "String", compiler.options.timezone ?? "UTC");
  // Of a text like "12" the engine would make a day of this month.
  const plausible = String.raw`match(${text}, '^(\\d{4}-\\d\\d-\\d\\d|\\d{9,13}(\\.\\d+)?$)')`;
  const date = `if(${plausible}, parseDateTime64BestEffortOrNull(${text}, 6, ${zone}), NULL)`;
  const bound = `parseDateTime64BestEffort(${bind(compiler, "String", absolute(compiler, value))}, 6, ${zone})`;
  if (operator === "is_date_before") return `ifNull(${date} < ${bound}, 0)`;
  if (operator === "is_date_after") return `ifNull(${date} > ${bound}, 0)`;
  if (value.length > 10 || relativeDate.test(value)) return `ifNull(${date} = ${bound}, 0)`;
  return `ifNull(${date} >= ${bound} AND ${date} < ${bound} + INTERVAL 1 DAY, 0)`;
}

function absolute({ options: { now } }: Compiler, value: string): string {
  const [, digits, unit] = relativeDate.exec(value) ?? [];
  if (digits === undefined) return value;
  if (now === undefined) throw new Fault("invalid_input", "Relative dates are not supported here.");
  const at = new Date(now);
  const count = Number(digits);
  if (unit === "h") at.setUTCHours(at.getUTCHours() - count);
  if (unit === "d" || unit === "w") at.setUTCDate(at.getUTCDate() - count * (unit === "w" ? 7 : 1));
  if (unit === "m" || unit === "y") {
    const day = at.getUTCDate();
    at.setUTCDate(1);
    at.setUTCMonth(at.getUTCMonth() - count * (unit === "y" ? 12 : 1));
    const last = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
    at.setUTCDate(Math.min(day, last));
  }
  // Beyond what a DateTime64 holds the engine finds a year with a sign, which it cannot read.
  return new Date(Math.max(at.getTime(), earliest)).toISOString();
}

const earliest = Date.UTC(1900, 0, 1);
