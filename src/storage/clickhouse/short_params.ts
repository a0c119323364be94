// Splits parameters of statements: ClickHouse refuses a form field of more than 128 KiB (http_max_field_value_size,
// which a request cannot raise).

import { cutPortions } from "../portions.ts";
import { clickhouseLimits } from "./limits.ts";

/**
 * Splits each list and text of a statement of more than clickhouseLimits.clickhouseParamBytesMax bytes into several
 * parameters, joined by `arrayConcat({name__0:Type}, …)`, or `concat(…)` for a text.
 */
export function withShortParams(text: string, params: Record<string, unknown>) {
  const long = Object.entries(params).filter(
    ([, value]) => measureValue(value) > clickhouseLimits.clickhouseParamBytesMax,
  );
  if (long.length === 0) return { text, params };
  let shortened = text;
  const all = { ...params };
  for (const [name, value] of long) {
    const parts =
      typeof value === "string"
        ? textParts(value)
        : cutPortions(value as unknown[], memberSize, listBytesMax);
    if (parts.length < 2) continue;
    delete all[name];
    for (const [i, part] of parts.entries()) all[`${name}__${i}`] = part;
    const join = typeof value === "string" ? "concat" : "arrayConcat";
    shortened = replacePlaceholders(shortened, name, (type) => {
      const placeholders = parts.map((_, i) => `{${name}__${i}:${type}}`);
      return `${join}(${placeholders.join(", ")})`;
    });
  }
  return { text: shortened, params: all };
}

/** Every `{name:Type}` of the statement; types contain no braces. */
function replacePlaceholders(text: string, name: string, replacement: (type: string) => string): string {
  const [first = "", ...rest] = text.split(`{${name}:`);
  return rest.reduce((before, after) => {
    const end = after.indexOf("}");
    return `${before}${replacement(after.slice(0, end))}${after.slice(end + 1)}`;
  }, first);
}

/** An upper bound of a value's bytes as a parameter: three for a UTF-16 unit, two for an escaped one. */
function measureValue(value: unknown): number {
  if (typeof value === "string") return value.length * 3;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + memberSize(item), 2);
  return 0;
}

function memberSize(value: unknown): number {
  // Quotes and a comma; a number has at most 24 characters.
  return typeof value === "string" ? value.length * 3 + 3 : 27;
}

/** Without two brackets. */
const listBytesMax = clickhouseLimits.clickhouseParamBytesMax - 2;

function textParts(text: string): string[] {
  const parts: string[] = [];
  const unitsMax = Math.floor(clickhouseLimits.clickhouseParamBytesMax / 3);
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + unitsMax);
    // A surrogate pair is not split.
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to--;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
