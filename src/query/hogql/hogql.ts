// Answers a HogQLQuery: SQL over the project's own tables, in PostHog's dialect.

import { requireScopes, type Scope } from "../../access/scope.ts";
import { Fault } from "../../core/fault.ts";
import { clickhouseTime, nowOf, parseDate } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { filtersOf } from "../parts/series.ts";
import { compileSelect, type SqlFilters, SqlProblem } from "../sql/compile/compile.ts";
import { type QueryAnswer, type QueryContext, SqlFailure, throwSqlFailure } from "../store.ts";
import { type HogQLQuery, hogqlModel } from "./model.ts";
import { propertyTypesOf } from "./property_types.ts";
import { checkStatement } from "./statement_check.ts";

export const hogqlKind = queryKind({
  schema: hogqlModel,
  result: "table",
  check,
  title: () => "SQL query",
  answer,
});

type CheckedHogQL = ReturnType<typeof check>;

function check(query: HogQLQuery, attr: string) {
  const filterTestAccounts = query.filters?.filterTestAccounts ?? null;
  const filters = filtersOf(query.filters ?? {}, `${attr}__filters`);
  return { attr, query: { ...query, filterTestAccounts }, filters };
}

async function answer(context: QueryContext, checked: CheckedHogQL): Promise<QueryAnswer<unknown[]>> {
  const { query, attr } = checked;
  const at = `${attr}__query`;
  const { project_id, timezone, now } = context;
  try {
    const tree = await context.parse(query.query, "select", project_id);
    const compiled = compileSelect(tree, {
      project_id,
      timezone,
      now,
      text: query.query,
      values: query.values ?? undefined,
      variables: variablesOf(query.variables),
      filters: filtersIn(context, checked),
      propertyType: await propertyTypesOf(context, tree),
    });
    const { statement, parameters, columns, limit, offset } = compiled;
    requireScopes(context.scopes, [...compiled.scopes] as Scope[]);
    await checkStatement(context, statement, parameters).catch(throwSqlFailure);
    const { types, rows } = await context.table(statement, parameters);
    const isWhole = context.scopes.includes("*");
    return {
      results: rows.slice(0, limit),
      table: {
        columns,
        types,
        hasMore: rows.length > limit,
        limit,
        offset,
        hogql: query.query,
        ...(isWhole && { clickhouse: statement }),
      },
    };
  } catch (thrown) {
    if (thrown instanceof SqlProblem)
      throw new Fault("invalid_input", placed(thrown, query.query), { attr: at });
    if (thrown instanceof SqlFailure) throw new Fault("invalid_input", failed(thrown), { attr: at });
    throw thrown;
  }
}

/** Its sentence, with the place as people count it. */
function placed({ message, start }: SqlProblem, text: string): string {
  if (start === undefined) return message;
  const before = [...text].slice(0, start).join("").split("\n");
  return `${message} (Line ${before.length}, column ${[...before.at(-1)!].length + 1}.)`;
}

/** What ClickHouse found wrong in running it, by its own name of the error. */
function failed({ type }: SqlFailure): string {
  return sentences[type] ?? `The query cannot be computed: ${type.toLowerCase().replaceAll("_", " ")}.`;
}

const sentences: Readonly<Record<string, string>> = {
  ILLEGAL_TYPE_OF_ARGUMENT: "A function or operator has an argument of a type that it does not take.",
  NO_COMMON_TYPE: "Values that are compared or put together have no common type.",
  NOT_AN_AGGREGATE: "A column is neither in GROUP BY nor within an aggregate function.",
  ILLEGAL_AGGREGATION: "An aggregate function stands where none can, such as in WHERE or within another.",
  NUMBER_OF_ARGUMENTS_DOESNT_MATCH: "A function has too many or too few arguments.",
};

/** PostHog sends variables by their id: what SQL calls them is their code name. */
function variablesOf(variables: HogQLQuery["variables"]): Record<string, unknown> {
  const named = Object.entries(variables ?? {}).map(([id, variable]): [string, unknown] => {
    const own =
      typeof variable === "object" && variable !== null ? (variable as Record<string, unknown>) : {};
    return [typeof own["code_name"] === "string" ? own["code_name"] : id, own["value"] ?? null];
  });
  return Object.fromEntries(named);
}

/** What `{filters}` stands for. */
function filtersIn(context: QueryContext, { query, attr, filters }: CheckedHogQL): SqlFilters {
  const now = nowOf(context);
  const { dateRange } = query.filters ?? {};
  const bound = (name: "date_from" | "date_to", side: "start" | "end"): string | undefined => {
    const text = dateRange?.[name];
    if (!text || text === "all") return undefined;
    const at = parseDate(text, now, side);
    if (at) return clickhouseTime(at);
    const detail = "A date is needed, like 2024-01-31, 2024-01-31T12:00:00Z or -7d.";
    throw new Fault("invalid_input", detail, { attr: `${attr}__filters__dateRange__${name}` });
  };
  return { from: bound("date_from", "start"), to: bound("date_to", "end"), properties: filters };
}
