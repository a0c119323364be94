// The elements of an autocaptured event, as PostHog shows them, made from the list or the chain that the browser sent.

import { toMembers } from "../core/json/dictionary.ts";
import { eventLimits } from "./limits.ts";
import type { ShownElement } from "./model.ts";

/** Parses `$elements`: a list of objects with `tag_name`, `$el_text`, `classes`, `nth_child` and `attr__…`. */
export function parseElementList(json: string): ShownElement[] {
  const list: unknown = json === "" ? [] : JSON.parse(json);
  if (!Array.isArray(list)) return [];
  return list.slice(0, eventLimits.elementsMax).map((item: unknown, order) => {
    const node = toMembers(item);
    const attributes = Object.fromEntries(Object.entries(node).filter(([name]) => name.startsWith("attr__")));
    const classes = node["classes"] ?? node["attr__class"];
    return {
      text: toText(node["$el_text"] ?? node["text"]),
      tag_name: toText(node["tag_name"]),
      attr_class: Array.isArray(classes) ? classes.map(String) : splitClasses(toText(classes)),
      href: toText(attributes["attr__href"]),
      attr_id: toText(attributes["attr__id"]),
      nth_child: toNumber(node["nth_child"]),
      nth_of_type: toNumber(node["nth_of_type"]),
      attributes,
      order,
    };
  });
}

/** Parses `$elements_chain`: `tag.class.class:name="value"name="value";tag…`, with quotes in values escaped. */
export function parseElementChain(chain: string): ShownElement[] {
  const scanned = chain.slice(0, eventLimits.chainCharsMax);
  const elements: ShownElement[] = [];
  for (let at = 0; at < scanned.length && elements.length < eventLimits.elementsMax;) {
    const end = headEnd(scanned, at);
    const [tag = "", ...classes] = scanned.slice(at, end).split(".");
    const { values, next } = readValues(scanned, end);
    const attributes = Object.fromEntries(
      Object.entries(values).filter(([name]) => name.startsWith("attr__")),
    );
    elements.push({
      text: values["text"] ?? null,
      tag_name: tag,
      attr_class: classes.length > 0 ? classes.filter((item) => item !== "") : null,
      href: values["href"] ?? values["attr__href"] ?? null,
      attr_id: values["attr_id"] ?? values["attr__id"] ?? null,
      nth_child: toNumber(values["nth-child"]),
      nth_of_type: toNumber(values["nth-of-type"]),
      attributes,
      order: elements.length,
    });
    at = next + 1;
  }
  return elements;
}

/** Finds where tag and classes end: at a `;`, or at the colon before the first `name="`. */
function headEnd(chain: string, from: number): number {
  for (let at = from; at < chain.length; at++)
    if (chain[at] === ";" || (chain[at] === ":" && nameEnd(chain, at + 1) > 0)) return at;
  return chain.length;
}

/** Finds where a name before `="` ends; 0 when none begins here. */
function nameEnd(chain: string, from: number): number {
  let at = from;
  while (/[\w$-]/.test(chain[at] ?? "")) at++;
  return at > from && chain.startsWith('="', at) ? at : 0;
}

function readValues(chain: string, from: number): { values: Record<string, string>; next: number } {
  const values: Record<string, string> = {};
  let at = chain[from] === ":" ? from + 1 : from;
  for (let end = nameEnd(chain, at); end > 0; end = nameEnd(chain, at)) {
    let close = end + 2;
    while (close < chain.length && chain[close] !== '"') close += chain[close] === "\\" ? 2 : 1;
    values[chain.slice(at, end)] = chain.slice(end + 2, close).replaceAll('\\"', '"');
    at = close + 1;
  }
  const next = chain.indexOf(";", at);
  return { values, next: next < 0 ? chain.length : next };
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function toNumber(value: unknown): number | null {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

function splitClasses(text: string | null): string[] | null {
  return text === null ? null : text.split(" ").filter((name) => name !== "");
}
