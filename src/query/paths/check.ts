// The names of a path's steps in SQL, where a query has an expression or rules for them.

import { checkFilters } from "../parts/figure.ts";
import type { PathsQuery } from "./model.ts";

/** Whether events of a kind are steps with its own name, as at PostHog: without kinds, all that are not left out. */
export function isAsked({ includeEventTypes, excludeEvents }: PathsFilter, type: PathType): boolean {
  const types = includeEventTypes ?? [];
  return types.length > 0 ? types.includes(type) : !(excludeEvents ?? []).includes(type);
}

export type PathsFilter = NonNullable<PathsQuery["pathsFilter"]>;
type PathType = NonNullable<PathsFilter["includeEventTypes"]>[number];

export function checkPaths(query: PathsQuery, attr: string) {
  const filter = query.pathsFilter ?? {};
  const expression = isAsked(filter, "hogql") ? (filter.pathsHogQLExpression?.trim() ?? "") : "";
  const rules = (filter.localPathCleaningFilters ?? []).filter(({ regex }) => regex);
  const at = `${attr}__pathsFilter`;
  const nameSql = expression || rules.length > 0 ? stepName(filter, expression || "event", rules) : undefined;
  // The expression is read alone first: what is wrong in it is not a fault of the text around it.
  const maths = [
    ...(expression ? [{ text: expression, attr: `${at}__pathsHogQLExpression`, isShown: true }] : []),
    ...(nameSql === undefined ? [] : [{ text: nameSql, attr: `${at}__localPathCleaningFilters` }]),
  ];
  return { ...checkFilters(query, attr), maths, nameSql };
}

type Rules = NonNullable<PathsFilter["localPathCleaningFilters"]>;

function stepName(filter: PathsFilter, expression: string, rules: Rules): string {
  const own = ["$pageview", "$screen"] as const;
  const names = {
    $pageview: replaced("ifNull(properties.$current_url, '')", "(.)/$", String.raw`\1`),
    $screen: "properties.$screen_name",
  };
  const asked = own
    .filter((type) => isAsked(filter, type))
    .map((type) => `event = '${type}', ${names[type]}, `);
  const name = `ifNull(multiIf(${asked.join("")}1, toString((${expression}\n)), ''), '')`;
  return rules.reduce((text, { regex, alias }) => replaced(text, regex!, alias ?? ""), name);
}

const replaced = (name: string, pattern: string, by: string): string =>
  `replaceRegexpAll(${name}, ${quoted(pattern)}, ${quoted(by)})`;

const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
