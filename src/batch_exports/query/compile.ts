// Compiles a native_query, by the parser and the compiler of HogQL. No character of the text reaches ClickHouse, since
// values are parameters.

import { withoutFirst, withoutLast } from "../../core/trim.ts";
import { compileOverRows, SqlProblem } from "../../query/sql/compile/compile.ts";
import type { SqlParser } from "../../query/sql/parser/parser.ts";
import { type EngineZones, tooManyZones } from "../../storage/clickhouse/zones.ts";
import { readNativeQuery, refuseProblem, refuseUnsupported, type SelectedColumn } from "./read.ts";
import { type ExportModel, exportTables } from "./tables.ts";

/** Selects rows of the model's table, already limited to project and interval. */
export interface CompiledQuery {
  /**
   * `alias`: 1 to 64 letters, digits, `_` and `$`, all different. It may be the name of another column, so the
   * statement must select from a subquery that limits the project.
   */
  columns: { expression_sql: string; alias: string }[];
  where_sql: string | undefined;
  params: Record<string, unknown>;
}

export interface QueryOwner {
  model: ExportModel;
  project_id: number;
}

/** @throws Fault invalid_input at `native_query`, with the reason; unavailable when it cannot be read now. */
export async function compileQuery(
  parse: SqlParser["parse"],
  text: string,
  owner: QueryOwner,
  zones: EngineZones,
): Promise<CompiledQuery> {
  const { selected, where } = await readNativeQuery(parse, text, owner);
  const trees = selected.map(({ node }) => node);
  if (where) trees.push({ node: "And", exprs: [where] });
  const { project_id, model } = owner;
  const table = { name: model, ...exportTables[model] };
  const context = { project_id, timezone: "UTC", now: 0, text, wholeNumbers: "Int64" } as const;
  try {
    const { expressions, parameters, zones: named } = compileOverRows(trees, table, context);
    for (const [zone, at] of named)
      if (!zones.admit(project_id, zone)) throw new SqlProblem(tooManyZones, at);
    const columns = nameColumns(selected).map((alias, i) => ({ expression_sql: expressions[i]!.sql, alias }));
    return { columns, where_sql: expressions[selected.length]?.sql, params: parameters };
  } catch (thrown) {
    return refuseProblem("Invalid HogQL query", thrown);
  }
}

/** The columns of a stored query as the owner wrote them. @throws Fault as compileQuery, when it is not a query. */
export async function writtenColumns(parse: SqlParser["parse"], text: string, owner: QueryOwner) {
  const { selected } = await readNativeQuery(parse, text, owner);
  return nameColumns(selected).map((alias, i) => ({ expression: selected[i]!.text, alias }));
}

const aliasShape = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/;
/** Columns in the conditions of every statement. */
const ownNames = new Set(["project_id", "team_id", "_batch", "_row", "_version"]);

function nameColumns(selected: readonly SelectedColumn[]): string[] {
  const aliases = new Set<string>();
  return selected.map((column, index) => nameColumn(column, index, aliases));
}

/** The alias, or a name made from the expression that is still free. */
function nameColumn({ node, alias, text }: SelectedColumn, index: number, aliases: Set<string>): string {
  if (alias !== undefined) {
    if (!aliasShape.test(alias))
      refuseUnsupported(`the alias "${alias.slice(0, 64)}" must be 1 to 64 letters, digits, _ or $.`);
    if (ownNames.has(alias.toLowerCase())) refuseUnsupported(`the alias "${alias}" is reserved.`);
    if (aliases.has(alias)) refuseUnsupported(`the column "${alias}" is named twice.`);
    aliases.add(alias);
    return alias;
  }
  const last = node.node === "Field" ? (node.chain.at(-1) ?? "") : text;
  const joined = last.replace(/[^A-Za-z0-9_$]+/g, "_");
  const inner = withoutFirst(joined, "_");
  const before = /^[0-9]/.test(inner) ? 1 : 0;
  const underscores = "_".repeat(Math.min(2, Math.max(before, joined.length - inner.length)));
  const plain = withoutLast(`${underscores}${inner}`, "_").slice(0, 56);
  const stem = aliasShape.test(plain) && !ownNames.has(plain.toLowerCase()) ? plain : `column_${index + 1}`;
  let free = stem;
  for (let number = 2; aliases.has(free); number++) free = `${stem}_${number}`;
  aliases.add(free);
  return free;
}
