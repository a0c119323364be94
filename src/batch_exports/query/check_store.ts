// Checks a compiled native_query in the engine, which knows the types. It runs on an empty table.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { refuseTrial } from "../../storage/clickhouse/trial.ts";
import type { CompiledQuery } from "./compile.ts";
import type { ExportModel } from "./tables.ts";

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

/** Why a query cannot run, in the engine's words; undefined when it can, or the engine does not answer. */
export async function queryProblem(
  clickhouse: ClickHouse,
  { columns, where_sql, params }: CompiledQuery,
  model: ExportModel,
): Promise<string | undefined> {
  const terms = columns.map(({ expression_sql, alias }) => `${expression_sql} AS \`${alias}\``).join(", ");
  const from = `FROM (SELECT * FROM format(JSONEachRow, {structure:String}, '{}')) WHERE ${where_sql ?? "1"}`;
  return await refuseTrial(clickhouse, `SELECT ${terms} ${from} LIMIT 1`, {
    ...params,
    structure: structures[model],
  });
}
