// The rows of the embedded Postgres, which comes without pg_dump: every table as lines of JSON, read in one
// transaction, and inserted into the tables that the migrations have created. A line is an array of the columns' values
// as Postgres writes them, and the first line has the columns' names. COPY is not used: postgres.js stops reading the
// connection when the last rows of one arrive faster than they are consumed.

import { UserError } from "../../../core/fault.ts";
import { toReason } from "../../../core/log.ts";
import type { Postgres, PostgresTransaction } from "../../../storage/postgres/postgres.ts";
import { storeLocks } from "../../../storage/postgres/store_locks.ts";
import { backupLimits } from "../limits.ts";

export type HeldConnection = Awaited<ReturnType<Postgres["reserve"]>>;

/**
 * Tables that are not copied: those that migrations fill, and the salts of the last days, with which visitors without a
 * cookie could be identified.
 */
const leftOut: ReadonlySet<string> = new Set(["schema_migrations", "migrations_begun", "cookieless_salts"]);

/** One backup at a time; the lock is the connection's. @throws UserError when another one runs. */
export async function lockBackups(connection: HeldConnection): Promise<void> {
  const [got] = await connection<{ locked: boolean }[]>`
    SELECT pg_try_advisory_lock(${storeLocks.backup}::bigint) AS locked`;
  if (got?.locked !== true) throw new UserError("another backup of this DATA_DIR is running");
}

/**
 * @throws UserError where the connection has not had the lock all the time: a server that started, or another backup,
 *   may have removed frozen parts.
 */
export async function checkBackupLock(connection: HeldConnection): Promise<void> {
  const locks = await connection`
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() LIMIT 1`.catch(() => []);
  if (locks.length === 0)
    throw new UserError("the server was restarted while its files were copied: repeat the backup");
}

/** From here on the connection sees one moment, until endSnapshot(). */
export async function beginSnapshot(connection: HeldConnection): Promise<void> {
  await connection`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
  // The snapshot is that of the first statement.
  await connection`SELECT 1 FROM pg_class LIMIT 1`;
}

export async function endSnapshot(connection: HeldConnection): Promise<void> {
  await connection`COMMIT`;
}

/** The tables that are copied, each after those that it refers to. */
export async function listRowTables(sql: Postgres): Promise<string[]> {
  const found = await sql<{ name: string; targets: string[] }[]>`
    SELECT t.relname AS name, coalesce(array_agg(f.relname) FILTER (WHERE f.oid <> t.oid), '{}') AS targets
    FROM pg_class t
    LEFT JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype = 'f'
    LEFT JOIN pg_class f ON f.oid = c.confrelid
    WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
    GROUP BY t.relname ORDER BY t.relname`;
  const targets = new Map(found.map((table) => [table.name, table.targets]));
  const ordered = new Set<string>();
  const add = (name: string): void => {
    const ahead = targets.get(name) ?? [];
    // Each is listed once, even if two refer to each other.
    targets.delete(name);
    for (const target of ahead) add(target);
    ordered.add(name);
  };
  for (const { name } of found) add(name);
  return [...ordered].filter((name) => !leftOut.has(name));
}

export async function countAccounts(sql: Postgres): Promise<number> {
  const [found] = await sql<{ count: number }[]>`SELECT count(*)::integer AS count FROM organizations`;
  return found?.count ?? 0;
}

/** The last values of sequences that were used. They belong to no snapshot: read after it, they are never too low. */
export async function readSequences(sql: Postgres): Promise<Record<string, string>> {
  const found = await sql<{ name: string; value: string }[]>`
    SELECT sequencename AS name, last_value::text AS value FROM pg_sequences
    WHERE schemaname = 'public' AND last_value IS NOT NULL ORDER BY sequencename`;
  return Object.fromEntries(found.map(({ name, value }) => [name, value]));
}

/** Raises sequences to these values; those that are higher stay. */
export async function raiseSequences(sql: Postgres, values: Readonly<Record<string, string>>): Promise<void> {
  const own = await readSequences(sql);
  for (const [name, value] of Object.entries(values)) {
    const isKnown =
      (await sql`SELECT FROM pg_sequences WHERE schemaname = 'public' AND sequencename = ${name}`).length > 0;
    if (isKnown && BigInt(value) > BigInt(own[name] ?? 0))
      await sql`SELECT setval(${quote(name)}::regclass, ${value}::text::bigint)`;
  }
}

/** Those that are not generated, in their order, with their types as in a cast. */
async function readColumns(sql: Postgres | PostgresTransaction, table: string) {
  return await sql<{ name: string; type: string }[]>`
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = ${quote(table)}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum`;
}

/** A table's lines, many in a chunk. */
export async function* copyOut(connection: HeldConnection, table: string): AsyncGenerator<Uint8Array> {
  const columns = await readColumns(connection, table);
  yield Buffer.from(`${JSON.stringify(columns.map(({ name }) => name))}\n`);
  const values = columns.map(({ name }) => `${quote(name)}::text`).join(", ");
  const text = `SELECT json_build_array(${values})::text AS line FROM ${quote(table)}`;
  for await (const rows of connection.unsafe<{ line: string }[]>(text).cursor(backupLimits.rowsAtOnce)) {
    yield Buffer.from(rows.map(({ line }) => `${line}\n`).join(""));
  }
}

/** Fills the tables, in their order, in one transaction; no trigger adds rows to them. */
export async function copyIn(
  sql: Postgres,
  tables: AsyncIterable<{ table: string; chunks: AsyncIterable<Uint8Array> }>,
  sequences: Readonly<Record<string, string>>,
): Promise<void> {
  await sql.begin(async (transaction) => {
    const names = (await listRowTables(sql)).map(quote);
    const triggers = (verb: string) =>
      transaction.unsafe(names.map((name) => `ALTER TABLE ${name} ${verb} TRIGGER USER`).join("; ")).simple();
    await transaction.unsafe(`TRUNCATE ${names.join(", ")}`);
    await triggers("DISABLE");
    for await (const { table, chunks } of tables) await fill(transaction, table, chunks);
    await triggers("ENABLE");
    for (const [name, value] of Object.entries(sequences)) {
      await transaction`SELECT setval(${quote(name)}::regclass, ${value}::text::bigint)`;
    }
  });
}

async function fill(transaction: PostgresTransaction, table: string, chunks: AsyncIterable<Uint8Array>) {
  const columns = await readColumns(transaction, table);
  const names = columns.map(({ name }) => quote(name)).join(", ");
  const values = columns.map(({ type }, i) => `(r.value ->> ${i})::${type}`).join(", ");
  const text = `INSERT INTO ${quote(table)} (${names}) OVERRIDING SYSTEM VALUE
    SELECT ${values} FROM json_array_elements($1::text::json) AS r(value)`;
  let head = true;
  for await (const lines of readLines(chunks)) {
    const rows = head ? lines.slice(1) : lines;
    if (head && lines[0] !== JSON.stringify(columns.map(({ name }) => name))) {
      throw new UserError(`the rows of ${table} have other columns than the table`);
    }
    head = false;
    for (let at = 0; at < rows.length; at += backupLimits.rowsAtOnce) {
      const some = rows.slice(at, at + backupLimits.rowsAtOnce);
      await transaction.unsafe(text, [`[${some.join(",")}]`]).catch((thrown) => {
        throw new UserError(`Postgres does not take the rows of ${table}: ${toReason(thrown)}`);
      });
    }
  }
}

/** The whole lines of each chunk. */
async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let openLine = "";
  for await (const chunk of chunks) {
    const lines = (openLine + decoder.decode(chunk, { stream: true })).split("\n");
    openLine = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export async function countProjects(sql: Postgres): Promise<number> {
  const [found] = await sql<{ projects: number }[]>`SELECT count(*)::int AS projects FROM projects`;
  return found!.projects;
}
