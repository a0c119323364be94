// Project keys in Postgres, with the settings that capture needs.

import type { Postgres } from "../storage/postgres/postgres.ts";
import { listenTo } from "./store.ts";

export type ProjectKeySource = ReturnType<typeof projectKeySource>;

export interface KeyEntry {
  api_token: string;
  id: number;
  records: boolean;
  /** Whether recordings have what pages write to the console. */
  records_console: boolean;
  cookieless: boolean;
  timezone: string;
  /** Events that it may send in a day; null for any number. */
  daily_event_quota: number | null;
}

/** A key, or nulls when the database has none. */
type DatabaseKey = Omit<KeyEntry, "api_token"> & { api_token: string | null; database: string };

/** @param database the id of the database that is expected; reads fail while another one, or none, is connected. */
export function projectKeySource(sql: Postgres, database: () => string | undefined) {
  const readEntries = async (rows: Promise<DatabaseKey[]>): Promise<KeyEntry[]> => {
    const read = await rows;
    if (read[0]?.database !== database())
      throw new Error("Postgres is not known to be the one of these keys");
    // A left join: without any key there is one row of nulls.
    return read.flatMap(({ database: _database, api_token, ...entry }) =>
      api_token === null ? [] : { api_token, ...entry },
    );
  };
  return {
    all: () =>
      readEntries(sql<DatabaseKey[]>`
        SELECT i.id::text AS database, ${columns(sql)} FROM database_identity i LEFT JOIN projects p ON true`),
    some: (keys: string[]) =>
      readEntries(sql<DatabaseKey[]>`
        SELECT i.id::text AS database, ${columns(sql)}
        FROM database_identity i LEFT JOIN projects p ON p.api_token = ANY(${keys}::text[])`),
    listen: (changed: () => void) => listenTo(sql, "sluice_project_keys", changed),
  };
}

function columns(sql: Postgres) {
  return sql`
    p.api_token, p.id, p.session_recording_opt_in AS records, p.cookieless_server_hash_mode <> 0 AS cookieless,
    coalesce(p.settings->'capture_console_log_opt_in', 'true') = 'true' AS records_console,
    p.timezone, p.daily_event_quota`;
}
