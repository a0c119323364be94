// Parameters that are lists: as JSON, as a single value, or given several times.

import { fieldFault } from "./field_fault.ts";
import { checkReference, checkText, type Rule } from "./field_rule.ts";
import { type Parameter, parameter } from "./query.ts";

/** Ids of other things, `[1,42]` or one of them. Ids that nobody has are answered: with nothing. */
export function referencesParameter(description: string, itemsMax: number): Parameter<number[] | undefined> {
  return listParameter(`${description} A JSON list, or one of them.`, itemsMax, checkReference);
}

/** Texts, `["a","b"]`, one of them, or several parameters. */
export function namesParameter(
  description: string,
  itemsMax: number,
  rule: Rule,
): Parameter<string[] | undefined> {
  const check = (value: unknown, path: string[]) => checkText(rule, value, path);
  return {
    ...listParameter(`${description} A JSON list, one of them, or several parameters.`, itemsMax, check),
    repeats: true,
  };
}

/** An empty list, or an empty text, is none: nothing is left out by it. */
function listParameter<Item>(
  description: string,
  itemsMax: number,
  check: (value: unknown, path: string[]) => Item,
): Parameter<Item[] | undefined> {
  const read = (query: URLSearchParams, name: string) => {
    const items = query.getAll(name).flatMap((text) => itemsIn(text, name));
    if (items.length > itemsMax) {
      throw fieldFault("max_length", `Ensure this field has no more than ${itemsMax} elements.`, [name]);
    }
    return items.length === 0 ? undefined : items.map((one) => check(one, [name]));
  };
  return { ...parameter(description, read), optional: true };
}

function itemsIn(text: string, name: string): unknown[] {
  if (text === "") return [];
  return jsonListIn(text, name) ?? [text];
}

/** The items of a JSON list; undefined for a text that is no JSON of several. @throws Fault for other JSON. */
export function jsonListIn(text: string, name: string): unknown[] | undefined {
  if (!text.startsWith("[") && !text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // Refused below.
  }
  throw fieldFault("invalid_input", "Expected a JSON list.", [name]);
}
