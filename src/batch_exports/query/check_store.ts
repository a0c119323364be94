// Checks a compiled native_query in the engine, which knows the types. It runs on an empty table.

import { limits } from "../../core/limits.ts";
import { type ClickHouse, ClickHouseError, type QueryOptions } from "../../storage/clickhouse/clickhouse.ts";
import type { ExportModel } from "../model.ts";
import type { CompiledQuery } from "./compile.ts";

/** The columns that a query reads, without a table. */
const structures: Record<ExportModel, string> = {
  events:
    "uuid UUID, event String, distinct_id String, person_id UUID, properties String, " +
    "timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC'), historical_migration Bool",
  persons:
    "distinct_id String, person_id UUID, properties String, person_version UInt64, " +
    "person_distinct_id_version UInt64, created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC'), " +
    "is_deleted Bool",
};

const queryOptions: QueryOptions = {
  timeoutMs: limits.healthMsMax,
  settings: { max_execution_time: 2, max_threads: 1, max_memory_usage: "100000000" },
};

/** Why a query cannot run, in the engine's words; undefined when it can, or the engine does not answer. */
export async function whyNot(
  clickhouse: ClickHouse,
  { columns, where_sql, params }: CompiledQuery,
  model: ExportModel,
): Promise<string | undefined> {
  const shown = columns.map(({ expression_sql, alias }) => `${expression_sql} AS \`${alias}\``).join(", ");
  const from = `FROM (SELECT * FROM format(JSONEachRow, {structure:String}, '{}')) WHERE ${where_sql ?? "1"}`;
  return await refusalOf(clickhouse, `SELECT ${shown} ${from} LIMIT 1`, {
    ...params,
    structure: structures[model],
  });
}

/** Why one of these is not a regular expression; undefined as above. */
export async function whyNoPattern(
  clickhouse: ClickHouse,
  patterns: readonly string[],
): Promise<string | undefined> {
  if (patterns.length === 0) return undefined;
  const text = "SELECT match('', arrayJoin({patterns:Array(String)}))";
  return await refusalOf(clickhouse, text, { patterns });
}

async function refusalOf(
  clickhouse: ClickHouse,
  text: string,
  params: Record<string, unknown>,
): Promise<string | undefined> {
  try {
    await clickhouse.query(text, params, queryOptions);
    return undefined;
  } catch (thrown) {
    return thrown instanceof ClickHouseError && sensible.has(thrown.type)
      ? reasonIn(thrown.message)
      : undefined;
  }
}

/** The engine's message about a query that can never run; other errors may be temporary. */
const sensible: ReadonlySet<string> = new Set([
  "ARGUMENT_OUT_OF_BOUND",
  "BAD_ARGUMENTS",
  "CANNOT_COMPILE_REGEXP",
  "ILLEGAL_COLUMN",
  "ILLEGAL_TYPE_OF_ARGUMENT",
  "ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER",
  "NO_COMMON_TYPE",
  "NUMBER_OF_ARGUMENTS_DOESNT_MATCH",
  "TYPE_MISMATCH",
  "TOO_DEEP_RECURSION",
  "ZERO_ARRAY_OR_TUPLE_INDEX",
]);

/** The first sentence, without the statement in it. */
function reasonIn(message: string): string {
  const [reason = ""] = message.split(
    /[:.,]? (?:In scope|In query|While processing|while executing|\(version)/i,
  );
  return reason.replace(/^Code: \d+\. DB::Exception: /, "").slice(0, limits.valueShownCharsMax);
}
