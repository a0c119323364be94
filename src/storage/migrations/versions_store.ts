// Holds what servers of several versions report to each other in Postgres: which migrations were begun, whether older
// servers are compatible with them, and which servers run that do not know one.

import { emptyIfUnmade } from "../identity_traces.ts";
import type { Postgres, PostgresFragment } from "../postgres/postgres.ts";
import type { Migration, StoreName, Versions } from "./files.ts";

export interface BegunMigration {
  store: StoreName;
  version: number;
  older_go_on: boolean;
}

/** Lists those that this program does not know; none in an empty store. */
export async function listUnknown(sql: Postgres, knows: Versions): Promise<BegunMigration[]> {
  return await sql<BegunMigration[]>`
    SELECT store, version, older_go_on FROM migrations_begun WHERE ${isUnknown(sql, knows)}
    ORDER BY store DESC, version`.catch(emptyIfUnmade);
}

/** Condition of a statement that must do nothing where a newer version has begun what is incompatible with this one. */
export function hasIncompatible(sql: Postgres, knows: Versions): PostgresFragment {
  return sql`EXISTS (SELECT FROM migrations_begun WHERE NOT older_go_on AND ${isUnknown(sql, knows)})`;
}

function isUnknown(sql: Postgres, { postgres, clickhouse }: Versions): PostgresFragment {
  return sql`version > CASE store WHEN 'postgres' THEN ${postgres}::integer ELSE ${clickhouse}::integer END`;
}

/** Before a migration's first statement, or in its transaction: a server that dies within it has recorded it. */
export async function recordBegun(sql: Postgres, store: StoreName, migration: Migration): Promise<void> {
  const { version, name, olderGoOn, isBaseline } = migration;
  if (isBaseline) return;
  await sql`
    INSERT INTO migrations_begun (store, version, name, older_go_on)
    VALUES (${store}, ${version}, ${name}, ${olderGoOn})
    ON CONFLICT (store, version) DO UPDATE SET name = excluded.name, older_go_on = excluded.older_go_on`;
}

/**
 * The processes seen since then that do not know one of these migrations, by where they run; a journal's name where
 * that is not known.
 * @param own names of journals whose processes are known to have ended.
 */
export async function listOlder(
  sql: Postgres,
  needed: Versions,
  { since, own }: { since: Date; own: readonly string[] },
): Promise<string[]> {
  const found = await sql<{ location: string }[]>`
    SELECT coalesce(location, name) AS location FROM journals
    WHERE coalesce(seen_at, created_at) >= ${since} AND name <> ALL(${[...own]}::text[])
      AND (postgres_migration < ${needed.postgres}::integer OR clickhouse_migration < ${needed.clickhouse}::integer)
    ORDER BY location`.catch(emptyIfUnmade);
  return found.map(({ location }) => location);
}
