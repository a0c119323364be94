// Runs a query in SQL: compiles it, checks its scopes, has the engine read it back, and sends it.

import { requireScopes, type Scope } from "../../access/scope.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { tooManyZones } from "../../storage/clickhouse/zones.ts";
import { findUnset } from "../../storage/events/lifted_properties.ts";
import { expressionsIn, type PropertyFilter } from "../../storage/events/property_filter.ts";
import { type QueryContext, type ShownTable, SqlFailure, throwSqlFailure } from "../store.ts";
import { type CompiledSelect, compileSelect, type SqlContext, SqlProblem } from "./compile/compile.ts";
import type { TextKind } from "./parser/parser_child.ts";
import { findPropertyTypes } from "./property_types.ts";
import { checkStatement } from "./statement_check.ts";
import type { ExpressionNode, SelectTree } from "./tree.ts";

/** Tables that a statement begins with. */
export interface FurtherTables extends Pick<SqlContext, "tables"> {
  /** Their WITH. */
  text: string;
  params: Record<string, unknown>;
}

/**
 * The rows of a tree, at most as many as its LIMIT says, and whether there are more.
 * @param recordStep is called with the name of each step that has ended.
 * @throws SqlProblem for what is wrong in the query; SqlFailure for what the engine finds wrong in it; Fault for scopes
 *   that the key does not have.
 */
export async function runTree(
  context: QueryContext,
  tree: SelectTree,
  source: Pick<SqlContext, "text" | "values" | "variables" | "filters">,
  { further, recordStep = () => {} }: { further?: FurtherTables; recordStep?: (step: string) => void } = {},
): Promise<ShownTable & { rows: unknown[][] }> {
  // The names of both statements are in one.
  const more = further && { names: "a", tables: further.tables };
  const compiled = await compileTree(context, tree, { ...source, ...more });
  const { statement, parameters, columns, limit, offset } = compiled;
  recordStep("compile");
  await admit(context, compiled);
  recordStep("check");
  await yieldToEventLoop();
  // Only where it matters: with this setting the engine uses no index of lists.
  const settings = compiled.hasNullMembers ? " SETTINGS transform_null_in = 1" : "";
  const whole = `${further?.text ?? ""}${statement}${settings}`;
  const { types, rows } = await context.table(whole, { ...further?.params, ...parameters });
  recordStep("execute");
  const hasMore = rows.length > limit;
  const table = { columns, types, rows: rows.slice(0, limit), hasMore, limit, offset };
  return { ...table, ...(context.scopes.includes("*") && { clickhouse: statement }) };
}

/** Compiles a tree, with the types of its properties and the trees of its filters. @throws SqlProblem */
export async function compileTree(
  context: QueryContext,
  tree: SelectTree,
  source: Pick<SqlContext, "text" | "values" | "variables" | "filters" | "names" | "tables">,
): Promise<CompiledSelect> {
  const { project_id, timezone, weekStart, groupTypes, now } = context;
  const filterTrees = await parseFilterTrees(context, source.filters?.properties ?? []);
  const trees = [tree, ...[...filterTrees.values()].map((item) => item.tree)];
  const propertyType = await findPropertyTypes(context, trees);
  // Each step takes some 20 ms for the longest texts: the event loop gets turns in between.
  await yieldToEventLoop();
  return compileSelect(tree, {
    project_id,
    timezone,
    weekStart,
    groupTypes,
    now,
    ...source,
    propertyType,
    filterTrees,
  });
}

/**
 * Checks a compiled statement against the key's scopes, the project's persons and time zones, and the list of what it
 * may name.
 * @throws Fault for scopes, SqlProblem for a property that no person has or a time zone too many, SqlFailure for what
 *   the engine finds wrong.
 */
export async function admit(
  context: QueryContext,
  compiled: Pick<CompiledSelect, "scopes" | "personKeys" | "zones" | "statement" | "parameters">,
): Promise<void> {
  const { scopes, personKeys, zones, statement, parameters } = compiled;
  requireScopes(context.scopes, [...scopes] as Scope[]);
  const unset = await findUnset(context.run, context.project_id, [...personKeys.keys()]);
  if (unset) throw new SqlProblem(unset.detail, personKeys.get(unset.name));
  for (const [zone, at] of zones) if (!context.admitZone(zone)) throw new SqlProblem(tooManyZones, at);
  await yieldToEventLoop();
  await checkStatement(context, statement, parameters).catch(throwSqlFailure);
}

export type TextReader = Pick<QueryContext, "parse" | "project_id" | "groupTypes">;

/** The tree of a text. @throws Fault for what is wrong in it, named by `attr`. */
export async function parseText<Kind extends TextKind>(
  { parse, project_id }: TextReader,
  text: string,
  kind: Kind,
  attr: string,
) {
  try {
    return await parse(text, kind, project_id);
  } catch (thrown) {
    throw sqlFault(thrown, attr, text);
  }
}

/** The trees of filters in SQL, by their texts. @throws as parseText. */
export async function parseFilterTrees(reader: TextReader, filters: readonly PropertyFilter[]) {
  const trees = new Map<string, { tree: ExpressionNode; attr: string }>();
  for (const { key, attr } of expressionsIn(filters))
    trees.set(key, { tree: await parseText(reader, key, "expression", attr), attr });
  return trees;
}

/**
 * The fault for what runTree() throws, named by `attr`; anything else unchanged.
 * @param text the query, for the position of the error.
 */
export function sqlFault(thrown: unknown, attr: string, text?: string): unknown {
  if (thrown instanceof SqlProblem) {
    const { filter } = thrown;
    return new Fault("invalid_input", placed(thrown, filter?.text ?? text), { attr: filter?.attr ?? attr });
  }
  if (!(thrown instanceof SqlFailure)) return thrown;
  const { type } = thrown;
  const unnamed = `The query cannot be computed: ${type.toLowerCase().replaceAll("_", " ")}.`;
  return new Fault("invalid_input", sentences[type] ?? unnamed, { attr });
}

/** Its message, with line and column. */
function placed({ message, start }: SqlProblem, text: string | undefined): string {
  if (start === undefined || text === undefined) return message;
  const before = [...text].slice(0, start).join("").split("\n");
  return `${message} (Line ${before.length}, column ${[...before.at(-1)!].length + 1}.)`;
}

/** Messages for errors of ClickHouse, by their names there. */
const sentences: Readonly<Record<string, string>> = {
  ILLEGAL_TYPE_OF_ARGUMENT: "A function or operator has an argument of a type that it does not take.",
  NO_COMMON_TYPE: "Values that are compared or combined have no common type.",
  NOT_AN_AGGREGATE: "A column is neither in GROUP BY nor within an aggregate function.",
  ILLEGAL_AGGREGATION:
    "An aggregate function is used where none is allowed, such as in WHERE or within another.",
  NUMBER_OF_ARGUMENTS_DOESNT_MATCH: "A function has too many or too few arguments.",
};
