// Columns of lists that PostHog has beside SQL: each is made of several expressions.

import { jsonIn } from "../../core/json/dictionary.ts";

/** A column that is no SQL: the columns that are read for it, and the cell made of them. */
export interface MadeColumn {
  reads: readonly string[];
  cell: (...read: unknown[]) => unknown;
}

/** The columns of a list: without any, whole rows. */
export const readSelect = ({ select }: { select: string[] }) => (select.length > 0 ? select : ["*"]);

/** The value of a JSON text; a text that is no JSON stays a text. */
export function parseJson(text: string): unknown {
  if (text === "") return null;
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

/** A column of objects with these members, each of an expression, or of the column of its name. */
export function objectColumn(members: readonly string[] | Readonly<Record<string, string>>): MadeColumn {
  const reads = Object.values<string>(members);
  const names = Array.isArray(members) ? reads : Object.keys(members);
  const toMember = (name: string, value: unknown): unknown =>
    name === "properties" ? (parseJson(typeof value === "string" ? value : "") ?? {}) : value;
  return {
    reads,
    cell: (...read) => Object.fromEntries(names.map((name, i) => [name, toMember(name, read[i])])),
  };
}

/** SQL of a person's name: the first of PostHog's properties for it that is not empty. */
export function displayNameText(properties: string, otherwise: string): string {
  const names = ["email", "Email", "name", "Name", "username", "Username"];
  return `coalesce(${names.map((name) => `nullIf(${properties}.${name}, '')`).join(", ")}, ${otherwise})`;
}
