// Filters on properties as a form has them: all of them must hold.

/** Whose property: `event`, `person`, `session`, or `group:0` with the index of the groups' type. */
export type Owner = string;

export interface Condition {
  type: Owner;
  key: string;
  operator: string;
  value: string;
}

export const operators: readonly (readonly [operator: string, text: string])[] = [
  ["exact", "is"],
  ["is_not", "is not"],
  ["icontains", "contains"],
  ["not_icontains", "does not contain"],
  ["gt", "is greater than"],
  ["lt", "is less than"],
  ["is_set", "is set"],
  ["is_not_set", "is not set"],
];

export function needsValue(operator: string): boolean {
  return operator !== "is_set" && operator !== "is_not_set";
}

export const noCondition: Condition = { type: "event", key: "", operator: "exact", value: "" };

const owners = /^(?:event|person|session|group:\d)$/;

/** The index of an owner's type of groups; undefined of others. */
export function groupIndexOf(owner: Owner): number | undefined {
  return owner.startsWith("group:") ? Number(owner.slice(6)) : undefined;
}

/** The owner that a type and an index of the API name; undefined for others, such as cohorts. */
export function ownerOf(type: unknown, groupIndex: unknown): Owner | undefined {
  const owner = type === "group" ? `group:${String(groupIndex)}` : (type ?? "event");
  return typeof owner === "string" && owners.test(owner) ? owner : undefined;
}

/** Filters of one question. */
export const conditionsMax = 10;

/** As the API takes them. Those without a key are not there yet. */
export function propertiesOf(conditions: readonly Condition[]) {
  return conditions
    .filter(({ key }) => key !== "")
    .map(({ type, key, operator, value }) => ({
      ...typeOf(type),
      key,
      operator,
      ...(needsValue(operator) && { value: operator === "exact" || operator === "is_not" ? [value] : value }),
    }));
}

function typeOf(owner: Owner) {
  const index = groupIndexOf(owner);
  return index === undefined ? { type: owner } : { type: "group", group_type_index: index };
}

/** Undefined for filters that say more than a form can. @param saved a list, or groups all of which must hold. */
export function conditionsOf(saved: unknown): Condition[] | undefined {
  if (saved === undefined || saved === null) return [];
  if (Array.isArray(saved)) {
    const found = saved.map(conditionsIn);
    return found.every((some) => some !== undefined) ? found.flat() : undefined;
  }
  return conditionsIn(saved);
}

const known = new Set(["type", "key", "operator", "value", "group_type_index"]);

function conditionsIn(saved: unknown): Condition[] | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const fields = saved as Record<string, unknown>;
  if (Array.isArray(fields["values"]) && !("key" in fields)) {
    return fields["type"] === "AND" ? conditionsOf(fields["values"]) : undefined;
  }
  const { key, operator = "exact", value } = fields;
  const type = ownerOf(fields["type"], fields["group_type_index"]);
  const isPlain = Object.keys(fields).every((name) => known.has(name));
  const isKnown = operators.some(([one]) => one === operator);
  if (!isPlain || !isKnown || type === undefined || typeof key !== "string") return undefined;
  const values: unknown[] = Array.isArray(value) ? value : [value ?? ""];
  if (needsValue(String(operator)) && (values.length !== 1 || typeof values[0] === "object"))
    return undefined;
  const text = needsValue(String(operator)) ? String(values[0]) : "";
  return [{ type, key, operator: String(operator), value: text }];
}

/** In an address: a list for each. */
export function conditionAddress({ type, key, operator, value }: Condition): string {
  return JSON.stringify([type, key, operator, value]);
}

/** What is no condition is left out. */
export function conditionsOfAddress(texts: readonly string[]): Condition[] {
  return texts.slice(0, conditionsMax).flatMap((text) => {
    try {
      const [type, key, operator, value] = JSON.parse(text) as string[];
      return owners.test(type ?? "")
        ? (conditionsOf([{ ...typeOf(type!), key, operator, value }]) ?? [])
        : [];
    } catch {
      return [];
    }
  });
}
