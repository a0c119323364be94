// Rows into a table of somebody else's Postgres, in one transaction: what the interval's rows replace is deleted by
// their uuid first, so that neither a retry nor two processes at once leave a row twice.

import { once } from "node:events";
import type { Postgres } from "../storage/postgres.ts";

export interface Table {
  schema: string;
  table_name: string;
}

/** The columns a table of ours has, in order. */
const created = [
  ["uuid", "uuid NOT NULL"],
  ["event", "text NOT NULL"],
  ["properties", "jsonb"],
  ["elements", "jsonb"],
  ["set", "jsonb"],
  ["set_once", "jsonb"],
  ["distinct_id", "text NOT NULL"],
  ["team_id", "integer NOT NULL"],
  ["ip", "text"],
  ["site_url", "text"],
  ["timestamp", "timestamptz NOT NULL"],
] as const;

/** One that is there is taken as it is, whoever made it. */
export async function createTable(sql: Postgres, { schema, table_name }: Table): Promise<void> {
  const [known] = await sql<{ oid: number | null }[]>`
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND c.relname = ${table_name}`;
  if (known) return;
  const columns = created.map(([name, type]) => `"${name}" ${type}`).join(", ");
  const place = nameOf({ schema, table_name });
  // Two runs at once may both find none.
  await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${lockOf({ schema, table_name })}, 0))`;
    await tx.unsafe(`CREATE TABLE IF NOT EXISTS ${place} (${columns})`);
    await tx.unsafe(
      `CREATE INDEX IF NOT EXISTS ${quote(`${table_name}_uuid`.slice(0, 63))} ON ${place} ("uuid")`,
    );
  });
}

/**
 * Copies rows in Postgres's text format into the table.
 * @param columns of those rows, the first of which tells them apart.
 * @param expected how many there have to be.
 * @throws CountError when there are more or fewer, and nothing has changed then.
 */
export async function replaceRows(
  sql: Postgres,
  table: Table,
  columns: readonly string[],
  chunks: AsyncIterable<Uint8Array>,
  expected: number,
): Promise<void> {
  const place = nameOf(table);
  const names = columns.map(quote).join(", ");
  const identity = quote(columns[0] ?? "uuid");
  await sql.begin(async (tx) => {
    await tx.unsafe(
      `CREATE TEMPORARY TABLE sluice_rows ON COMMIT DROP AS SELECT ${names} FROM ${place} WHERE false`,
    );
    const copying = await tx.unsafe(`COPY sluice_rows (${names}) FROM STDIN`).writable();
    const failed = once(copying, "error").then(([reason]) => Promise.reject(reason as Error));
    const copied = once(copying, "finish");
    failed.catch(() => {});
    copied.catch(() => {});
    try {
      for await (const chunk of chunks) {
        if (!copying.write(chunk)) await Promise.race([once(copying, "drain"), failed]);
      }
    } catch (thrown) {
      copying.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
      throw thrown;
    }
    copying.end();
    await Promise.race([copied, failed]);
    const [counted] = await tx<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM sluice_rows`;
    if (counted?.rows !== expected) throw new CountError(counted?.rows ?? 0, expected);
    // Whoever comes second waits here, and then finds the first one's rows.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${lockOf(table)}, 0))`;
    await tx.unsafe("ANALYZE sluice_rows");
    await tx.unsafe(`DELETE FROM ${place} t USING sluice_rows s WHERE t.${identity} = s.${identity}`);
    await tx.unsafe(`INSERT INTO ${place} (${names}) SELECT ${names} FROM sluice_rows`);
  });
}

/** ClickHouse gave more or fewer rows than it had counted. */
export class CountError extends Error {
  constructor(rows: number, expected: number) {
    super(`ClickHouse gave ${rows} of ${expected} rows`);
    this.name = "CountError";
  }
}

function lockOf({ schema, table_name }: Table): string {
  return `sluice export ${schema}.${table_name}`;
}

function nameOf({ schema, table_name }: Table): string {
  return `${quote(schema)}.${quote(table_name)}`;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
