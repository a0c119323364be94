// Placeholders in braces: values of the request, and its filters.

import type { ExpressionNode, PlaceholderNode } from "../tree.ts";
import { asMoment, truth } from "./compare.ts";
import { constantSql, nowSql, type SqlDraft, type SqlScope } from "./draft.ts";
import { quotedName, refuse, type Sql, suggestion } from "./value.ts";

/** `{name}`, `{variables.name}`, `{filters}`, `{filters.dateRange.from}`. @throws SqlProblem for what has no value. */
export function placeholderSql(node: PlaceholderNode, scope: SqlScope): Sql {
  if (node.expr.node !== "Field") refuse("A name stands in braces, as in {variables.country}.", node);
  const [first = "", second, ...rest] = node.expr.chain;
  const { draft } = scope;
  const { values, variables, filters } = draft.context;
  if (first === "filters" && !Object.hasOwn(values ?? {}, "filters")) {
    if (second === undefined) return filtersSql(node, scope);
    const isRangeEnd = second === "dateRange" && rest.length === 1 && ["from", "to"].includes(rest[0]!);
    if (!isRangeEnd)
      refuse("Of filters there are {filters}, {filters.dateRange.from} and {filters.dateRange.to}.", node);
    const moment = rest[0] === "from" ? filters?.from : filters?.to;
    if (moment === undefined && rest[0] === "to") return { sql: nowSql, type: "datetime", nullable: false };
    if (moment === undefined) return constantSql(draft, null);
    return asMoment(draft, { ...constantSql(draft, `${moment.replace(" ", "T")}Z`) }, false, node);
  }
  const [pairs, name] = first === "variables" && second !== undefined ? [variables, second] : [values, first];
  if (rest.length === 0 && pairs && Object.hasOwn(pairs, name)) return constantSql(draft, pairs[name], node);
  const hint = suggestion(name, Object.keys(pairs ?? {}));
  const where = pairs === variables && first === "variables" ? "variables" : "values";
  return refuse(`The request has no ${quotedName(name)} in its ${where}.${hint}`, node);
}

/** Whether a value contains `{filters.dateRange.from}` without such a date: a comparison with it leaves nothing out. */
export function hasNoStart(node: ExpressionNode, draft: SqlDraft): boolean {
  const { values, filters } = draft.context;
  switch (node.node) {
    case "Placeholder": {
      const path = node.expr.node === "Field" ? node.expr.chain.join(".") : "";
      return path === "filters.dateRange.from" && !filters?.from && !Object.hasOwn(values ?? {}, "filters");
    }
    case "Call":
      return node.args.some((arg) => hasNoStart(arg, draft));
    case "ArithmeticOperation":
      return hasNoStart(node.left, draft) || hasNoStart(node.right, draft);
    case "TypeCast":
    case "TryCast":
      return hasNoStart(node.expr, draft);
    default:
      return false;
  }
}

/** The filters apply to the first table that has their columns. */
function filtersSql(node: PlaceholderNode, scope: SqlScope): Sql {
  const filtered = scope.tables.find(({ read }) => read.isFiltered);
  if (!filtered) refuse("{filters} needs the table events or sessions.", node);
  return truth(filtered.read.filters(node).sql);
}
