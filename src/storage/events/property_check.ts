// Checks filters on properties in the form in which clients send them.

import { refuseInput } from "../../core/fault.ts";
import { isDictionary } from "../../core/json/dictionary.ts";
import { wordsIn } from "../../core/words.ts";
import { storageLimits } from "../limits.ts";
import { groupIndexes } from "./event_columns.ts";
import { checkValues, operators, type PropertyOperator, type PropertyValue } from "./property_value.ts";
import { findRefusal, sessionExpressions } from "./session_property.ts";

type Owner =
  "event" | "event_metadata" | "person" | "group" | "session" | "element" | "recording" | "log_entry";

/** A condition on one property of an event, of its person or group, or of something else where that can be filtered. */
export interface PropertyCondition {
  type: Owner;
  key: string;
  operator: PropertyOperator;
  /** One of these must match; none for is_set and is_not_set, two for between. */
  values: readonly PropertyValue[];
  /** The index of the group's type; for a group's property only. */
  typeIndex?: number;
}

interface SqlCondition {
  type: "hogql";
  key: string;
  attr: string;
}

interface PropertyGroup {
  type: "AND" | "OR";
  values: readonly PropertyFilter[];
}

export type PropertyFilter = PropertyCondition | SqlCondition | PropertyGroup;

export interface FilterRules {
  /** A filter without a type is about an event where it may be, and otherwise about the first of these. */
  types: readonly (Owner | "hogql")[];
}

const filtersOfEvents: FilterRules = { types: ["event", "person", "group"] };
/** The rules of queries, which can read all types. */
export const filtersOfQueries: FilterRules = {
  types: ["event", "event_metadata", "person", "group", "session", "element", "hogql"],
};

/** The fields of PostHog's filters; `label` is for people. */
const filterFields = ["key", "value", "operator", "type", "label"];
const groupFields = ["type", "values"];
/** The index of the group's type, 0 to 4, in a filter on a group's property. */
const indexField = "group_type_index";

/**
 * Checks the `properties` of a request: a list of filters that must all match, a group, or nothing. Bounds:
 * storageLimits.propertyFiltersMax filters, storageLimits.propertyValuesMax values each.
 * @param attr the field's name in a refusal.
 * @throws Fault for malformed filters, and for unsupported ones by name.
 */
export function checkPropertyFilters(
  value: unknown,
  attr = "properties",
  rules: FilterRules = filtersOfEvents,
): PropertyFilter[] {
  if (value === undefined || value === null) return [];
  const budget = { left: storageLimits.propertyFiltersMax, rules };
  if (isGroup(value)) return [checkGroup(value, attr, budget, 0)];
  const list = isDictionary(value) && !("key" in value || "values" in value) ? listMembers(value) : value;
  if (!Array.isArray(list)) refuseInput("Expected a list of property filters.", attr, "not_a_list");
  return list.map((item: unknown, i) => checkFilter(item, `${attr}__${i}`, budget, 0));
}

/** PostHog's first form of filters: an object of values by name, which `__` and an operator may follow. */
function listMembers(value: Record<string, unknown>): unknown[] {
  return Object.entries(value).map(([name, member]) => {
    const [key, operator] = name.split("__");
    return { key, operator, value: member };
  });
}

export function expressionsIn(filters: readonly PropertyFilter[]): SqlCondition[] {
  return filters.flatMap((filter) => {
    if (filter.type === "hogql") return [filter];
    return "key" in filter ? [] : expressionsIn(filter.values);
  });
}

/** The regular expressions in filters; only the engine can check them. */
export function patternsIn(filters: readonly PropertyFilter[]): string[] {
  return filters.flatMap((filter) => {
    if (filter.type === "hogql") return [];
    if (!("key" in filter)) return patternsIn(filter.values);
    return filter.operator === "regex" || filter.operator === "not_regex" ? filter.values.map(String) : [];
  });
}

interface Budget {
  left: number;
  rules: FilterRules;
}

function isGroup(value: unknown): value is { type: unknown; values: unknown } {
  return isDictionary(value) && Array.isArray(value["values"]) && !("key" in value);
}

function checkGroup(
  value: { type: unknown; values: unknown },
  attr: string,
  budget: Budget,
  depth: number,
): PropertyGroup {
  const { type, values } = value;
  if (type !== "AND" && type !== "OR")
    refuseInput(`"${brief(type)}" is not a valid choice.`, `${attr}__type`, "invalid_choice");
  refuseOthers(value, groupFields, attr);
  if (depth >= storageLimits.propertyGroupsDeepMax) refuseInput("These groups are nested too deeply.", attr);
  const members = (values as unknown[]).map((item, i) =>
    checkFilter(item, `${attr}__values__${i}`, budget, depth + 1),
  );
  return { type, values: members };
}

function checkFilter(value: unknown, attr: string, budget: Budget, depth: number): PropertyFilter {
  if (isGroup(value)) return checkGroup(value, attr, budget, depth);
  if (!isDictionary(value))
    refuseInput("Expected a property filter: an object with a key.", attr, "not_a_dict");
  if (budget.left-- === 0)
    refuseInput(
      `At most ${storageLimits.propertyFiltersMax} property filters are allowed.`,
      attr,
      "max_length",
    );
  const { types } = budget.rules;
  const named = value["type"] ?? (types.includes("event") ? "event" : types[0]);
  const type = types.find((text) => text === named);
  if (type === undefined) {
    const typeList = types
      .map((text) => `"${text}"`)
      .join(", ")
      .replace(/, ("\w+")$/, " and $1");
    const are = types.length === 1 ? "is" : "are";
    const detail = `Property filters of type "${brief(named)}" are not supported; ${typeList} ${are}.`;
    refuseInput(detail, `${attr}__type`, "invalid_choice");
  }
  if (type === "hogql") return checkExpression(value, attr);
  const isOfGroup = type === "group";
  refuseOthers(value, isOfGroup ? [...filterFields, indexField] : filterFields, attr);
  const key = value["key"];
  if (key === undefined) refuseInput("This field is required.", `${attr}__key`, "required");
  if (typeof key !== "string" || key.length > storageLimits.propertyKeyCharsMax || key.includes("\0"))
    refuseInput("Not a valid property name.", `${attr}__key`);
  const refusal = type === "event" || type === "person" ? findRefusal(key) : undefined;
  if (refusal) refuseInput(refusal, `${attr}__key`);
  const operator = toOperator(value["operator"] ?? "exact", `${attr}__operator`);
  if (type !== "session" || types.includes("hogql")) refuseOtherKeys(type, key, attr);
  if (type === "element") checkElement(operator, attr);
  const operand = value["value"];
  // As at PostHog, a list without a value filters nothing.
  if (Array.isArray(operand) && operand.length === 0 && !/set|between/.test(operator))
    return { type: "AND", values: [] };
  const checked = checkValues(operator, operand, `${attr}__value`);
  const values = type === "session" && key === "$is_bounce" ? checked.map(bit) : checked;
  if (!isOfGroup) return { type, key, operator, values };
  return { type, key, operator, values, typeIndex: toTypeIndex(value[indexField], `${attr}__${indexField}`) };
}

/** Sessions have 1 and 0 for yes and no. */
function bit(value: PropertyValue): PropertyValue {
  return value === true || value === "true" ? "1" : value === false || value === "false" ? "0" : value;
}

/** The `value` of PostHog's SQL filters has no meaning. */
function checkExpression(value: Record<string, unknown>, attr: string): SqlCondition {
  refuseOthers(value, ["key", "value", "type", "label"], attr);
  const { key, value: given } = value;
  if (key === undefined) refuseInput("This field is required.", `${attr}__key`, "required");
  const isText = typeof key === "string" && key.trim() !== "" && !key.includes("\0");
  if (!isText || key.length > storageLimits.filterExpressionCharsMax)
    refuseInput(
      `An expression of SQL is needed, of ${storageLimits.filterExpressionCharsMax} characters at most.`,
      `${attr}__key`,
    );
  if (given !== undefined && given !== null && given !== "")
    refuseInput("A filter in SQL has its values in the expression.", `${attr}__value`);
  return { type: "hogql", key, attr: `${attr}__key` };
}

/** An event's own columns as text, by their names in filters; its groups are `$group_0` to `$group_4`. */
export const ownColumnTexts: Readonly<Record<string, string>> = {
  event: "toString(event)",
  distinct_id: "distinct_id",
  person_id: "toString(person_id)",
  uuid: "toString(uuid)",
  timestamp: "formatDateTime(timestamp, '%FT%TZ', 'UTC')",
};

export const ownEventKeys: readonly string[] = [
  ...Object.keys(ownColumnTexts),
  ...groupIndexes.map((index) => `$group_${index}`),
];

const ownKeys: Partial<Record<Owner, readonly string[]>> = {
  session: Object.keys(sessionExpressions),
  element: ["tag_name", "text", "href"],
  event_metadata: ownEventKeys,
};
const elementOperators: ReadonlySet<PropertyOperator> = new Set<PropertyOperator>(
  wordsIn("exact is_not icontains not_icontains regex not_regex is_set is_not_set"),
);

function refuseOtherKeys(type: Owner, key: string, attr: string): void {
  const known = ownKeys[type];
  if (!known || known.includes(key)) return;
  const what = type === "session" ? "a session" : type === "element" ? "an element" : "an event itself";
  refuseInput(`"${brief(key)}" is not supported of ${what}; ${known.join(", ")} are.`, `${attr}__key`);
}

function checkElement(operator: PropertyOperator, attr: string): void {
  if (elementOperators.has(operator)) return;
  refuseInput(`The operator "${operator}" is not supported of an element.`, `${attr}__operator`);
}

/** @throws Fault for a field that would be ignored; null counts as absent. */
function refuseOthers(value: object, fields: readonly string[], attr: string): void {
  const entry = Object.entries(value).find(([name, item]) => !fields.includes(name) && item !== null);
  if (!entry) return;
  const name = brief(entry[0]);
  refuseInput(`A property filter has no field "${name}"; it has ${fields.join(", ")}.`, `${attr}__${name}`);
}

function toTypeIndex(value: unknown, attr: string): number {
  const typeIndex = groupIndexes.find((item) => item === value);
  if (typeIndex !== undefined) return typeIndex;
  if (value === undefined || value === null) refuseInput("This field is required.", attr, "required");
  refuseInput("A type of groups has an index from 0 to 4.", attr);
}

function toOperator(value: unknown, attr: string): PropertyOperator {
  const plain = value === "min" ? "gte" : value === "max" ? "lte" : value;
  const found = operators.find((operator) => operator === plain);
  if (!found) refuseInput(`"${brief(value)}" is not a valid choice.`, attr, "invalid_choice");
  return found;
}

function brief(value: unknown): string {
  return String(typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 100);
}
