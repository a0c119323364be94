// Answers queries about the language itself, which read no events: the tables that SQL may name, and what is wrong in a
// text. Their replies are PostHog's (posthog/hogql/database and posthog/hogql/metadata.py).

import { toMembers } from "../../core/json/dictionary.ts";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import { checkKindFields, queryFields } from "../kind.ts";
import * as part from "../parts/model.ts";
import { compileSelect, SqlProblem } from "../sql/compile/compile.ts";
import { sqlTables } from "../sql/compile/lists/tables.ts";
import type { SqlType } from "../sql/compile/value.ts";
import { parserLimits } from "../sql/parser/limits.ts";
import type { TextReader } from "../sql/run.ts";
import type { ExpressionNode, SelectQuery, SelectTree } from "../sql/tree.ts";
import { readVariables } from "./hogql.ts";

const metadataModel = strictModel("HogQLMetadata", {
  kind: choice(["HogQLMetadata"]),
  language: choice(["hogQL", "hogQLExpr"]),
  query: text({ maxLength: parserLimits.textCharsMax }),
  /** An expression is read beside the columns of this SELECT, and beside those of events without one. */
  sourceQuery: part.anything(),
  variables: part.members(),
  ...part.unreadFields("Changes nothing of what is valid.", "filters globals debug"),
  ...part.ofEveryQuery,
});

export const describedModels = {
  DatabaseSchemaQuery: strictModel("DatabaseSchemaQuery", {
    kind: choice(["DatabaseSchemaQuery"]),
    ...part.ofEveryQuery,
  }),
  HogQLMetadata: metadataModel,
};

/** Whether a query is about the language. */
export function isDescribed(query: unknown): boolean {
  const { kind } = toMembers(query);
  return typeof kind === "string" && Object.hasOwn(describedModels, kind);
}

/** The reply to a query about the language. @throws Fault for what is wrong in its fields. */
export async function answerDescribed(reader: TextReader, query: unknown): Promise<object> {
  const fields = queryFields(query, "query");
  if (fields["kind"] === "DatabaseSchemaQuery") {
    checkKindFields(describedModels.DatabaseSchemaQuery, fields, "query");
    return { tables: listTables(reader), joins: [] };
  }
  const { query: words, ...metadata } = checkKindFields(metadataModel, fields, "query");
  const reply = { query: words, isValid: true, isValidView: false, errors: [], warnings: [], notices: [] };
  try {
    const tree = await readStatement(reader, words, metadata);
    compileSelect(tree, {
      ...reader,
      timezone: "UTC",
      now: 0,
      text: words,
      variables: readVariables(metadata.variables),
    });
    const isView = tree.node === "SelectQuery" && tree.select.every((column) => column.node === "Alias");
    return { ...reply, isValidView: isView, table_names: [...listNamed(tree)] };
  } catch (thrown) {
    if (!(thrown instanceof SqlProblem)) throw thrown;
    const { message, start = null, end = null } = thrown;
    return { ...reply, isValid: false, errors: [{ message, start, end, fix: null }], table_names: [] };
  }
}

/** A text as a SELECT: an expression is the last column of its source. @throws SqlProblem */
async function readStatement(
  { parse, project_id }: TextReader,
  words: string,
  { language, sourceQuery }: { language: string; sourceQuery?: unknown },
): Promise<SelectTree> {
  if (language === "hogQL") return await parse(words, "select", project_id);
  const column: ExpressionNode = await parse(words, "expression", project_id);
  const source = toMembers(sourceQuery)["query"];
  const tree = await parse(
    typeof source === "string" ? source : "select 1 from events",
    "select",
    project_id,
  );
  if (tree.node !== "SelectQuery") return tree;
  return { ...tree, select: [...tree.select, column] } satisfies SelectQuery;
}

/** PostHog's words for types; it has none for a number that may be a fraction or not. */
const typeWords: Readonly<Partial<Record<SqlType, string>>> = { number: "float", uuid: "string" };

function listTables({ groupTypes = {} }: TextReader) {
  return Object.fromEntries(
    Object.entries(sqlTables).map(([name, { columns, joins = {} }]) => {
      const types = name === "events" ? Object.entries(groupTypes) : [];
      const named = types.flatMap(([type, place]) => {
        const join = joins[`group_${place}`];
        const isShown = !Object.hasOwn(joins, type) && !Object.hasOwn(columns, type);
        return join && isShown ? [[type, join] as const] : [];
      });
      const fields = [
        ...Object.entries(columns).map(([column, { type }]) =>
          describeField(column, typeWords[type] ?? type),
        ),
        ...[...Object.entries(joins), ...named].map(([join, { table }]) => ({
          ...describeField(join, "lazy_table"),
          table,
          fields: Object.keys(sqlTables[table]!.columns),
        })),
      ];
      const byName = Object.fromEntries(fields.map((field) => [field.name, field]));
      return [name, { id: name, name, type: "posthog", fields: byName, row_count: null }];
    }),
  );
}

const describeField = (name: string, type: string) => ({ name, hogql_value: name, type, schema_valid: true });

/** The tables that a tree names, without its own in WITH. */
function listNamed(node: unknown, names = new Set<string>()): Set<string> {
  if (typeof node !== "object" || node === null) return names;
  const { node: kind, table } = node as { node?: string; table?: { node?: string; chain?: string[] } | null };
  const name = kind === "JoinExpr" && table?.node === "Field" ? table.chain!.join(".") : undefined;
  if (name !== undefined && Object.hasOwn(sqlTables, name)) names.add(name);
  for (const member of Object.values(node)) listNamed(member, names);
  return names;
}
