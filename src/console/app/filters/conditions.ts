// Filters on properties as a form has them: one below the other, each joined to those before it.

import { toFields } from "../values.ts";

/** Whose property: `event`, `person`, `session`, or `group:0` with the index of the groups' type. */
export type Owner = string;

export interface Condition {
  type: Owner;
  key: string;
  operator: string;
  /** One, or several of which any may match; none where the operator needs none. */
  values: string[];
  /**
   * "or": it or the one before must hold, which binds first. "else": it begins another alternative to all before.
   * Otherwise both must hold.
   */
  join?: "or" | "else" | undefined;
}

export const joins = [
  ["", "and"],
  ["or", "or"],
  ["else", "or else"],
] as const;

export const operators: readonly (readonly [operator: string, text: string])[] = [
  ["exact", "is"],
  ["is_not", "is not"],
  ["icontains", "contains"],
  ["not_icontains", "does not contain"],
  ["regex", "matches"],
  ["not_regex", "does not match"],
  ["gt", "is greater than"],
  ["gte", "is at least"],
  ["lt", "is less than"],
  ["lte", "is at most"],
  ["is_date_before", "is before"],
  ["is_date_after", "is after"],
  ["is_set", "is set"],
  ["is_not_set", "is not set"],
];

/** Operators that compare with several values. */
const severalValues = new Set(["exact", "is_not"]);

export const takesSeveral = (operator: string): boolean => severalValues.has(operator);

export function needsValue(operator: string): boolean {
  return operator !== "is_set" && operator !== "is_not_set";
}

export const noCondition: Condition = { type: "event", key: "", operator: "exact", values: [""] };

const owners = /^(?:event|person|session|group:\d)$/;

/** The index of an owner's type of groups; undefined of others. */
export function readGroupIndex(owner: Owner): number | undefined {
  return owner.startsWith("group:") ? Number(owner.slice(6)) : undefined;
}

/** The owner that a type and an index of the API name; undefined for others, such as cohorts. */
export function toOwner(type: unknown, groupIndex: unknown): Owner | undefined {
  const owner = type === "group" ? `group:${String(groupIndex)}` : (type ?? "event");
  return typeof owner === "string" && owners.test(owner) ? owner : undefined;
}

/** Filters of one query, and values of one filter. */
export const [conditionsMax, valuesMax] = [10, 20];

/** Sets another operator; for one that takes a single value, only the first is left. */
export function withOperator({ values, ...rest }: Condition, operator: string): Condition {
  const [first = ""] = values;
  const newValues = takesSeveral(operator) && values.length > 0 ? values : [first];
  return { ...rest, operator, values: needsValue(operator) ? newValues : [] };
}

interface Group {
  type: "AND" | "OR";
  values: object[];
}

export const isGroup = (filter: object): filter is Group => "values" in filter;

const toGroup = (type: Group["type"], values: object[]) =>
  values.length === 1 ? values[0]! : { type, values };

/** Without the conditions that `isLeft` says no of: where alternatives parted there they part at the next one. */
export function leaveOut(
  conditions: readonly Condition[],
  isLeft: (condition: Condition, i: number) => boolean,
): Condition[] {
  let isParted = false;
  return conditions.flatMap((condition, i) => {
    isParted ||= condition.join === "else";
    if (!isLeft(condition, i)) return [];
    const left: Condition = isParted ? { ...condition, join: "else" } : condition;
    isParted = false;
    return [left];
  });
}

/** Filters in the API's form, all of which must hold, without those that have no key yet. */
export function toProperties(conditions: readonly Condition[]): object[] {
  const alternatives: object[][][] = [];
  for (const condition of leaveOut(conditions, ({ key }) => key !== "")) {
    const last = alternatives.at(-1);
    if (!last || condition.join === "else") alternatives.push([[toFilter(condition)]]);
    else if (condition.join === "or") last.at(-1)!.push(toFilter(condition));
    else last.push([toFilter(condition)]);
  }
  const parts = alternatives.map((all) => all.map((some) => toGroup("OR", some)));
  if (parts.length <= 1) return parts[0] ?? [];
  return [{ type: "OR", values: parts.map((all) => toGroup("AND", all)) }];
}

function toFilter({ type, key, operator, values: [first = "", ...others] }: Condition): object {
  const filled = [first, ...others].filter((name) => name !== "");
  const value = takesSeveral(operator) ? (filled.length > 0 ? filled : [""]) : first;
  return { ...toType(type), key, operator, ...(needsValue(operator) && { value }) };
}

function toType(owner: Owner) {
  const index = readGroupIndex(owner);
  return index === undefined ? { type: owner } : { type: "group", group_type_index: index };
}

/** Undefined for filters that a form cannot show. @param saved a list all of which must hold, or a group. */
export function readConditions(saved: unknown): Condition[] | undefined {
  if (saved === undefined || saved === null) return [];
  return readLevel(saved, 1) ?? readLevel(saved, 0);
}

/** Groups as forms join them, the last one binds first. */
const levels = [
  ["OR", "else"],
  ["AND", undefined],
  ["OR", "or"],
] as const;

/** The conditions of a group of this level, which may have groups of this level and the next ones. */
function readLevel(saved: unknown, level: number): Condition[] | undefined {
  const [type, join] = levels[level] ?? [];
  if (type === undefined) return conditionsIn(saved);
  const group = Array.isArray(saved) ? { type: "AND", values: saved as unknown[] } : toFields(saved);
  const values = Array.isArray(group["values"]) && !("key" in group) ? group["values"] : undefined;
  if (!values || (group["type"] !== type && values.length > 1)) return readLevel(saved, level + 1);
  const found = values.map((value) => readLevel(value, level));
  const isWhole = found.every((some) => some !== undefined && (type === "AND" || some.length > 0));
  if (!isWhole || (values.length === 0 && group["type"] !== "AND")) return undefined;
  return found.flatMap(([first, ...others] = [], i) =>
    first ? [i > 0 && join ? { ...first, join } : first, ...others] : [],
  );
}

const fieldNames = new Set(["type", "key", "operator", "value", "group_type_index"]);

function conditionsIn(saved: unknown): Condition[] | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const fields = saved as Record<string, unknown>;
  const { key, operator = "exact", value } = fields;
  const type = toOwner(fields["type"], fields["group_type_index"]);
  const isPlain = Object.keys(fields).every((name) => fieldNames.has(name));
  const isKnown = operators.some(([text]) => text === operator);
  if (!isPlain || !isKnown || type === undefined || typeof key !== "string") return undefined;
  if (!needsValue(String(operator))) return [{ type, key, operator: String(operator), values: [] }];
  const values: unknown[] = Array.isArray(value) ? value : [value ?? ""];
  const most = takesSeveral(String(operator)) ? valuesMax : 1;
  const isWhole = values.every((item) => typeof item !== "object" && (item !== "" || values.length === 1));
  if (values.length < 1 || values.length > most || !isWhole) return undefined;
  return [{ type, key, operator: String(operator), values: values.map(String) }];
}

/** A filter in an address: a JSON list. */
export function conditionAddress({ type, key, operator, values, join }: Condition): string {
  return JSON.stringify([join ? `${join} ${type}` : type, key, operator, ...values]);
}

/** Texts that are no filter are left out. */
export function readAddressConditions(texts: readonly string[]): Condition[] {
  return texts.slice(0, conditionsMax).flatMap((text) => {
    try {
      const [owner = "", key, operator, ...value] = JSON.parse(text) as string[];
      const [, join, type = ""] = /^(?:(or|else) )?(.*)$/.exec(owner) ?? [];
      const found = owners.test(type) ? readConditions([{ ...toType(type), key, operator, value }]) : [];
      return (found ?? []).map((condition) => (join ? { ...condition, join: join as "or" } : condition));
    } catch {
      return [];
    }
  });
}

/** All of them as one text of an address; "" for none. */
export function conditionsText(conditions: readonly Condition[]): string {
  return conditions.length > 0 ? JSON.stringify(conditions.map(conditionAddress)) : "";
}

export function readTextConditions(text = ""): Condition[] {
  try {
    return readAddressConditions(JSON.parse(text || "[]") as string[]);
  } catch {
    return [];
  }
}
