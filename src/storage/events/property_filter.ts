// Compiles filters on properties to conditions over the JSON text in `properties`. Keys and values are parameters.

import { asStored, clickhouseTime, parseDate } from "../../core/dates.ts";
import { Fault } from "../../core/fault.ts";
import { quoteName } from "../clickhouse/statement.ts";
import { groupKeyAt, groupTypeAt, propertyColumns, readGroupIndex } from "./event_columns.ts";
import { ownColumnTexts, type PropertyCondition, type PropertyFilter } from "./property_check.ts";
import { type PropertyOperator, type PropertyValue, relativeDate } from "./property_value.ts";
import { sessionExpressions } from "./session_property.ts";

export {
  checkPropertyFilters,
  expressionsIn,
  type FilterRules,
  filtersOfQueries,
  patternsIn,
  type PropertyCondition,
  type PropertyFilter,
} from "./property_check.ts";

interface CompileOptions {
  /** Rows are events (with `properties`, groups and `person_id`), persons (`properties`) or sessions (`session_id`). */
  rows?: "events" | "persons" | "sessions";
  /** The moment to which relative dates refer, in ms since 1970. */
  now?: number;
  /** The project's time zone, as the engine knows it: that of dates which name none. */
  timezone: string;
  /** How the persons of a property are looked up; without it, persons have their `properties` in the row. */
  lookup?: PersonLookup;
  /** Compiles an SQL expression; without it there can be none. */
  expression?: (text: string) => string;
  /** Wraps the condition of one filter; by default it is unchanged. */
  read?: (condition: string) => string;
}

interface PersonLookup {
  /** The column of the rows that names their person. */
  column: string;
  /**
   * A statement with that of the persons whose property `key`, an expression, satisfies `holds`: a condition on
   * `properties`, JSON text of an object with this member.
   */
  of: (key: string, holds: string) => string;
  /** A statement with that of the persons of whom one id satisfies `holds`: a condition on `distinct_id`. */
  named: (holds: string) => string;
}

const personsOfEvents: PersonLookup = {
  column: "person_id",
  of: (key, holds) =>
    `SELECT person_id FROM person_values WHERE project_id = {project_id:UInt32} AND key = ${key} AND ${holds}`,
  named: (holds) =>
    `SELECT person_id FROM person_distinct_ids WHERE project_id = {project_id:UInt32} AND ${holds}`,
};

const listIds = (persons: string) =>
  `SELECT distinct_id FROM person_distinct_ids
   WHERE project_id = {project_id:UInt32} AND person_id GLOBAL IN (${persons})`;

const personsOfSessions: PersonLookup = {
  column: "distinct_id",
  of: (key, holds) => listIds(personsOfEvents.of(key, holds)),
  named: (holds) => listIds(personsOfEvents.named(holds)),
};

/**
 * A condition for rows of one project; its parameters are added to `params`, which must contain `project_id`.
 * An invalid regular expression fails with CANNOT_COMPILE_REGEXP when the query runs.
 * For a property that is absent or null, is_not, not_icontains, not_regex, not_between and not_in hold.
 * @param prefix distinguishes these parameters' names from others.
 * @throws Fault invalid_input for an event's or group's property where the rows are persons, or a relative date
 *   without `now`.
 */
export function compilePropertyFilters(
  filters: readonly PropertyFilter[],
  params: Record<string, unknown>,
  prefix: string,
  options: CompileOptions,
): string {
  const compiler: Compiler = { params, prefix, count: 0, options };
  return compileAll(compiler, filters, " AND ", "1");
}

/** Whether the filters need rows with `person_id`. */
export function readsPersons(filters: readonly PropertyFilter[]): boolean {
  return filters.some((filter) => {
    if (!("key" in filter)) return readsPersons(filter.values);
    return filter.type === "person" || (filter.type === "event_metadata" && filter.key === "person_id");
  });
}

/** Whether all filters are of these types. */
export function haveTypes(filters: readonly PropertyFilter[], types: readonly string[]): boolean {
  return filters.every((filter) =>
    "key" in filter ? types.includes(filter.type) : haveTypes(filter.values, types),
  );
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
  const parts = filters.map((filter) => {
    const { expression, read = (condition) => condition } = compiler.options;
    if (filter.type === "hogql") {
      if (expression) return expression(filter.key);
      throw new Fault("invalid_input", 'Filters of type "hogql" are not supported here.');
    }
    if ("key" in filter) return read(compileRows(compiler, filter));
    // An empty group filters nothing.
    return compileAll(compiler, filter.values, filter.type === "AND" ? " AND " : " OR ", "1");
  });
  return `(${parts.join(joint)})`;
}

/** Adds a parameter and returns its name as the statement writes it. */
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
  not_between: "between",
  is_not_set: "is_set",
};

/** A filter without its negation, and whether it had one. */
export function toPositive(filter: PropertyCondition): { positive: PropertyCondition; negated: boolean } {
  const operator = negations[filter.operator];
  return { positive: operator ? { ...filter, operator } : filter, negated: operator !== undefined };
}

/**
 * The condition of one filter for rows that have `properties` of their own, whatever they are; its parameters are added
 * to `params`, as compilePropertyFilters() does.
 */
export function compileOwnProperty(
  filter: PropertyCondition,
  params: Record<string, unknown>,
  prefix: string,
  options: Omit<CompileOptions, "rows">,
): string {
  return compilePropertyFilters([{ ...filter, type: "person" }], params, prefix, {
    ...options,
    rows: "persons",
  });
}

function compileRows(compiler: Compiler, filter: PropertyCondition): string {
  const { rows = "events", lookup } = compiler.options;
  if (rows === "persons" && filter.type !== "person")
    throw new Fault("invalid_input", "Persons can only be filtered by their own properties.");
  const { positive, negated } = toPositive(filter);
  if (filter.type === "element") {
    const name = compilePositive(compiler, "one", positive);
    return `${negated ? "NOT " : ""}arrayExists(one -> ${name}, ${texts[filter.key]!})`;
  }
  if (filter.type === "session") {
    // Moments are texts of UTC: as moments they need its sign.
    const isMoment = filter.operator.startsWith("is_date_") && filter.key.endsWith("_timestamp");
    const column = sessionExpressions[filter.key]!;
    const text = isMoment ? `concat(${column}, 'Z')` : column;
    const condition = compilePositive(compiler, `nullIf(${text}, '')`, positive);
    return `${rows === "sessions" ? "session_id" : sessionOfEvent} GLOBAL ${negated ? "NOT " : ""}IN (
      SELECT session_id FROM sessions WHERE project_id = {project_id:UInt32} AND ${condition})`;
  }
  const not = negated ? "NOT " : "";
  const persons = rows === "sessions" ? personsOfSessions : (lookup ?? personsOfEvents);
  if (filter.type === "person" && filter.key === "distinct_id") {
    // As at PostHog, each id of a person is one: a negated filter leaves the person out for any of them.
    return `${persons.column} GLOBAL ${not}IN (${persons.named(compilePositive(compiler, "distinct_id", positive))})`;
  }
  const key = bind(compiler, "String", filter.key);
  const isOfEvent = filter.type === "event" || filter.type === "event_metadata";
  const column = filter.type === "event_metadata" ? ownColumnTexts[filter.key] : undefined;
  const text = column ?? (isOfEvent ? eventPropertyText(filter.key, key) : propertyText(key));
  const yes = compilePositive(compiler, text, positive);
  if (isOfEvent || (rows === "persons" && !lookup)) return `${not}${yes}`;
  // A negated filter also matches events without such a group.
  if (filter.type === "group") {
    const type = groupTypeAt(filter.typeIndex!);
    return `${groupKeyAt(filter.typeIndex!)} GLOBAL ${not}IN (SELECT group_key FROM groups
      WHERE project_id = {project_id:UInt32} AND group_type = ${type} AND ${yes})`;
  }
  // A negated filter also matches persons without any property, who are in no list: the excluded persons are looked up.
  return `${persons.column} GLOBAL ${not}IN (${persons.of(key, yes)})`;
}

/** Numbers with too many digits, or too large ones, for which the engine's parser refuses the whole object. */
const oversized = String.raw`([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})`;

/**
 * The property as text, null where it is absent or null: a text as it is, anything else as JSON. In an object that
 * cannot be parsed, oversized numbers are quoted first; only such objects cost this.
 * @param key an expression: the parameter with the property's name, or several, the path to a member of it.
 */
export function propertyText(key: string): string {
  const read = (from: string) => `JSONExtract(${from}, ${key}, 'Nullable(String)')`;
  const [plain, quoted] = [read("properties"), read(quoteNumbers("properties"))];
  return `if(isNull(${plain}), if(JSONType(properties) = 'Object', NULL, ${quoted}), ${plain})`;
}

const quoteNumbers = (json: string) => String.raw`replaceRegexpAll(${json}, '${oversized}', '\\1"\\2"')`;

/** The object, with oversized numbers quoted where the engine could not parse it. @param json an expression. */
export function soundObject(json: string): string {
  return `if(JSONType(${json}) = 'Object', ${json}, ${quoteNumbers(json)})`;
}

/** The session of an event; empty without one. A negated filter also matches events without a session. */
export const sessionOfEvent = "ifNull(`$session_id`, '')";

/**
 * An event's property as text, as propertyText(): its column, where it has one. `$group_0` to `$group_4` are the keys
 * of its groups, which clients send by their types; without such a group, the client's own property of that name.
 * @param name the property's name. @param key an expression: the parameter with it.
 */
export function eventPropertyText(name: string, key: string): string {
  if (propertyColumns.includes(name)) return quoteName(name);
  const index = readGroupIndex(name);
  return index === undefined
    ? propertyText(key)
    : `coalesce(nullIf(${groupKeyAt(index)}, ''), ${propertyText(key)})`;
}

const signs = { gt: ">", gte: ">=", lt: "<", lte: "<=" };

function compilePositive(compiler: Compiler, text: string, { operator, values }: PropertyCondition): string {
  const number = `toFloat64OrNull(${text})`;
  const any = (each: (value: PropertyValue) => string) => `ifNull(${values.map(each).join(" OR ")}, 0)`;
  switch (operator) {
    case "exact":
    case "in":
      return compileExact(compiler, text, number, values);
    case "icontains":
      return any(
        (item) => `positionCaseInsensitiveUTF8(${text}, ${bind(compiler, "String", String(item))}) > 0`,
      );
    case "regex":
      return any((item) => `match(${text}, ${bind(compiler, "String", String(item))})`);
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return `ifNull(${number} ${signs[operator]} ${bind(compiler, "Float64", values[0])}, 0)`;
    case "between": {
      const [low, high] = values.map((item) => bind(compiler, "Float64", item));
      return `ifNull(${number} BETWEEN ${low} AND ${high}, 0)`;
    }
    case "is_set":
      return `(${text} IS NOT NULL)`;
    default:
      return compileDate(compiler, text, operator, String(values[0]));
  }
}

/** Numbers are also compared as numbers: 1000 equals 1e3. */
function compileExact(compiler: Compiler, text: string, number: string, values: readonly PropertyValue[]) {
  const texts = bind(compiler, "Array(String)", values.map(String));
  const numbers = values.filter((value) => typeof value === "number");
  const textMatches = `has(${texts}, ${text})`;
  if (numbers.length === 0) return `ifNull(${textMatches}, 0)`;
  return `ifNull(${textMatches} OR ifNull(has(${bind(compiler, "Array(Float64)", numbers)}, ${number}), 0), 0)`;
}

/**
 * Dates are stored as text, or as seconds or milliseconds since 1970. With is_date_exact, a day without an hour matches
 * the whole day.
 */
function compileDate(compiler: Compiler, text: string, operator: PropertyOperator, value: string): string {
  const zone = bind(compiler, "String", compiler.options.timezone);
  // The engine would read a text like "12" as a day of this month.
  const plausible = String.raw`match(${text}, '^(\\d{4}-\\d\\d-\\d\\d|\\d{9,13}(\\.\\d+)?$)')`;
  const date = `if(${plausible}, parseDateTime64BestEffortOrNull(${text}, 6, ${zone}), NULL)`;
  const bound = `parseDateTime64BestEffort(${bind(compiler, "String", absolute(compiler, value))}, 6, ${zone})`;
  if (operator === "is_date_before") return `ifNull(${date} < ${bound}, 0)`;
  if (operator === "is_date_after") return `ifNull(${date} > ${bound}, 0)`;
  if (value.length > 10 || relativeDate.test(value)) return `ifNull(${date} = ${bound}, 0)`;
  return `ifNull(${date} >= ${bound} AND ${date} < ${bound} + INTERVAL 1 DAY, 0)`;
}

function absolute({ options: { now } }: Compiler, value: string): string {
  if (!relativeDate.test(value)) return value;
  if (now === undefined) throw new Fault("invalid_input", "Relative dates are not supported here.");
  return `${clickhouseTime(asStored(parseDate(value, { now, timezone: "UTC" }, "exact")!))}Z`;
}

/** `tag.class:name="value"name="value";tag…`, quotes in values escaped; older clients send a list instead. */
const chain = "JSONExtractString(properties, '$elements_chain')";
const list = "JSONExtractArrayRaw(properties, '$elements')";
const quoted = String.raw`"((?:[^"\\\\]|\\\\.)*)"`;

/** The values of an attribute of a chain, with their escapes. */
const extractValues = (names: string): string => String.raw`arrayMap(
  value -> replaceRegexpAll(value, '\\\\(.)', '\\1'),
  extractAll(${chain}, '(?:[:"])(?:${names})=${quoted}')
)`;

/** Without its values, all dots, colons and semicolons of a chain are separators. */
const tags = String.raw`arrayMap(
  part -> extract(part, '^([^.:]*)'),
  if(${chain} = '', [], splitByChar(';', replaceRegexpAll(${chain}, '${quoted}', '')))
)`;

const extractMembers = (name: string): string =>
  `arrayFilter(value -> isNotNull(value), arrayMap(one -> JSONExtract(one, '${name}', 'Nullable(String)'), ${list}))`;

const texts: Readonly<Record<string, string>> = {
  tag_name: `arrayConcat(${tags}, ${extractMembers("tag_name")})`,
  text: `arrayConcat(${extractValues("text")}, ${extractMembers("$el_text")}, ${extractMembers("text")})`,
  href: `arrayConcat(${extractValues("href|attr__href")}, ${extractMembers("attr__href")})`,
};
