// Copies rows into a table of a user's Postgres, in one transaction: rows with the same uuid are deleted first, so that
// neither a retry nor two processes at once store a row twice.

import { pipeline } from "node:stream/promises";
import { boundNumbers, mayExceed } from "../../../core/json/bounded_numbers.ts";
import { toCode, toReason } from "../../../core/log.ts";
import type { Postgres, PostgresTransaction } from "../../../storage/postgres/postgres.ts";
import type { ExportWork } from "../../source/statements.ts";
import { readLineBatches, sendBatches } from "../batches.ts";
import type { ExportedRows } from "../destination.ts";

interface TargetTable {
  schema: string;
  table_name: string;
}

/**
 * The columns of a table that we create, in order, those that identify a row, and those that another table needs for
 * the others to be left out.
 */
export const created = {
  events: {
    columns:
      '"uuid" uuid NOT NULL, "event" text NOT NULL, "properties" jsonb, "elements" jsonb, "set" jsonb, ' +
      '"set_once" jsonb, "distinct_id" text NOT NULL, "team_id" integer NOT NULL, "ip" text, "site_url" text, ' +
      '"timestamp" timestamptz NOT NULL',
    identity: ["uuid"],
    needed: ["uuid", "event", "distinct_id", "timestamp"],
  },
  persons: {
    columns:
      '"team_id" integer NOT NULL, "distinct_id" text NOT NULL, "person_id" uuid NOT NULL, "properties" jsonb, ' +
      '"person_distinct_id_version" bigint, "person_version" bigint, "created_at" timestamptz, ' +
      '"_inserted_at" timestamptz, "is_deleted" bigint',
    identity: ["team_id", "distinct_id"],
    needed: ["team_id", "distinct_id", "person_id", "properties"],
  },
} as const;

/** Creates the table unless it exists, whoever created it. Resolves to the names among these that it can hold. */
export async function createTable(
  sql: Postgres,
  table: TargetTable,
  model: keyof typeof created,
  names: readonly string[],
): Promise<readonly string[]> {
  const { columns, identity, needed } = created[model];
  const known = await readColumns(sql, table);
  if (needed.every((name) => known.has(name))) return names.filter((name) => known.has(name));
  if (known.size > 0) return names;
  const index = quote(`${table.table_name.slice(0, 50)}_identity`);
  // Two runs at once may both find no table.
  await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${nameLock(table)}, 0))`;
    await tx.unsafe(`CREATE TABLE IF NOT EXISTS ${quoteName(table)} (${columns})`);
    await tx.unsafe(
      `CREATE INDEX IF NOT EXISTS ${index} ON ${quoteName(table)} (${identity.map(quote).join(", ")})`,
    );
  });
  return names;
}

async function readColumns(sql: Postgres, { schema, table_name }: TargetTable): Promise<Set<string>> {
  const existing = await sql<{ name: string }[]>`
    SELECT a.attname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = ${schema} AND c.relname = ${table_name}`;
  return new Set(existing.map(({ name }) => name));
}

/** How a problem of the table begins, and no error of Postgres. */
export const tableProblem = "The table ";

/** Why the table cannot hold the rows; undefined when it can, or will be created. */
export async function findProblem(sql: Postgres, table: TargetTable, { model, selected }: ExportedRows) {
  const known = await readColumns(sql, table);
  const name = `${tableProblem}${quoteName(table)}`;
  if (known.size === 0)
    return selected && `${name} does not exist, and the one of a native_query is not created`;
  const missing = (selected ?? created[model].needed).filter((column) => !known.has(column));
  return missing.length === 0 ? undefined : `${name} has no column ${missing.map(quote).join(", ")}`;
}

interface Layout {
  columns: readonly string[];
  identity: readonly string[];
}

/**
 * Copies rows in Postgres's text format into the table, in place of those with the same key. All of them or none.
 * @returns how many.
 * @throws Error when their number differs from the expected one; then nothing has changed.
 */
export async function replaceRows(
  sql: Postgres,
  table: TargetTable,
  layout: Layout,
  chunks: AsyncIterable<Uint8Array>,
  expected: number,
): Promise<number> {
  return await sql.begin(async (tx) => {
    const copied = await copyRows(tx, table, layout, readLineBatches(chunks));
    if (copied !== expected) throw new Error(`ClickHouse gave ${copied} of ${expected} rows`);
    return copied;
  });
}

/**
 * Variant of replaceRows(), in batches, and without the rows that the table refuses, which are put aside. Where none is
 * accepted, a row with plain values shows whether the table is wrong: its types, or a column that the rows lack.
 */
export async function replaceAcceptedRows(
  sql: Postgres,
  table: TargetTable,
  layout: Layout,
  chunks: AsyncIterable<Uint8Array>,
  work: Pick<ExportWork, "rows" | "refused">,
): Promise<number> {
  const { columns } = layout;
  const position = columns.indexOf(["uuid", "person_id"].find((name) => columns.includes(name)) ?? "");
  return await sql.begin(async (tx) => {
    const send = (lines: readonly Uint8Array[]) =>
      tx.savepoint(async (part) => await copyRows(part, table, layout, [lines]));
    let cells: string[] = [];
    const readRefusal = (thrown: unknown, line: Uint8Array) => {
      if (!isRowRefusal(thrown)) return undefined;
      cells = toCells(line);
      return { uuid: cells[position] ?? "", reason: readReason(thrown) };
    };
    const checkDestination = async () => {
      const plainRow = Buffer.from(cells.map(plainCell).join("\t"), "latin1");
      const trial = tx.savepoint(async (part) => {
        await copyRows(part, table, layout, [[plainRow]]);
        throw new Error("It is accepted, and not kept.");
      });
      await trial.catch((thrown: { column_name?: string }) => {
        const isForeign = toCode(thrown) === "23502" && !columns.includes(thrown.column_name ?? "");
        if (isForeign || toCode(thrown).startsWith("22")) throw work.refused.named[0]!.thrown;
      });
    };
    return await sendBatches(work, chunks, { send, readRefusal, checkDestination });
  });
}

/** A cell that a column of the right type accepts: its own id, moment or truth value, else an empty value. */
function plainCell(cell: string): string {
  if (/^(?:\\N|true|false|[\da-f]{8}-[\da-f-]{27}|\d{4}-\d\d-\d\d[\d :.]{0,20})$/.test(cell)) return cell;
  if (/^[{["]/.test(cell)) return "{}";
  return /^-?\d[\d.e+-]*$/.test(cell) ? "0" : "";
}

/** Runs within a transaction. @returns how many rows were copied. */
async function copyRows(
  tx: PostgresTransaction,
  table: TargetTable,
  { columns, identity }: Layout,
  batches: AsyncIterable<readonly Uint8Array[]> | Iterable<readonly Uint8Array[]>,
): Promise<number> {
  const target = quoteName(table);
  const names = columns.map(quote).join(", ");
  const sameRow = identity.map((name) => `t.${quote(name)} = s.${quote(name)}`).join(" AND ");
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
  const positions = jsons.map(({ position }) => position);
  const rows = async function* () {
    for await (const lines of batches) {
      yield Buffer.concat(lines.flatMap((line) => [boundCells(line, positions), lineFeed]));
    }
  };
  await pipeline(rows, copying);
  const [counted] = await tx<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM sluice_rows`;
  // A second transaction waits here, and then finds the rows of the first.
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${nameLock(table)}, 0))`;
  await tx.unsafe("ANALYZE sluice_rows");
  await tx.unsafe(`DELETE FROM ${target} t USING sluice_rows s WHERE ${sameRow}`);
  await tx.unsafe(`INSERT INTO ${target} (${names}) SELECT ${names} FROM sluice_rows`);
  await tx.unsafe("DROP TABLE sluice_rows");
  return counted?.rows ?? 0;
}

const lineFeed = Buffer.from("\n");

/** A row with the numbers bounded in its cells of JSON: jsonb refuses some that the stored text may have. */
function boundCells(row: Uint8Array, positions: readonly number[]): Uint8Array {
  if (positions.length === 0 || !mayExceed(row)) return row;
  const cells = toCells(row);
  for (const position of positions) cells[position] = boundCell(cells[position] ?? "");
  return Buffer.from(cells.join("\t"), "latin1");
}

/** The engine escapes bytes with a backslash; in JSON they are blanks, or backslashes of its own. */
function boundCell(cell: string): string {
  const text = cell.replaceAll(/\\(.)/g, (_, byte: string) => ("nrt".includes(byte) ? " " : byte));
  const json = Buffer.from(text, "latin1");
  const bounded = boundNumbers(json);
  return bounded === json ? cell : Buffer.from(bounded).toString("latin1").replaceAll("\\", "\\\\");
}

/** Latin-1 keeps each byte. */
function toCells(row: Uint8Array): string[] {
  return Buffer.from(row).toString("latin1").split("\t");
}

/** Classes of errors about a row's values: their type, a constraint, a limit, a trigger. */
export function isRowRefusal(thrown: unknown): boolean {
  return /^(22|23|54|P0001)/.test(toCode(thrown));
}

/** The column, if Postgres names it, and the error without the value, which follows a colon and a quote. */
function readReason(thrown: unknown): string {
  const { column_name, where = "" } = thrown as { column_name?: string; where?: string };
  const column = column_name ?? /^COPY sluice_rows, line \d+, column ([^:]+)/.exec(where)?.[1];
  const [reason = ""] = toReason(thrown).split(': "', 1);
  return column === undefined ? reason : `column ${column}: ${reason}`;
}

function nameLock({ schema, table_name }: TargetTable): string {
  return `sluice export ${schema}.${table_name}`;
}

function quoteName({ schema, table_name }: TargetTable): string {
  return `${quote(schema)}.${quote(table_name)}`;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
