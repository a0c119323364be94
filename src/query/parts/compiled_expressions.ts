// Reads and compiles the expressions of SQL that a query has, before it runs.

import { refuseInput } from "../../core/fault.ts";
import { wordsIn } from "../../core/words.ts";
import { quoteName } from "../../storage/clickhouse/statement.ts";
import { propertyColumns } from "../../storage/events/event_columns.ts";
import { queryLimits } from "../limits.ts";
import { condition } from "../sql/compile/compare.ts";
import { compileOverEvents } from "../sql/compile/compile.ts";
import { isAggregated } from "../sql/compile/lists/aggregates.ts";
import type { Sql } from "../sql/compile/value.ts";
import { findPropertyTypes } from "../sql/property_types.ts";
import { admit, parseText, sqlFault, type TextReader } from "../sql/run.ts";
import type { ExpressionNode } from "../sql/tree.ts";
import { finiteNumber, type QueryContext, throwSqlFailure } from "../store.ts";

export interface QueryExpression {
  text: string;
  /** Its name in a fault. */
  attr: string;
  /** Whether it is one number of many events, not a value of each. */
  isAggregate?: boolean;
  /** Whether its values are in the result. */
  isShown?: boolean;
}

/** Columns of stored events that statements of queries read. */
const exposed = [
  ...wordsIn("uuid project_id event distinct_id properties timestamp created_at group_types group_keys"),
  ...propertyColumns.map(quoteName),
];

/**
 * The context for a query with these expressions.
 * @throws Fault for what is wrong in one of them, named by it, and for a scope that the key does not have.
 */
export async function withExpressions(
  context: QueryContext,
  expressionList: readonly QueryExpression[],
  attr: string,
): Promise<QueryContext> {
  const [first] = expressionList;
  if (!first) return context;
  const trees = await parseTrees(context, expressionList, attr);
  const nodes = [...trees.keys()];
  const { project_id, timezone, weekStart, groupTypes, now } = context;
  const propertyType = await findPropertyTypes(context, nodes);
  const sql = { project_id, timezone, weekStart, groupTypes, now, text: "", propertyType, names: "s" };
  const compiled = compileOverEvents(nodes, exposed, sql, (thrown, tree) => {
    const { text, attr: at } = trees.get(tree)!;
    throw sqlFault(thrown, at, text);
  });
  const ownAttr = expressionList.length === 1 ? first.attr : attr;
  const failed = (thrown: unknown): never => {
    throw sqlFault(thrown, ownAttr);
  };
  await admit(context, compiled).catch(failed);
  const { rowsWithPersons, rows, expressions, parameters } = compiled;
  const byText = new Map(nodes.map((tree, i) => [trees.get(tree)!.text, expressions[i]!]));
  const of = (text: string): Sql => {
    const expression = byText.get(text);
    if (!expression) throw new Error("an expression was not compiled before the query began");
    return expression;
  };
  return {
    ...context,
    run: (text, params) => context.run<never>(text, params).catch(throwSqlFailure).catch(failed),
    expressions: {
      rows: (withPersons) => (withPersons ? rowsWithPersons : rows),
      columns: compiled.columns,
      params: parameters,
      condition: (text) => condition(of(text)),
      value: (text) => of(text).text ?? `toString(${of(text).sql})`,
      number: (text) => finiteNumber(`toString(${of(text).sql})`),
    },
  };
}

/** The trees of expressions. @throws Fault for what is wrong in one, named by it. */
export async function parseTrees(
  reader: TextReader,
  expressionList: readonly QueryExpression[],
  attr: string,
): Promise<Map<ExpressionNode, QueryExpression>> {
  const texts = new Map(expressionList.map((item) => [item.text, item]));
  refuseLong([...texts.keys()], "query", attr);
  const trees = new Map<ExpressionNode, QueryExpression>();
  for (const item of expressionList) {
    const tree = await parseText(reader, item.text, "expression", item.attr);
    refuseKind(tree, item);
    if (texts.get(item.text) === item) trees.set(tree, item);
  }
  return trees;
}

/** @throws Fault for expressions that are too long together. */
export function refuseLong(texts: readonly string[], what: "query" | "list", attr: string): void {
  if (texts.reduce((sum, { length }) => sum + length, 0) <= queryLimits.expressionsCharsMax) return;
  const detail = `The expressions of a ${what} may have ${queryLimits.expressionsCharsMax} characters together.`;
  refuseInput(detail, attr, "max_length");
}

/** @throws Fault where an aggregate is needed and the expression has a value for each event, or vice versa. */
function refuseKind(tree: ExpressionNode, { attr, isAggregate = false }: QueryExpression): void {
  if (isAggregated(tree) === isAggregate) return;
  const detail = isAggregate
    ? "Math in SQL needs an aggregate function, as in sum(properties.price)."
    : "An aggregate function is allowed in math only, not where each event has a value.";
  refuseInput(detail, attr);
}
