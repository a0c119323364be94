// The definitions of all tables, views and what belongs to them in both stores, to compare two ways of making them.

import type { EmptyStores } from "./migrations.ts";

type Clients = Pick<EmptyStores, "sql" | "clickhouse">;

/** By the name of each thing, its definition. */
export async function readSchema({ sql, clickhouse }: Clients): Promise<Record<string, string>> {
  const tables = await clickhouse.query<{ name: string; text: string }>(
    `SELECT concat('clickhouse ', name) AS name, replaceAll(create_table_query, concat(database, '.'), '') AS text
     FROM system.tables WHERE database = {database:String} ORDER BY name`,
    { database: clickhouse.database },
  );
  const things = await sql.unsafe<{ name: string; text: string }[]>(catalog);
  return Object.fromEntries([...tables, ...things].map(({ name, text }) => [name, text]));
}

/** What a dump says of the public schema, but for the names of NOT NULL constraints, which nothing uses. */
const catalog = `
  WITH classes AS (
    SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace
  )
  SELECT 'column ' || relname || '.' || attname AS name, concat_ws(' ',
    row_number() OVER (PARTITION BY attrelid ORDER BY attnum), format_type(atttypid, atttypmod), attnotnull, attidentity,
    attgenerated, attcollation::regcollation, attstorage, pg_get_expr(adbin, adrelid)) AS text
  FROM classes JOIN pg_attribute ON attrelid = classes.oid AND attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'v')
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  UNION ALL
  SELECT relkind::text || ' ' || relname, coalesce(pg_get_viewdef(CASE relkind WHEN 'v' THEN oid END), '') FROM classes
  WHERE relkind IN ('r', 'v')
  UNION ALL
  SELECT 'constraint ' || relname || '.' || conname, pg_get_constraintdef(c.oid)
  FROM pg_constraint c JOIN classes ON conrelid = classes.oid WHERE contype <> 'n'
  UNION ALL
  SELECT 'index ' || relname, pg_get_indexdef(oid) FROM classes WHERE relkind = 'i'
  UNION ALL
  SELECT 'trigger ' || relname || '.' || tgname, pg_get_triggerdef(t.oid)
  FROM pg_trigger t JOIN classes ON tgrelid = classes.oid WHERE NOT tgisinternal
  UNION ALL
  SELECT 'function ' || proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL
  SELECT 'sequence ' || sequencename, concat_ws(' ', data_type, start_value, min_value, max_value, increment_by, cycle,
    cache_size, (SELECT string_agg(refobjid::regclass || '.' || refobjsubid, ' ') FROM pg_depend
      WHERE objid = sequencename::regclass AND classid = 'pg_class'::regclass AND deptype IN ('a', 'i')))
  FROM pg_sequences WHERE schemaname = 'public'
  UNION ALL
  SELECT 'passes', string_agg(id, ', ' ORDER BY id) FROM passes`;
