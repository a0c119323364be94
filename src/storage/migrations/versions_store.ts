// Holds what servers of several versions report to each other in Postgres: which migrations were begun, whether older
// servers are compatible with them, and which servers run that do not know one.

import type { Postgres, PostgresFragment } from "../postgres/postgres.ts";
import { firstHeaded, type Migration, type StoreName, type Versions } from "./files.ts";

export interface BegunMigration {
  store: StoreName;
  version: number;
  older_go_on: boolean;
}

/** Lists those that this program does not know; none in a store from before they were recorded. */
export async function listUnknown(sql: Postgres, knows: Versions): Promise<BegunMigration[]> {
  if (!(await hasTable(sql, "migrations_begun"))) return [];
  return await sql<BegunMigration[]>`
    SELECT store, version, older_go_on FROM migrations_begun WHERE ${isUnknown(sql, knows)}
    ORDER BY store DESC, version`;
}

/** Condition of a statement that must do nothing where a newer version has begun what is incompatible with this one. */
export function hasIncompatible(sql: Postgres, knows: Versions): PostgresFragment {
  return sql`EXISTS (SELECT FROM migrations_begun WHERE NOT older_go_on AND ${isUnknown(sql, knows)})`;
}

function isUnknown(sql: Postgres, { postgres, clickhouse }: Versions): PostgresFragment {
  return sql`version > CASE store WHEN 'postgres' THEN ${postgres}::integer ELSE ${clickhouse}::integer END`;
}

/** Before a migration's first statement, or in its transaction: a server that dies within it has recorded it. */
export async function recordBegun(sql: Postgres, store: StoreName, { version, name, olderGoOn }: Migration) {
  // Postgres's file of that number makes the table.
  if (version < firstHeaded) return;
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
  if (!(await hasTable(sql, "journals"))) return [];
  // JSON, since the columns are missing before their migration: such a process knows the files before it.
  const before = firstHeaded - 1;
  const found = await sql<{ location: string }[]>`
    SELECT coalesce(told ->> 'location', name) AS location
    FROM (SELECT name, seen_at, created_at, to_jsonb(journals) AS told FROM journals) AS known
    WHERE coalesce(seen_at, created_at) >= ${since} AND name <> ALL(${[...own]}::text[])
      AND (coalesce((told ->> 'postgres_migration')::integer, ${before}::integer) < ${needed.postgres}::integer
        OR coalesce((told ->> 'clickhouse_migration')::integer, ${before}::integer)
          < ${needed.clickhouse}::integer)
    ORDER BY location`;
  return found.map(({ location }) => location);
}

async function hasTable(sql: Postgres, name: string): Promise<boolean> {
  const [found] = await sql<{ there: boolean }[]>`SELECT to_regclass(${name}::text) IS NOT NULL AS there`;
  return found?.there ?? false;
}
