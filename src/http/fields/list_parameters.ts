// Parameters that are lists: as JSON, as a single value, or given several times.

import { jsonIn } from "../../core/json/dictionary.ts";
import { fieldFault } from "./field_fault.ts";
import { checkText, type Rule } from "./field_rule.ts";
import { checkReference } from "./number_rule.ts";
import { type Parameter, parameter } from "./query.ts";

/** Ids of other things, `[1,42]` or one of them. Unknown ids select nothing. */
export function referencesParameter(description: string, itemsMax: number): Parameter<number[] | undefined> {
  return listParameter(`${description} A JSON list, or one of them.`, itemsMax, checkReference);
}

/** Texts, `["a","b"]`, one of them, or several parameters. */
export function namesParameter(description: string, itemsMax: number, rule: Rule) {
  const check = (value: unknown, path: string[]) => checkText(rule, value, path);
  return { ...listParameter(`${description} ${listForms}`, itemsMax, check), repeats: true };
}

const listForms = "A JSON list, one of them, or several parameters.";

/** Variant of namesParameter(), for texts that must not be trimmed. A wrong one is named by its index. */
export function textsParameter(
  description: string,
  { minItems = 0, maxItems, maxLength }: { minItems?: number; maxItems: number; maxLength: number },
): Parameter<string[]> {
  const read = (query: URLSearchParams, name: string) => {
    const values = query.getAll(name);
    const items = values.flatMap((text) => jsonListIn(text.trim(), name) ?? [text]);
    if (items.length > maxItems) throw tooMany(maxItems, name);
    if (values.length > 0 && items.length < minItems)
      throw fieldFault("blank", "This list may not be empty.", [name]);
    const rule = { minLength: 1, maxLength, "x-exact": true };
    return items.map((item, i) => checkText(rule, item, [`${name}__${i}`]));
  };
  return { ...parameter(`${description} ${listForms}`, read), repeats: true };
}

/** An empty list, or an empty text, does not filter. */
function listParameter<Item>(
  description: string,
  itemsMax: number,
  check: (value: unknown, path: string[]) => Item,
): Parameter<Item[] | undefined> {
  const read = (query: URLSearchParams, name: string) => {
    const texts = query.getAll(name).filter((text) => text !== "");
    const items = texts.flatMap((text) => jsonListIn(text, name) ?? [text]);
    if (items.length > itemsMax) throw tooMany(itemsMax, name);
    return items.length === 0 ? undefined : items.map((item) => check(item, [name]));
  };
  return { ...parameter(description, read), optional: true };
}

function tooMany(itemsMax: number, name: string) {
  return fieldFault("max_length", `Ensure this field has no more than ${itemsMax} elements.`, [name]);
}

/** The items of a JSON list; undefined for a text that begins no list or object. @throws Fault for other JSON. */
export function jsonListIn(text: string, name: string): unknown[] | undefined {
  if (!text.startsWith("[") && !text.startsWith("{")) return undefined;
  const value = jsonIn(text);
  if (Array.isArray(value)) return value;
  throw fieldFault("invalid_input", "Expected a JSON list.", [name]);
}
