// The columns of a SELECT: their names, and the columns of a star.

import type { ColumnsExpr, ExpressionNode, FieldNode, Placed } from "../tree.ts";
import type { NamedTable, SqlDraft, SqlScope } from "./draft.ts";
import { quotedName, refuse, type Sql } from "./value.ts";

/** The name of a column without an alias: the last part of a field, the text of anything else. */
export function columnName(draft: SqlDraft, node: ExpressionNode): string {
  if (node.node === "Field") return node.chain.at(-1)!;
  if (
    node.node === "ArrayAccess" &&
    node.property.node === "Constant" &&
    typeof node.property.value === "string"
  ) {
    return node.property.value;
  }
  const [start, end] = [node.start?.offset, node.end?.offset];
  if (start === undefined || end === undefined) return node.node === "Call" ? `${node.name}()` : "expression";
  return draft.characters().slice(start, end).join("").slice(0, 200);
}

/** `*`, `table.*`, `* EXCLUDE (…)`, `COLUMNS(…)`; undefined for anything else. */
export function starColumns(node: ExpressionNode, scope: SqlScope): { name: string; sql: Sql }[] | undefined {
  const { draft } = scope;
  if (node.node === "ColumnsExpr") return columnsExpr(node, scope);
  if (node.node !== "Field" || node.chain.at(-1) !== "*") return undefined;
  if (scope.tables.length === 0) refuse('"*" needs a table.', node);
  if (node.chain.length === 1) return scope.tables.flatMap((item) => expandStar(draft, item, node));
  const table = scope.tables.find((item) => item.name === node.chain[0]);
  if (!table || node.chain.length > 2) refuse(`There is no table ${quotedName(node.chain[0]!)}.`, node);
  return expandStar(draft, { ...table, using: [] }, node);
}

function expandStar(draft: SqlDraft, table: NamedTable, node: Placed): { name: string; sql: Sql }[] {
  const field = (name: string): FieldNode => ({ ...node, node: "Field", chain: [name] });
  const names = table.read.star().filter((name) => !table.using.includes(name));
  return names.map((name) => {
    draft.countPart(node);
    return { name, sql: table.read.field([name], field(name)) };
  });
}

function columnsExpr(node: ColumnsExpr, scope: SqlScope): { name: string; sql: Sql }[] {
  if (node.regex) refuse("COLUMNS with a regular expression is not supported: name them.", node);
  if (node.columns) {
    return node.columns.flatMap((column) => {
      return (
        starColumns(column, scope) ?? [
          { name: columnName(scope.draft, column), sql: scope.expression(column) },
        ]
      );
    });
  }
  const excluded = node.exclude ?? [];
  const missing = excluded.find((name) => !scope.tables.some((table) => table.read.has(name)));
  if (missing !== undefined) refuse(`There is no ${quotedName(missing)} to leave out.`, node);
  const all = scope.tables.flatMap((table) => expandStar(scope.draft, table, node));
  return all.filter(({ name }) => !excluded.includes(name));
}
