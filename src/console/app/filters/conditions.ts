// Filters on properties as a form has them: of events and persons, all of them must hold.

export interface Condition {
  type: "event" | "person";
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

/** Filters of one question. */
export const conditionsMax = 10;

/** As the API takes them. Those without a key are not there yet. */
export function propertiesOf(conditions: readonly Condition[]) {
  return conditions
    .filter(({ key }) => key !== "")
    .map(({ type, key, operator, value }) => ({
      type,
      key,
      operator,
      ...(needsValue(operator) && { value: operator === "exact" || operator === "is_not" ? [value] : value }),
    }));
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

const known = new Set(["type", "key", "operator", "value"]);

function conditionsIn(saved: unknown): Condition[] | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const fields = saved as Record<string, unknown>;
  if (Array.isArray(fields["values"]) && !("key" in fields)) {
    return fields["type"] === "AND" ? conditionsOf(fields["values"]) : undefined;
  }
  const { type = "event", key, operator = "exact", value } = fields;
  const isPlain = Object.keys(fields).every((name) => known.has(name));
  const isKnown = operators.some(([one]) => one === operator) && (type === "event" || type === "person");
  if (!isPlain || !isKnown || typeof key !== "string") return undefined;
  const values: unknown[] = Array.isArray(value) ? value : [value ?? ""];
  if (needsValue(String(operator)) && (values.length !== 1 || typeof values[0] === "object"))
    return undefined;
  const text = needsValue(String(operator)) ? String(values[0]) : "";
  return [{ type: type as Condition["type"], key, operator: String(operator), value: text }];
}

export function conditionText({ type, key, operator, value }: Condition): string {
  const own = operators.find(([one]) => one === operator)?.[1] ?? operator;
  const name = type === "person" ? `the person’s ${key}` : key;
  return `${name} ${own}${needsValue(operator) ? ` ${value === "" ? "(empty)" : value}` : ""}`;
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
      return conditionsOf([{ type, key, operator, value }]) ?? [];
    } catch {
      return [];
    }
  });
}
