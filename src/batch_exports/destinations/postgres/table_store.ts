// Copies rows into a table of a user's Postgres, in one transaction: rows with the same uuid are deleted first, so that
// neither a retry nor two processes at once store a row twice.

import { pipeline } from "node:stream/promises";
import type { Postgres } from "../../../storage/postgres/postgres.ts";

interface TargetTable {
  schema: string;
  table_name: string;
}

/** The columns of a table that we create, in order, and its key. */
const created = {
  events: {
    columns:
      '"uuid" uuid NOT NULL, "event" text NOT NULL, "properties" jsonb, "elements" jsonb, "set" jsonb, ' +
      '"set_once" jsonb, "distinct_id" text NOT NULL, "team_id" integer NOT NULL, "ip" text, "site_url" text, ' +
      '"timestamp" timestamptz NOT NULL',
    identity: ["uuid"],
  },
  persons: {
    columns:
      '"team_id" integer NOT NULL, "distinct_id" text NOT NULL, "person_id" uuid NOT NULL, "properties" jsonb, ' +
      '"person_distinct_id_version" bigint, "person_version" bigint, "created_at" timestamptz, ' +
      '"_inserted_at" timestamptz, "is_deleted" bigint',
    identity: ["team_id", "distinct_id"],
  },
} as const;

/** The columns that identify a row of a model. */
export function identityOf(model: keyof typeof created): readonly string[] {
  return created[model].identity;
}

/** Creates the table unless it exists, whoever created it. */
export async function createTable(
  sql: Postgres,
  table: TargetTable,
  model: keyof typeof created,
): Promise<void> {
  const { schema, table_name } = table;
  const [existing] = await sql<{ oid: number | null }[]>`
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND c.relname = ${table_name}`;
  if (existing) return;
  const { columns, identity } = created[model];
  const index = quote(`${table_name.slice(0, 50)}_identity`);
  // Two runs at once may both find no table.
  await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${lockOf(table)}, 0))`;
    await tx.unsafe(`CREATE TABLE IF NOT EXISTS ${nameOf(table)} (${columns})`);
    await tx.unsafe(
      `CREATE INDEX IF NOT EXISTS ${index} ON ${nameOf(table)} (${identity.map(quote).join(", ")})`,
    );
  });
}

interface CopiedRows {
  columns: readonly string[];
  identity: readonly string[];
  /** The rows in Postgres's text format. */
  chunks: AsyncIterable<Uint8Array>;
  expected: number;
}

/**
 * Copies rows into the table, in place of those with the same key. All of them or none.
 * @returns how many.
 * @throws Error when their number differs from the expected one; then nothing has changed.
 */
export async function replaceRows(sql: Postgres, table: TargetTable, rows: CopiedRows): Promise<number> {
  const { columns, identity, chunks, expected } = rows;
  const target = nameOf(table);
  const names = columns.map(quote).join(", ");
  const same = identity.map((name) => `t.${quote(name)} = s.${quote(name)}`).join(" AND ");
  return await sql.begin(async (tx) => {
    await tx.unsafe(
      `CREATE TEMPORARY TABLE sluice_rows ON COMMIT DROP AS SELECT ${names} FROM ${target} WHERE false`,
    );
    const copy = tx.unsafe(`COPY sluice_rows (${names}) FROM STDIN`);
    const copying = await copy.writable();
    // The client reports a refusal after the last row to this query only, which has been answered with the stream.
    Object.assign(copy, { reject: (reason: Error) => copying.destroy(reason) });
    await pipeline(chunks, copying);
    const [counted] = await tx<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM sluice_rows`;
    const copied = counted?.rows ?? 0;
    if (copied !== expected) throw new Error(`ClickHouse gave ${copied} of ${expected} rows`);
    // A second transaction waits here, and then finds the rows of the first.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${lockOf(table)}, 0))`;
    await tx.unsafe("ANALYZE sluice_rows");
    await tx.unsafe(`DELETE FROM ${target} t USING sluice_rows s WHERE ${same}`);
    await tx.unsafe(`INSERT INTO ${target} (${names}) SELECT ${names} FROM sluice_rows`);
    return copied;
  });
}

function lockOf({ schema, table_name }: TargetTable): string {
  return `sluice export ${schema}.${table_name}`;
}

function nameOf({ schema, table_name }: TargetTable): string {
  return `${quote(schema)}.${quote(table_name)}`;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
