// Placeholders in braces: values of the request, and its filters.

import type { PlaceholderNode } from "../tree.ts";
import { momentOf, truth } from "./compare.ts";
import { constantSql, type SqlDraft, type SqlScope } from "./draft.ts";
import type { SqlTable } from "./lists/table.ts";
import { meant, quotedName, refuse } from "./problem.ts";
import { isTable } from "./scope.ts";
import type { Sql } from "./value.ts";

/** `{name}`, `{variables.name}`, `{filters}`, `{filters.dateRange.from}`. @throws SqlProblem for what has no value. */
export function placeholderSql(draft: SqlDraft, node: PlaceholderNode, scope: SqlScope): Sql {
  if (node.expr.node !== "Field") refuse("A name stands in braces, as in {variables.country}.", node);
  const [first = "", second, ...rest] = node.expr.chain;
  const { values, variables, filters } = draft.context;
  if (first === "filters" && !Object.hasOwn(values ?? {}, "filters")) {
    if (second === undefined) return filtersSql(node, scope);
    const bound = second === "dateRange" && rest.length === 1 && ["from", "to"].includes(rest[0]!);
    if (!bound)
      refuse("Of filters there are {filters}, {filters.dateRange.from} and {filters.dateRange.to}.", node);
    const moment = rest[0] === "from" ? filters?.from : filters?.to;
    if (moment === undefined) return constantSql(draft, null);
    return momentOf(draft, { ...constantSql(draft, `${moment.replace(" ", "T")}Z`) }, false, node);
  }
  const [known, name] = first === "variables" && second !== undefined ? [variables, second] : [values, first];
  if (rest.length === 0 && known && Object.hasOwn(known, name)) return constantSql(draft, known[name], node);
  const near = meant(name, Object.keys(known ?? {}));
  const where = known === variables && first === "variables" ? "variables" : "values";
  return refuse(`The request has no ${quotedName(name)} in its ${where}.${near}`, node);
}

/** The filters apply to the first table that has their columns. */
function filtersSql(node: PlaceholderNode, scope: SqlScope): Sql {
  const reads = scope.tables.map(({ read }) => read).filter(isTable);
  const found = reads.find(({ table }) => isFiltered(table));
  if (!found) refuse("{filters} needs the table events or sessions.", node);
  return truth(found.filters(node).sql);
}

/** Whether filters by time or by its properties apply to a table. */
function isFiltered({ columns, owner }: SqlTable): boolean {
  return (
    columns["timestamp"] !== undefined || columns["$start_timestamp"] !== undefined || owner === "person"
  );
}
