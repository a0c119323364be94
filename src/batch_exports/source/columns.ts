// The columns of exports, as SQL over the model's rows: in tables and in JSON. No value of a user is part of it.

import type { CompiledQuery } from "../query/compile.ts";

export interface ExportColumn {
  name: string;
  /** SQL for CSV and Parquet. */
  sql: string;
  /** The type that the engine declares; undefined before its answer. */
  type: string | undefined;
  /** SQL for JSON lines: the text of a JSON value. */
  json: string;
}

const column = (name: string, sql: string, json: string, type = "String"): ExportColumn => ({
  name,
  sql,
  type,
  json,
});

const text = (name: string, sql = name) => column(name, `toString(${sql})`, `toJSONString(toString(${sql}))`);

/** Its values need no escapes. */
const uuid = (name: string) => column(name, `toString(${name})`, `concat('"', toString(${name}), '"')`);

/** A line break between two tokens is valid JSON, but would end the line. */
const json = (name: string, sql = name) =>
  column(name, sql, `if(empty(${sql}), '{}', translate(${sql}, '\\n\\r', '  '))`);

const moment = (name: string, sql = name) =>
  column(name, sql, `concat('"', ${isoSql(sql)}, '"')`, "DateTime64(6, 'UTC')");

const number = (name: string, sql = name) =>
  column(name, `toInt64(${sql})`, `toString(toInt64(${sql}))`, "Int64");

/** A missing value is null in JSON and empty in a table. */
const member = (name: string, key: string) => {
  const raw = `if(position(properties, '"${key}"') = 0, '', JSONExtractRaw(properties, '${key}'))`;
  return column(name, `nullIf(${raw}, '')`, `if(empty(${raw}), 'null', ${raw})`);
};

const fixed = (name: string, value: string) => column(name, `'${value}'`, `'${value}'`);

/** Whether values of this type are moments or null. */
export function isMoment(type: string | undefined): boolean {
  return type !== undefined && /^(Nullable\()?DateTime/.test(type);
}

/** Arguments of concat for a moment as ISO text with its offset. */
export function isoSql(sql: string): string {
  return `replaceOne(toString(${sql}), ' ', 'T'), '+00:00'`;
}

/** Checked before the property is parsed: most events have none, and a search for the name is cheaper. */
const elementsChain =
  "if(position(properties, '\"$elements_chain\"') = 0, '', JSONExtractString(properties, '$elements_chain'))";

/** The columns that eventsWithPersons adds to an event's own. */
export const personProperties = "person_properties";

/** Null for a person without properties. */
const knownOfPerson: ExportColumn = {
  ...json(personProperties),
  sql: `if(empty(${personProperties}), '{}', ${personProperties})`,
};

/** The columns of files, as PostHog writes them. */
export const eventColumns: readonly ExportColumn[] = [
  uuid("uuid"),
  text("event"),
  text("distinct_id"),
  uuid("person_id"),
  json("properties"),
  knownOfPerson,
  text("elements_chain", elementsChain),
  moment("timestamp"),
  moment("created_at"),
  moment("_inserted_at", "created_at"),
];

const ipText =
  "if(position(properties, '\"$ip\"') = 0, NULL, nullIf(JSONExtractString(properties, '$ip'), ''))";

/** The columns of a Postgres table, as PostHog creates it. */
export const tableColumns: readonly ExportColumn[] = [
  uuid("uuid"),
  text("event"),
  json("properties"),
  fixed("elements", "[]"),
  member("set", "$set"),
  member("set_once", "$set_once"),
  text("distinct_id"),
  number("team_id", "project_id"),
  column("ip", ipText, `toJSONString(${ipText})`),
  fixed("site_url", ""),
  moment("timestamp"),
];

/**
 * The members of an event in a capture batch. `$geoip_disable`: this server's address does not show where the user is.
 */
export const captureColumns: readonly ExportColumn[] = [
  uuid("uuid"),
  text("event"),
  text("distinct_id"),
  moment("timestamp"),
  {
    ...json("properties"),
    json:
      "concat('{\"$geoip_disable\":true', if(match(properties, '^\\\\s*(\\\\{\\\\s*\\\\}\\\\s*)?$'), '}', " +
      "concat(',', substring(trimLeft(translate(properties, '\\n\\r', '  ')), 2))))",
  },
];

/** One row for every id of a person; PostHog's versions are moments here. */
export const personColumns: readonly ExportColumn[] = [
  number("team_id"),
  text("distinct_id"),
  uuid("person_id"),
  json("properties"),
  number("person_distinct_id_version"),
  number("person_version"),
  moment("created_at"),
  moment("_inserted_at"),
  number("is_deleted"),
];

/** The columns of a compiled native_query. A column of JSON text stays JSON. */
export function ownColumns({ columns }: CompiledQuery): ExportColumn[] {
  return columns.map(({ expression_sql, alias }) => {
    if (expression_sql === "properties") return json(alias, expression_sql);
    const value = `ifNull(toJSONString(${expression_sql}), 'null')`;
    return { name: alias, sql: expression_sql, type: undefined, json: value };
  });
}

/** A column once the engine has reported its type: a moment is written as in the models, in UTC. */
export function toTypedColumn(column: ExportColumn, type: string): ExportColumn {
  // No file has a type for what is always null: it is a text.
  const typed = type.replaceAll("Nothing", "String");
  if (typed !== type) return { ...column, sql: `CAST(${column.sql}, '${typed}')`, type: typed };
  if (!isMoment(type)) return { ...column, type };
  const whole = moment(column.name, `toDateTime64(${column.sql}, 6, 'UTC')`);
  if (!type.startsWith("Nullable(")) return whole;
  return { ...whole, type: `Nullable(${whole.type})`, json: `ifNull(${whole.json}, 'null')` };
}
