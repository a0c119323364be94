// The names in one SELECT: its tables, aliases, common tables, and the arguments of lambdas.

import type { FieldNode } from "../tree.ts";
import { constantSql, type NamedTable, type SqlDraft, type SqlScope, type TableLike } from "./draft.ts";
import { quotedName, refuse, suggestion } from "./problem.ts";
import type { PathKey, Sql } from "./value.ts";

export function innerScope(outer: SqlScope | undefined): SqlScope {
  return {
    tables: [],
    aliases: new Map(),
    commonTables: outer?.commonTables ?? new Map(),
    lambda: new Map(),
    outer,
  };
}

export function isTable(read: NamedTable["read"]): read is TableLike {
  return "table" in read;
}

/** @throws SqlProblem for what does not exist, or is in several tables. */
export function fieldSql(draft: SqlDraft, node: FieldNode, path: readonly PathKey[], scope: SqlScope): Sql {
  const [first = "", ...rest] = path;
  const name = String(first);
  const argument = scope.lambda.get(name);
  if (argument) return jsonMember(draft, argument, rest, node);
  const table = rest.length > 0 ? scope.tables.find((one) => one.name === name) : undefined;
  if (table) return columnOf(draft, table, rest, node);
  const alias = scope.aliases.get(name);
  if (alias) return jsonMember(draft, alias, rest, node);
  const owners = scope.tables.filter((one) => hasColumn(one, name) && !one.using.includes(name));
  if (owners.length > 1)
    refuse(`${quotedName(name)} is in several tables: write which, as in "table.${name}".`, node);
  if (owners[0]) return columnOf(draft, owners[0], path, node);
  const common = scope.commonTables.get(name);
  if (common?.node.cte_type === "column") {
    return jsonMember(draft, draft.expression(common.node.expr, common.scope), rest, node);
  }
  return refuseField(name, node, scope);
}

function refuseField(name: string, node: FieldNode, scope: SqlScope): never {
  if (name === "*") refuse('"*" stands alone, or in count(*).', node);
  for (let outer = scope.outer; outer; outer = outer.outer) {
    if (!outer.tables.some((one) => one.name === name || hasColumn(one, name))) continue;
    refuse(
      `${quotedName(name)} is of the SELECT around this one, which cannot be named here: join the two.`,
      node,
    );
  }
  const columns = scope.tables.flatMap((one) => [one.name ?? "", ...columnNames(one)]);
  const hint = suggestion(name, [...columns, ...scope.aliases.keys(), ...scope.lambda.keys()]);
  refuse(`Unable to resolve field: ${quotedName(name)}.${hint}`, node);
}

export function hasColumn({ read }: NamedTable, name: string): boolean {
  return isTable(read) ? read.has(name) : read.columns.some((one) => one.name === name);
}

/** The columns of `*`. */
export function starOf({ read, using }: NamedTable): string[] {
  const names = isTable(read) ? [...read.table.star] : read.columns.map((one) => one.name);
  return names.filter((name) => !using.includes(name));
}

function columnNames({ read }: NamedTable): string[] {
  return isTable(read) ? read.names() : read.columns.map((one) => one.name);
}

export function columnOf(draft: SqlDraft, table: NamedTable, path: readonly PathKey[], node: FieldNode): Sql {
  const { read } = table;
  if (isTable(read)) return read.field(path, node);
  const [name, ...rest] = path;
  const column = read.columns.find((one) => one.name === name)?.column;
  if (!column) {
    const hint = suggestion(String(name), columnNames(table));
    return refuse(`There is no ${quotedName(String(name))} in this subquery.${hint}`, node);
  }
  const sql = `${read.alias}.${column.sql}`;
  const text = column.text === undefined || column.type !== "string" ? {} : { text: sql };
  const raw = column.floor?.raw();
  const floor = raw === undefined ? {} : { floor: { raw: () => `${read.alias}.${raw}`, days: 0 } };
  return jsonMember(
    draft,
    { sql, type: column.type, nullable: column.nullable, ...text, ...floor },
    rest,
    node,
  );
}

/** A member of JSON text. */
export function jsonMember(draft: SqlDraft, whole: Sql, path: readonly PathKey[], node: FieldNode): Sql {
  if (path.length === 0) return whole;
  if (whole.type !== "json" && whole.text === undefined) {
    refuse(`${quotedName(String(path[0]))} is no member of ${quotedName(node.chain.join("."))}.`, node);
  }
  const keys = path.map((key) => constantSql(draft, key, node).sql);
  const from = whole.text === undefined ? whole.sql : `ifNull(${whole.text}, '')`;
  const sql = `JSONExtract(${from}, ${keys.join(", ")}, 'Nullable(String)')`;
  return { sql, type: "string", nullable: true, text: sql };
}
