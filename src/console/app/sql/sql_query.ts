// SQL as it runs and as it is saved, and the position of an error in it.

import { type Fields, toFields, unwrapQuery } from "../values.ts";

export const displays = [
  ["ActionsTable", "Table"],
  ["ActionsLineGraph", "Line"],
  ["ActionsBar", "Bars"],
] as const;

/** A saved query in SQL: its whole node, and its text. */
interface SavedSql {
  node: Fields;
  text: string;
  display: string;
}

/** Undefined for other kinds of queries. */
export function readSavedSql(query: unknown): SavedSql | undefined {
  const node = toFields(query);
  const { kind, query: text } = unwrapQuery(query);
  if (kind !== "HogQLQuery" || typeof text !== "string") return undefined;
  const display = node["kind"] === "DataVisualizationNode" ? node["display"] : undefined;
  return { node, text, display: typeof display === "string" ? display : "ActionsTable" };
}

/** The query that runs: the saved one with another text. */
export function sourceWith(saved: SavedSql | undefined, text: string): Fields {
  return { ...unwrapQuery(saved?.node), kind: "HogQLQuery", query: text };
}

/** The query that is saved, in the node in which PostHog's app saves SQL. */
export function nodeWith(saved: SavedSql | undefined, text: string, display: string): Fields {
  const isNode = saved?.node["kind"] === "DataVisualizationNode";
  return {
    ...(isNode && saved.node),
    kind: "DataVisualizationNode",
    source: sourceWith(saved, text),
    display,
  };
}

export interface ErrorRange {
  start: number;
  end: number;
}

/** The word at the position in an error's message, `(Line 2, column 8.)`, as offsets in the text. */
export function errorRangeIn(message: string, text: string): ErrorRange | undefined {
  const [, line, column] = /\(Line (\d+), column (\d+)\.\)$/.exec(message) ?? [];
  if (line === undefined || column === undefined) return undefined;
  const lines = text.split("\n");
  const errorLine = lines[Number(line) - 1] ?? "";
  const above = lines.slice(0, Number(line) - 1).reduce((sum, name) => sum + name.length + 1, 0);
  // The API counts characters, a text area halves of surrogate pairs.
  const start = above + [...errorLine].slice(0, Number(column) - 1).join("").length;
  const word = /^[\w$.]+/.exec(text.slice(start))?.[0] ?? text.slice(start, start + 1);
  return {
    start: Math.min(start, text.length),
    end: Math.min(start + Math.max(1, word.length), text.length),
  };
}
