// The filters of a saved query in words, so that nobody takes its figures for those of all events.

import { type Fields, toFields, toList } from "../values.ts";
import { needsValue, operators, readGroupIndex, toOwner } from "./conditions.ts";

/** Sentences about the filters of the query, those of its events, and whatever else omits events. */
export function filterSentences(query: Fields): string[] {
  const all = filtersText(query["properties"]);
  const nodes = [...toList(query["series"]), ...listEntities(toFields(query["retentionFilter"]))].map(
    toFields,
  );
  const seriesTexts = nodes.flatMap((node, i) => {
    const text = filtersText(node["properties"]);
    const name = node["custom_name"] || node["event"] || node["id"] || "any event";
    const letter = nodes.length > 1 ? `${String.fromCharCode(65 + i)}, ` : "";
    return text ? [`${letter}${toPlainText(name)}: only where ${text}.`] : [];
  });
  const formulas = listFormulas(toFields(query["trendsFilter"]));
  return [
    ...(all ? [`Only where ${all}.`] : []),
    ...seriesTexts,
    ...(query["filterTestAccounts"] === true ? ["Without own visits."] : []),
    ...(formulas.length > 0 ? [`Formula: ${formulas.join("; ")}.`] : []),
  ];
}

const listEntities = ({ targetEntity, returningEntity }: Fields) =>
  [targetEntity, returningEntity].filter((item) => item !== undefined);

function listFormulas({ formula, formulas, formulaNodes }: Fields): string[] {
  const nodes = toList(formulaNodes).map((node) => toFields(node)["formula"]);
  return [nodes, toList(formulas), [formula]].find((some) => some.some(Boolean))?.map(toPlainText) ?? [];
}

/** Filters of any form that the API takes; "" for none. */
export function filtersText(filters: unknown, word = "and"): string {
  const texts = toList(filters ?? [])
    .concat(Array.isArray(filters) ? [] : [filters])
    .map((filter) => oneText(filter, word))
    .filter((text) => text !== "");
  return texts.join(`, ${word} `);
}

function oneText(filter: unknown, outer: string): string {
  const { type, key, values, operator = "exact", value, group_type_index } = toFields(filter);
  if (Array.isArray(values) && key === undefined) {
    const word = type === "OR" ? "or" : "and";
    const text = filtersText(values, word);
    return word !== outer && values.length > 1 ? `(${text})` : text;
  }
  if (key === undefined) return "";
  if (type === "hogql") return toPlainText(key);
  const owner = toOwner(type, group_type_index);
  const isGroup = owner !== undefined && readGroupIndex(owner) !== undefined;
  const name =
    owner === "event"
      ? toPlainText(key)
      : `the ${isGroup ? "group" : toPlainText(type)}’s ${toPlainText(key)}`;
  const word =
    operators.find(([item]) => item === operator)?.[1] ?? toPlainText(operator).replaceAll("_", " ");
  const texts = (Array.isArray(value) ? value : [value ?? ""]).map((item) => toPlainText(item) || "(empty)");
  return `${name} ${word}${needsValue(toPlainText(operator)) ? ` ${texts.join(" or ")}` : ""}`;
}

const toPlainText = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);
