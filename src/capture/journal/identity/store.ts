// Journals in Postgres: their numbers, the processes that hold them, their watermarks.

import type { Versions } from "../../../storage/migrations/files.ts";
import { hasIncompatible } from "../../../storage/migrations/versions_store.ts";
import type { Postgres, PostgresTransaction } from "../../../storage/postgres/postgres.ts";
import type { Journal } from "../journal.ts";
import { journalLimits } from "../limits.ts";
import type { JournalIdentity } from "./journal_identity.ts";

type Held = Pick<JournalIdentity, "name" | "number" | "holder">;

/** A process as the database knows it: what servers of other versions may learn of it. */
export interface Process {
  /** The migrations it knows. */
  knows: Versions;
  /** Host and folder. */
  location: string;
}

export interface Registration {
  database: string;
  /** Its row of the journal; null when it was never registered, or left. */
  row: { number: number; holder: string | null; seen: string | null } | null;
  isTaken: boolean;
  /** Whether a newer version has begun a migration that is incompatible with this process. */
  isFenced: boolean;
}

/** @throws when the database has no id. */
export async function readRegistration(
  sql: Postgres,
  { name, number }: Omit<Held, "holder">,
  { knows }: Process,
): Promise<Registration> {
  const [read] = await sql<Registration[]>`
    SELECT i.id::text AS database, ${hasIncompatible(sql, knows)} AS "isFenced",
      EXISTS (SELECT FROM journals WHERE id = ${number}::integer AND name <> ${name}) AS "isTaken",
      (SELECT jsonb_build_object('number', id, 'holder', holder, 'seen', seen_at::text)
        FROM journals WHERE name = ${name}) AS row
    FROM database_identity i`;
  if (!read) throw new Error("the database has no identity");
  return read;
}

/** Registers a journal under a number that was never used; resolves to it and the database's id. */
export async function registerJournal(
  sql: Postgres,
  { name, holder }: Omit<Held, "number">,
  { knows, location }: Process,
): Promise<{ number: number; database: string }> {
  return await sql.begin(async (transaction) => {
    await lockJournals(transaction);
    // A batch number holds only the remainder of the journal's number: remainders must differ too.
    const [journal] = await transaction<{ number: number; database: string }[]>`
      WITH used AS (
        SELECT greatest(last_value - (NOT is_called)::integer, (SELECT max(id) FROM journals)) AS last
        FROM journals_id_seq
      ), free AS (
        SELECT min(number) AS number
        FROM used, generate_series(last + 1, last + ${journalLimits.journalsCountMax}::integer) AS number
        WHERE NOT EXISTS (
          SELECT FROM journals WHERE (id - number) % ${journalLimits.journalsCountMax}::integer = 0)
      )
      INSERT INTO journals (id, name, holder, postgres_migration, clickhouse_migration, location)
      OVERRIDING SYSTEM VALUE
      SELECT setval('journals_id_seq', number), ${name}, ${holder}, ${knows.postgres}::integer,
        ${knows.clickhouse}::integer, ${location}
      FROM free
      RETURNING id AS number, (SELECT id::text FROM database_identity) AS database`;
    return journal!;
  });
}

/**
 * Makes this process the holder of a journal. Resolves to false when another process became it since `seen` was read.
 */
export async function claimJournal(
  sql: Postgres,
  { name, number, holder }: Held,
  { knows, location }: Process,
  seen: Registration["row"],
): Promise<boolean> {
  if (seen) {
    const claimed = await sql`
      UPDATE journals SET holder = ${holder}, location = ${location}, postgres_migration = ${knows.postgres},
        clickhouse_migration = ${knows.clickhouse}
      WHERE name = ${name} AND id = ${number} AND holder IS NOT DISTINCT FROM ${seen.holder} RETURNING 1`;
    return claimed.length > 0;
  }
  return await sql.begin(async (transaction) => {
    await lockJournals(transaction);
    const claimed = await transaction`
      INSERT INTO journals (id, name, holder, postgres_migration, clickhouse_migration, location)
      OVERRIDING SYSTEM VALUE
      VALUES (${number}, ${name}, ${holder}, ${knows.postgres}, ${knows.clickhouse}, ${location})
      ON CONFLICT DO NOTHING RETURNING 1`;
    // An explicit id does not move the sequence.
    await transaction`
      SELECT setval('journals_id_seq', ${number}::integer) FROM journals_id_seq WHERE last_value <= ${number}::integer`;
    return claimed.length > 0;
  });
}

/**
 * Publishes the watermarks of a journal (migration 0017 defines the columns). Registers the journal again if it had
 * left. Resolves to false, and writes nothing, when the database is another one, another process holds the journal, or
 * a newer version has begun a migration that is incompatible with this process.
 */
export async function publishWatermarks(
  sql: Postgres,
  { name, number, holder, database }: Held & { database: string },
  { knows, location }: Process,
  { stored, derived, recordings }: ReturnType<Journal["watermarks"]>,
  now: number,
): Promise<boolean> {
  // If the row is missing, claimJournal() has moved the sequence past its number.
  const written = await sql`
    INSERT INTO journals
      (id, name, holder, watermark, stored_watermark, recordings_watermark, seen_at,
        postgres_migration, clickhouse_migration, location)
    OVERRIDING SYSTEM VALUE
    SELECT ${number}::integer, ${name}, ${holder}, to_timestamp(${derived / 1e6}), to_timestamp(${stored / 1e6}),
      to_timestamp(${recordings / 1e6}), to_timestamp(${now / 1e3}), ${knows.postgres}::integer,
      ${knows.clickhouse}::integer, ${location}
    FROM database_identity WHERE id = ${database}::uuid AND NOT ${hasIncompatible(sql, knows)}
    ON CONFLICT (name) DO UPDATE SET watermark = excluded.watermark, seen_at = excluded.seen_at,
        stored_watermark = excluded.stored_watermark, recordings_watermark = excluded.recordings_watermark,
        postgres_migration = excluded.postgres_migration,
        clickhouse_migration = excluded.clickhouse_migration, location = excluded.location
      WHERE journals.id = excluded.id AND journals.holder = excluded.holder
    RETURNING 1`;
  return written.length > 0;
}

/** Deletes the registration of an empty journal, if `holder` holds it. Its number is not used again. */
export async function leaveJournals(
  sql: Postgres,
  { name, holder }: Pick<Held, "name" | "holder">,
): Promise<void> {
  await sql`DELETE FROM journals WHERE name = ${name} AND holder = ${holder}`;
}

async function lockJournals(transaction: PostgresTransaction): Promise<void> {
  await transaction`LOCK TABLE journals IN SHARE ROW EXCLUSIVE MODE`;
}
