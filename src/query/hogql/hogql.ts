// Answers a HogQLQuery: SQL over the project's own tables, in PostHog's dialect.

import { asStored, clickhouseTime } from "../../core/dates.ts";
import { refuseInput } from "../../core/fault.ts";
import { toMembers } from "../../core/json/dictionary.ts";
import { choice, type CreateInput, flag, strictModel, text } from "../../http/fields/field.ts";
import { readDate } from "../date_range.ts";
import { checkKindFields, type Fields, queryKind } from "../kind.ts";
import { queryLimits } from "../limits.ts";
import { selectIds } from "../parts/behind_store.ts";
import { isGiven, type PersonStatement, readNodeFilters } from "../parts/figure.ts";
import * as part from "../parts/model.ts";
import { compileSelect, type SqlContext, type SqlFilters, SqlProblem } from "../sql/compile/compile.ts";
import { parserLimits } from "../sql/parser/limits.ts";
import { admit, compileTree, parseFilterTrees, parseText, runTree, sqlFault } from "../sql/run.ts";
import { readShownColumns } from "../sql/shown_columns.ts";
import type { SelectTree } from "../sql/tree.ts";
import type { QueryContext, QueryTiming } from "../store.ts";

const hogqlModel = strictModel("HogQLQuery", {
  kind: choice(["HogQLQuery"]),
  query: text({ maxLength: parserLimits.textCharsMax }),
  values: part.members(),
  variables: part.members(),
  filters: part.maybe(
    strictModel("HogQLFilters", {
      dateRange: part.maybe(
        strictModel("HogQLDateRange", { ...part.dates, explicitDate: part.unanswered("An explicit date") }),
      ),
      properties: part.anything(),
      filterTestAccounts: part.maybe(flag()),
    }),
  ),
  explain: part.unanswered("Explaining a query"),
  ...part.unreadFields(part.aboutSender, "name"),
  ...part.ofEveryQuery,
});

type HogQLQuery = CreateInput<typeof hogqlModel>;

export const hogqlKind = queryKind({
  schema: hogqlModel,
  result: "table",
  check,
  title: () => "SQL query",
  answer: async (context, checked) => {
    const { query, attr } = checked;
    try {
      const timings: QueryTiming[] = [];
      let last = 0;
      const recordStep = (step: string): void => {
        const at = context.elapsed() / 1000;
        timings.push({ k: `./${step}`, t: at - last });
        last = at;
      };
      const tree = await context.parse(query.query, "select", context.project_id);
      recordStep("parse");
      const source = { ...readTexts(query), filters: filtersIn(context, checked) };
      const { rows, ...table } = await runTree(context, tree, source, { recordStep });
      return {
        results: rows,
        table: { ...table, hogql: query.query, timings: [...timings, { k: ".", t: last }] },
      };
    } catch (thrown) {
      throw sqlFault(thrown, `${attr}__query`, query.query);
    }
  },
  /** The check does what a run does, except for the types of properties, which only the store knows. */
  read: async (reader, { attr, query, filters }) => {
    const at = `${attr}__query`;
    const { project_id, groupTypes } = reader;
    const tree = await parseText(reader, query.query, "select", at);
    await parseFilterTrees(reader, filters);
    try {
      compileSelect(tree, { project_id, groupTypes, timezone: "UTC", now: 0, ...readTexts(query) });
    } catch (thrown) {
      throw sqlFault(thrown, at, query.query);
    }
  },
  shownColumns: async (reader, { attr, query: { query: text } }, confirmed) => {
    const at = `${attr}__query`;
    const tree = await parseText(reader, text, "select", at);
    try {
      return readShownColumns(tree, confirmed);
    } catch (thrown) {
      throw sqlFault(thrown, at, text);
    }
  },
});

/** Persons whose ids a query selects: in its first column with "id" in its name, as at PostHog. */
export function readSelectedPersons(source: Fields, attr: string) {
  const { query, values, filters } = checkKindFields(hogqlModel, source, attr) as HogQLQuery;
  const at = `${attr}__query`;
  if (isGiven(filters)) refuseInput("A list of persons has filters of its own.", `${attr}__filters`);
  const persons = async (context: QueryContext): Promise<PersonStatement> => {
    try {
      const tree = await parseText(context, query, "select", at);
      return await selectPersons(context, tree, { text: query, values: values ?? undefined });
    } catch (thrown) {
      throw sqlFault(thrown, at, query);
    }
  };
  return { filtersTestAccounts: false, persons };
}

/** The persons whose ids a query selects, at most queryLimits.sqlRowsMax of them. @throws as runTree(). */
async function selectPersons(
  context: QueryContext,
  tree: SelectTree,
  source: Pick<SqlContext, "text" | "values">,
): Promise<PersonStatement> {
  const limit = { node: "Constant", value: queryLimits.sqlRowsMax };
  const limited = { limit, ...tree } as SelectTree;
  const compiled = await compileTree(context, limited, { ...source, names: "p" });
  const { columns, statement, parameters, hasNullMembers } = compiled;
  const index = columns.findIndex((name) => /id/i.test(name));
  if (index < 0) throw new SqlProblem("A column with ids of persons is needed, such as person_id.");
  if (hasNullMembers) throw new SqlProblem("A list with null cannot be used where persons are selected.");
  await admit(context, compiled);
  return { text: selectIds(statement, index), params: parameters };
}

/** @throws Fault for filters that the text does not name: they would be ignored. */
function check(query: HogQLQuery, attr: string) {
  const { filterTestAccounts = null, dateRange, properties } = query.filters ?? {};
  const { date_from, date_to } = dateRange ?? {};
  const isFiltered = [filterTestAccounts, date_from === "all" ? "" : date_from, date_to, properties].some(
    isGiven,
  );
  if (isFiltered && !/\{\s*filters\b/.test(query.query))
    refuseInput("The text does not use these filters: write {filters} in its WHERE.", `${attr}__filters`);
  const filters = readNodeFilters(query.filters ?? {}, `${attr}__filters`);
  return { attr, query: { ...query, filterTestAccounts }, filters };
}

/** The text, and the values of names in braces. */
function readTexts({ query: text, values, variables }: HogQLQuery) {
  return { text, values: values ?? undefined, variables: readVariables(variables) };
}

/** PostHog sends variables by id; SQL names them by code name. */
export function readVariables(variables: HogQLQuery["variables"]): Record<string, unknown> {
  const named = Object.entries(variables ?? {}).map(([id, variable]): [string, unknown] => {
    const fields = toMembers(variable);
    return [typeof fields["code_name"] === "string" ? fields["code_name"] : id, fields["value"] ?? null];
  });
  return Object.fromEntries(named);
}

/** Compiles what `{filters}` stands for. */
function filtersIn(context: QueryContext, { query, attr, filters }: ReturnType<typeof check>): SqlFilters {
  const { dateRange } = query.filters ?? {};
  const bound = (name: "date_from" | "date_to", side: "start" | "end"): string | undefined => {
    const text = dateRange?.[name] === "all" ? "" : dateRange?.[name];
    const at = readDate(text, context, side, `${attr}__filters__dateRange__${name}`);
    return at && clickhouseTime(asStored(at));
  };
  return { from: bound("date_from", "start"), to: bound("date_to", "end"), properties: filters };
}
