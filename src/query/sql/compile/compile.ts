// Compiles the tree of PostHog's parser to a statement of ClickHouse. No byte of the query's text is in the statement:
// values are parameters, and names are numbers. Every table is a subquery that is limited to the project.

import { queryLimits } from "../../limits.ts";
import type { ExpressionNode, SelectTree } from "../tree.ts";
import { type SelectSql, type SqlContext, SqlDraft, SqlScope } from "./draft.ts";
import { expressionSql } from "./expression.ts";
import type { SqlTable } from "./lists/table.ts";
import { sqlTables } from "./lists/tables.ts";
import { limitRows, refuseSplitLimit, selectSql } from "./select.ts";
import { TableRead } from "./table_read.ts";
import { refuse } from "./value.ts";

export type { SqlContext, SqlFilters } from "./draft.ts";
export { type KnownType, type PropertyTypes, SqlProblem } from "./value.ts";

export type CompiledSelect = ReturnType<typeof compileSelect>;

const compilers = { expression: expressionSql, select: selectSql };

/** @throws SqlProblem with the position, and a suggestion. */
export function compileSelect(tree: SelectTree, context: SqlContext) {
  if (tree.node !== "SelectQuery" && tree.node !== "SelectSetQuery") refuse("A SELECT is needed.", tree);
  if (tree.node === "SelectSetQuery") refuseSplitLimit(tree);
  const draft = new SqlDraft(context, compilers);
  const scope = new SqlScope(draft);
  // LIMIT and OFFSET of the whole are the reply's, whatever the query is.
  const { limit: limitNode, offset: offsetNode, ...rest } = tree;
  const requestedRows = limitNode ? limitRows(limitNode, scope) : queryLimits.sqlRowsDefault;
  const limit = Math.min(requestedRows, queryLimits.sqlRowsMax);
  const offset = offsetNode ? limitRows(offsetNode, scope) : 0;
  const compiled: SelectSql = scope.select(rest as typeof tree);
  const isSet = tree.node === "SelectSetQuery" && !tree.order_by;
  const inner = isSet ? `SELECT * FROM (${compiled.sql})` : compiled.sql;
  const skipped = offset > 0 ? ` OFFSET ${offset}` : "";
  return {
    /** Returns one row more than `limit` when there are more. */
    statement: `${inner} LIMIT ${limit + 1}${skipped}`,
    parameters: draft.params,
    /** The query's names of its columns, in their order. */
    columns: compiled.columns.map(({ name }) => name),
    limit,
    offset,
    hasNullMembers: draft.hasNullMembers,
    /** Scopes that the key needs beside query:read. */
    scopes: draft.scopes,
    /** Properties of persons, and where each is named. */
    personKeys: draft.personKeys,
    /** Time zones that the text names, and where. */
    zones: draft.zones,
  };
}

/** Expressions over rows that a statement reads by itself, with the columns of `table`. @throws SqlProblem */
export function compileOverRows(
  trees: readonly ExpressionNode[],
  { name, ...table }: SqlTable & { name: string },
  context: SqlContext,
) {
  const draft = new SqlDraft(context, compilers);
  const scope = new SqlScope(draft);
  scope.tables.push({ name, read: new TableRead(draft, table, { isInline: true }), using: [] });
  const expressions = trees.map((tree) => scope.expression(tree));
  return { expressions, parameters: draft.params, zones: draft.zones };
}

/**
 * Expressions for statements of our own over a project's events.
 * @param exposed columns of stored events that these statements read.
 * @param failed is called with what is thrown, and the tree; it throws.
 * @throws SqlProblem
 */
export function compileOverEvents(
  trees: readonly ExpressionNode[],
  exposed: readonly string[],
  context: SqlContext,
  failed: (thrown: unknown, tree: ExpressionNode) => never,
) {
  const draft = new SqlDraft(context, compilers);
  const scope = new SqlScope(draft);
  const read = new TableRead(draft, sqlTables["events"]!, { exposed });
  scope.tables.push({ name: "events", shortName: "e", read, using: [] });
  const expressions = trees.map((tree) => {
    try {
      return scope.expression(tree);
    } catch (thrown) {
      return failed(thrown, tree);
    }
  });
  const rowsWithPersons = read.personsSubquery();
  return {
    /** SQL over the rows, in the order of the trees. */
    expressions,
    /** All of them in one statement, to be read again. */
    statement: `SELECT ${expressions.map((item) => item.sql).join(", ")} FROM ${rowsWithPersons}`,
    /** The events as text after FROM, with the columns in `exposed` and those that the expressions read. */
    rows: read.subquery(),
    /** As `rows`, with the column `person_id`. */
    rowsWithPersons,
    /** The columns that the expressions read. */
    columns: read.readNames(),
    parameters: draft.params,
    scopes: draft.scopes,
    personKeys: draft.personKeys,
    zones: draft.zones,
  };
}
