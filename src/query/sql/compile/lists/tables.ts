// The tables that a query may name, with their columns as PostHog names them. Every source is limited to the project
// by its condition; the SQL of a column is over the source.

import { wordsIn } from "../../../../core/words.ts";
import { groupIndexes, groupKeyAt, groupTypeAt } from "../../../../storage/events/event_columns.ts";
import { eventPropertyText } from "../../../../storage/events/property_filter.ts";
import { ingestion_warnings, session_recordings, sessions } from "./session_tables.ts";
import { sqlColumns, type SqlTable, type TableColumn, withoutDictionary } from "./table.ts";

const ofProject = "project_id = {project_id:UInt32}";

const readAsText = (property: string): TableColumn => ({
  sql: `ifNull(${eventPropertyText(property, `'${property}'`)}, '')`,
  type: "string",
});

const chain = "JSONExtractString(properties, '$elements_chain')";
const attributes = (name: string): string => `extractAll(${chain}, '(?::|\\")${name}="(.*?)"')`;

const personOf = {
  table: "persons",
  left: "person_id",
  right: "id",
  rows: "one",
  propertiesSource: "person_texts",
  propertySource: "person_values",
} as const;

const events: SqlTable = {
  source: "stored_events",
  owner: "event",
  columns: {
    ...sqlColumns("uuid", "uuid"),
    event: { sql: withoutDictionary("event"), type: "string" },
    ...sqlColumns("json", "properties"),
    ...sqlColumns("datetime", "timestamp"),
    ...sqlColumns("string", "distinct_id"),
    elements_chain: { sql: chain, type: "string" },
    ...sqlColumns("datetime", "created_at"),
    $session_id: readAsText("$session_id"),
    $window_id: readAsText("$window_id"),
    ...Object.fromEntries(
      groupIndexes.map((index) => [`$group_${index}`, { sql: groupKeyAt(index), type: "string" } as const]),
    ),
    person_id: { sql: "person_id", type: "uuid", source: "events" },
    ...sqlColumns("boolean", "historical_migration"),
    ...sqlColumns("number", "team_id=project_id"),
    elements_chain_href: { sql: `${attributes("href")}[1]`, type: "string" },
    elements_chain_texts: { sql: `arrayDistinct(${attributes("text")})`, type: "array" },
    elements_chain_elements: {
      sql: `arrayDistinct(extractAll(${chain}, '(?:^|;)(a|button|form|input|select|textarea|label)(?:\\.|$|:)'))`,
      type: "array",
    },
    elements_chain_ids: { sql: attributes("attr_id"), type: "array" },
  },
  star: wordsIn(
    "uuid event properties timestamp distinct_id elements_chain created_at $session_id $window_id " +
      "$group_0 $group_1 $group_2 $group_3 $group_4",
  ),
  joins: {
    person: personOf,
    poe: personOf,
    pdi: { table: "person_distinct_ids", left: "distinct_id", right: "distinct_id", rows: "one" },
    session: { table: "sessions", left: "$session_id", right: "session_id", rows: "one" },
    ...Object.fromEntries(
      groupIndexes.map((index) => [
        `group_${index}`,
        {
          table: "groups",
          left: `$group_${index}`,
          right: "key",
          rows: "one" as const,
          where: `group_type = ${groupTypeAt(index)}`,
        },
      ]),
    ),
  },
};

const persons: SqlTable = {
  source: "persons",
  scope: "person:read",
  owner: "person",
  columns: {
    ...sqlColumns("uuid", "id=person_id"),
    ...sqlColumns("datetime", "created_at last_seen_at"),
    ...sqlColumns("json", "properties"),
    ...sqlColumns("boolean", "is_identified"),
    ...sqlColumns("array", "distinct_ids"),
    ...sqlColumns("number", "team_id=project_id"),
  },
  star: wordsIn("id created_at properties is_identified last_seen_at"),
  joins: { pdi: { table: "person_distinct_ids", left: "id", right: "person_id", rows: "many" } },
};

const person_distinct_ids: SqlTable = {
  source: "person_distinct_ids",
  scope: "person:read",
  columns: {
    ...sqlColumns("string", "distinct_id"),
    ...sqlColumns("uuid", "person_id"),
    ...sqlColumns("datetime", "created_at"),
    ...sqlColumns("number", "version team_id=project_id"),
  },
  star: wordsIn("distinct_id person_id"),
  joins: { person: personOf },
};

/** The index of each type of groups. */
const indexesOfTypes = `(
  SELECT mapFromArrays(groupArray(group_type), groupArray(place)) FROM group_types WHERE ${ofProject}
)`;

const groups: SqlTable = {
  source: "groups",
  scope: "group:read",
  owner: "group",
  columns: {
    index: { sql: `${indexesOfTypes}[${withoutDictionary("group_type")}]`, type: "number" },
    ...sqlColumns("string", "key=group_key"),
    ...sqlColumns("datetime", "created_at updated_at=changed_at"),
    ...sqlColumns("json", "properties"),
    ...sqlColumns("number", "team_id=project_id"),
  },
  star: wordsIn("index key created_at updated_at properties"),
};

export const sqlTables: Readonly<Record<string, SqlTable>> = {
  events,
  persons,
  person_distinct_ids,
  groups,
  sessions,
  session_recordings,
  session_replay_events: session_recordings,
  raw_session_replay_events: session_recordings,
  ingestion_warnings,
};
