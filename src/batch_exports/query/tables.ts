// The rows of an export as tables of HogQL: a query's expressions are computed over them as they are read.

import { wordsIn } from "../../core/words.ts";
import { sqlColumns, type SqlTable } from "../../query/sql/compile/lists/table.ts";

/** The models that can be exported. */
export const exportModels = ["events", "persons"] as const;
export type ExportModel = (typeof exportModels)[number];

/** Moments in UTC, as they are stored. */
const moments = (names: string): SqlTable["columns"] =>
  Object.fromEntries(wordsIn(names).map((name) => [name, { sql: name, type: "datetime" }]));

export const exportTables: Readonly<Record<ExportModel, SqlTable>> = {
  events: {
    source: "events",
    columns: {
      ...sqlColumns("uuid", "uuid person_id"),
      ...sqlColumns(
        "string",
        "event distinct_id elements_chain=JSONExtractString(properties,'$elements_chain')",
      ),
      ...sqlColumns("json", "properties"),
      ...sqlColumns("number", "team_id=project_id"),
      ...moments("timestamp created_at"),
      _inserted_at: { sql: "created_at", type: "datetime" },
      ...sqlColumns("boolean", "historical_migration"),
    },
    star: wordsIn("uuid event distinct_id person_id properties timestamp created_at"),
  },
  persons: {
    source: "exported_persons",
    columns: {
      ...sqlColumns("uuid", "person_id id=person_id"),
      ...sqlColumns("string", "distinct_id"),
      ...sqlColumns("json", "properties"),
      ...sqlColumns("number", "person_version person_distinct_id_version team_id=project_id"),
      ...moments("created_at _inserted_at"),
      ...sqlColumns("boolean", "is_deleted"),
    },
    star: wordsIn("distinct_id person_id properties created_at"),
  },
};
