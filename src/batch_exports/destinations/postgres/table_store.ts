// Copies rows into a table of a user's Postgres, in one transaction: rows with the same uuid are deleted first, so that
// neither a retry nor two processes at once store a row twice.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { codeOf, reasonOf } from "../../../core/log.ts";
import type { Postgres, PostgresTransaction } from "../../../storage/postgres/postgres.ts";
import { type RefusedRows, sendHalving } from "../../source/refused_rows.ts";
import { batchesOf } from "../batches.ts";
import { boundCells } from "./json_cells.ts";

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
  return await sql.begin(async (tx) => {
    const copied = await copyRows(tx, table, rows);
    checkCount(copied, rows.expected);
    return copied;
  });
}

/** As replaceRows(), in batches, and without the rows that the table refuses, which are added to `refused`. */
export async function replaceAcceptedRows(
  sql: Postgres,
  table: TargetTable,
  rows: CopiedRows,
  refused: RefusedRows,
): Promise<number> {
  const named = ["uuid", "person_id", ...rows.identity].find((name) => rows.columns.includes(name)) ?? "";
  const refuse = (thrown: unknown, row: Uint8Array | undefined): void => {
    if (!isRowRefusal(thrown)) throw thrown;
    if (row) refused.add(cellOf(row, rows.columns.indexOf(named)), reasonOfRow(thrown), thrown);
  };
  return await sql.begin(async (tx) => {
    let copied = 0;
    for await (const batch of batchesOf(rows.chunks)) {
      const send = async (lines: readonly Uint8Array[]): Promise<void> => {
        const chunks = Readable.from(lines.map((line) => Buffer.concat([line, lineFeed])));
        await tx.savepoint(async (part) => await copyRows(part, table, { ...rows, chunks }));
      };
      copied += await sendHalving(batch, send, refuse);
    }
    checkCount(copied + refused.count, rows.expected);
    return copied;
  });
}

const lineFeed = Buffer.from("\n");

function checkCount(copied: number, expected: number): void {
  if (copied !== expected) throw new Error(`ClickHouse gave ${copied} of ${expected} rows`);
}

/** Within a transaction. @returns how many. */
async function copyRows(
  tx: PostgresTransaction,
  table: TargetTable,
  { columns, identity, chunks }: CopiedRows,
): Promise<number> {
  const target = nameOf(table);
  const names = columns.map(quote).join(", ");
  const same = identity.map((name) => `t.${quote(name)} = s.${quote(name)}`).join(" AND ");
  await tx.unsafe(
    `CREATE TEMPORARY TABLE sluice_rows ON COMMIT DROP AS SELECT ${names} FROM ${target} WHERE false`,
  );
  const jsons = await tx<{ position: number }[]>`
    SELECT a.attnum - 1 AS position FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = 'sluice_rows'::regclass AND a.attnum > 0
      AND coalesce(nullif(t.typbasetype, 0), t.oid) IN ('json'::regtype, 'jsonb'::regtype)`;
  const copy = tx.unsafe(`COPY sluice_rows (${names}) FROM STDIN`);
  const copying = await copy.writable();
  // The client reports a refusal after the last row to this query only, which has been answered with the stream.
  Object.assign(copy, { reject: (reason: Error) => copying.destroy(reason) });
  await pipeline(boundCells(chunks, new Set(jsons.map(({ position }) => position))), copying);
  const [counted] = await tx<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM sluice_rows`;
  // A second transaction waits here, and then finds the rows of the first.
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${lockOf(table)}, 0))`;
  await tx.unsafe("ANALYZE sluice_rows");
  await tx.unsafe(`DELETE FROM ${target} t USING sluice_rows s WHERE ${same}`);
  await tx.unsafe(`INSERT INTO ${target} (${names}) SELECT ${names} FROM sluice_rows`);
  await tx.unsafe("DROP TABLE sluice_rows");
  return counted?.rows ?? 0;
}

/** Classes of errors about a row's values: their type, a constraint, a limit, a trigger. */
export function isRowRefusal(thrown: unknown): boolean {
  return /^(22|23|54|P0001)/.test(codeOf(thrown));
}

/** The column, if Postgres names it, and the error without the value, which follows a colon and a quote. */
function reasonOfRow(thrown: unknown): string {
  const { column_name, where = "" } = thrown as { column_name?: string; where?: string };
  const column = column_name ?? /^COPY sluice_rows, line \d+, column ([^:]+)/.exec(where)?.[1];
  const [reason = ""] = reasonOf(thrown).split(': "', 1);
  return column === undefined ? reason : `column ${column}: ${reason}`;
}

function cellOf(row: Uint8Array, position: number): string {
  return (
    Buffer.from(row)
      .toString()
      .split("\t", position + 1)[position] ?? ""
  );
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
