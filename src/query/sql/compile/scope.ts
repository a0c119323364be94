// Resolves the names in a SELECT: arguments of lambdas, tables, aliases, columns, and values of a WITH.

import { soundObject } from "../../../storage/events/property_filter.ts";
import type { FieldNode, Placed } from "../tree.ts";
import { constantSql, type SelectSql, type SqlDraft, type SqlScope, type TableLike } from "./draft.ts";
import { type PathKey, quotedName, refuse, type Sql, suggestion } from "./value.ts";

/** @throws SqlProblem for what does not exist, or is in several tables. */
export function fieldSql(node: FieldNode, path: readonly PathKey[], scope: SqlScope): Sql {
  const { draft } = scope;
  const [first = "", ...rest] = path;
  const name = String(first);
  const argument = scope.lambda.get(name);
  if (argument) return jsonMember(draft, argument, rest, node);
  const isNamed = (item: (typeof scope.tables)[number]) => item.name === name || item.shortName === name;
  const table = rest.length > 0 ? scope.tables.find(isNamed) : undefined;
  if (table) return table.read.field(rest, node);
  const alias = scope.aliases.get(name);
  if (alias) return jsonMember(draft, alias, rest, node);
  const owners = scope.tables.filter((item) => item.read.has(name) && !item.using.includes(name));
  if (owners.length > 1)
    refuse(`${quotedName(name)} is in several tables: write which, as in "table.${name}".`, node);
  if (owners[0]) return owners[0].read.field(path, node);
  const common = scope.commonTables.get(name);
  if (common?.node.cte_type === "column") {
    // Its columns are those of the SELECT that names it.
    const inner = scope.with({ commonTables: common.scope.commonTables, lambda: new Map() });
    return jsonMember(draft, inner.expression(common.node.expr), rest, node);
  }
  // Senders choose the names of groups' types: whatever else has the name comes first.
  const grouped = rest.length > 0 ? scope.tables.filter((item) => item.read.hasGroup?.(name)) : [];
  if (grouped.length > 1)
    refuse(`${quotedName(name)} is in several tables: write which, as in "table.${name}".`, node);
  if (grouped[0]) return grouped[0].read.field(path, node);
  return refuseField(name, node, scope);
}

function refuseField(name: string, node: FieldNode, scope: SqlScope): never {
  if (name === "*") refuse('"*" stands alone, or in count(*).', node);
  for (let outer = scope.outer; outer; outer = outer.outer) {
    if (!outer.tables.some((table) => table.name === name || table.read.has(name))) continue;
    refuse(
      `${quotedName(name)} is of the SELECT around this one, which cannot be named here: join the two.`,
      node,
    );
  }
  const columns = scope.tables.flatMap((table) => [table.name ?? "", ...table.read.names()]);
  const hint = suggestion(name, [...columns, ...scope.aliases.keys(), ...scope.lambda.keys()]);
  refuse(`Unable to resolve field: ${quotedName(name)}.${hint}`, node);
}

/** A SELECT that another reads from. `column.sql` is the name of its column. */
export class SubqueryRead implements TableLike {
  readonly alias: string;
  readonly isFiltered = false;
  readonly #draft: SqlDraft;
  readonly #select: SelectSql;

  constructor(draft: SqlDraft, select: SelectSql) {
    this.#draft = draft;
    this.#select = select;
    this.alias = draft.fresh("t");
  }

  has(name: string): boolean {
    return this.#select.columns.some((column) => column.name === name);
  }

  names(): string[] {
    return this.#select.columns.map(({ name }) => name);
  }

  star(): string[] {
    return this.names();
  }

  field([name, ...rest]: readonly PathKey[], node: FieldNode): Sql {
    const column = this.#select.columns.find((item) => item.name === name)?.column;
    if (!column) {
      const hint = suggestion(String(name), this.names());
      return refuse(`There is no ${quotedName(String(name))} in this subquery.${hint}`, node);
    }
    const { type, nullable, cost } = column;
    const sql = `${this.alias}.${column.sql}`;
    const text = column.text === undefined || type !== "string" ? {} : { text: sql };
    const raw = column.floor?.raw();
    const floor = raw === undefined ? {} : { floor: { raw: () => `${this.alias}.${raw}`, days: 0 } };
    return jsonMember(this.#draft, { sql, type, nullable, cost, ...text, ...floor }, rest, node);
  }

  filters(at: Placed): never {
    refuse("{filters} needs the table events or sessions.", at);
  }

  subquery(): string {
    return `(${this.#select.sql})`;
  }
}

/** A member of JSON text. */
export function jsonMember(draft: SqlDraft, whole: Sql, path: readonly PathKey[], node: FieldNode): Sql {
  if (path.length === 0) return whole;
  if (whole.type !== "json" && whole.text === undefined)
    refuse(`${quotedName(String(path[0]))} is no member of ${quotedName(node.chain.join("."))}.`, node);
  return memberSql(
    whole,
    path.map((key) => constantSql(draft, key, node).sql),
  );
}

/** A member of JSON text, by the keys on the path to it. */
export function memberSql({ sql: whole, text }: Sql, keys: readonly string[]): Sql {
  const from = text === undefined ? soundObject(whole) : `ifNull(${text}, '')`;
  const sql = `JSONExtract(${from}, ${keys.join(", ")}, 'Nullable(String)')`;
  return { sql, type: "string", nullable: true, text: sql };
}
