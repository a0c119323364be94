// Answers a PathsQuery: how often each step of persons' paths followed another.

import { queryKind } from "../kind.ts";
import type { PathLink } from "../result.ts";
import { type QueryContext, readSpan } from "../store.ts";
import { checkPaths } from "./check.ts";
import { pathsModel } from "./model.ts";
import { pathPersonsText, pathRows } from "./store.ts";

export const pathsKind = queryKind({
  schema: pathsModel,
  result: "flow",
  check: checkPaths,
  title: ({ query: { pathsFilter } }) => {
    const { startPoint, endPoint } = pathsFilter ?? {};
    return `User paths${startPoint ? ` starting at ${startPoint}` : ""}${endPoint ? ` ending at ${endPoint}` : ""}`;
  },
  answer: async (context, checked) => {
    const scope = await buildScope(context, checked);
    const rows = await pathRows(context, scope);
    const links = rows.map(({ value, ...link }) => ({ ...link, value: Number(value) }));
    return { span: scope.span, results: withBeginning(links) };
  },
  persons: {
    takes: [],
    of: async (context, checked) => pathPersonsText(context, await buildScope(context, checked)),
  },
});

async function buildScope(context: QueryContext, checked: ReturnType<typeof checkPaths>) {
  const span = await readSpan(context, checked);
  const { query, filters, nameSql } = checked;
  return { filter: query.pathsFilter ?? {}, filters, span, nameSql };
}

/** The links whose paths are shown from their first step: of other paths, the earlier links are beyond the limit. */
function withBeginning(links: readonly PathLink[]): PathLink[] {
  const sources = Map.groupBy(links, ({ source }) => source);
  const waiting = [...sources.keys()].filter((source) => source.startsWith("1_"));
  const begun = new Set<string>();
  for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
    if (begun.has(source)) continue;
    begun.add(source);
    for (const { target } of sources.get(source) ?? []) waiting.push(target);
  }
  return links.filter(({ source }) => begun.has(source));
}
