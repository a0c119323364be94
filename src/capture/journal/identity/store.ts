// Journals in Postgres: their numbers, the processes that hold them, their watermarks.

import { knownMigrations, type Versions } from "../../../storage/migrations/files.ts";
import { hasIncompatible } from "../../../storage/migrations/versions_store.ts";
import type { Postgres, PostgresTransaction } from "../../../storage/postgres/postgres.ts";
import type { Watermarks } from "../figures.ts";
import { journalLimits } from "../limits.ts";
import type { Home } from "./journal_identity.ts";

interface Held {
  name: string;
  number: number;
  /** The process's own id, new at each start. */
  holder: string;
}

/** A process as the database knows it: what servers of other versions may learn of it. */
export interface Process {
  /** The migrations it knows. */
  knows: Versions;
  /** Host and folder. */
  location: string;
}

export function thisProcess({ host, path }: Home): Process {
  return { knows: knownMigrations(), location: `${host}:${path}` };
}

export type Registration = Awaited<ReturnType<typeof readRegistration>>;

/** The database's id, and what it has of this journal. @throws when the database has no id. */
export async function readRegistration(
  sql: Postgres,
  { name, number }: Pick<Held, "name" | "number">,
  { knows }: Process,
) {
  const [read] = await sql<ReadRegistration[]>`
    SELECT i.id::text AS database, j.id AS number, j.holder, j.seen_at::text AS seen,
      ${hasIncompatible(sql, knows)} AS outlived,
      EXISTS (SELECT FROM journals WHERE id = ${number}::integer AND name <> ${name}) AS taken
    FROM database_identity i LEFT JOIN journals j ON j.name = ${name}`;
  if (!read) throw new Error("the database has no identity");
  const { database, holder, seen, taken, outlived } = read;
  return {
    database,
    /** The journal's row; undefined when it was never registered, or left. */
    row: read.number === null ? undefined : { number: read.number, holder, seen },
    /** Whether another journal has the number. */
    isTaken: taken,
    /** Whether a newer version has begun a migration that is incompatible with this process. */
    isFenced: outlived,
  };
}

interface ReadRegistration {
  database: string;
  number: number | null;
  holder: string | null;
  seen: string | null;
  taken: boolean;
  outlived: boolean;
}

/** Whether another process than `holder` and the one before it has claimed the journal. */
export function isClaimedByOther(
  { holder, earlier }: { holder: string; earlier: string },
  row: Registration["row"],
): boolean {
  return row !== undefined && row.holder !== null && row.holder !== holder && row.holder !== earlier;
}

/** Registers a journal under a number that was never used; resolves to it and the database's id. */
export async function registerJournal(
  sql: Postgres,
  { name, holder }: Omit<Held, "number">,
  { knows, location }: Process,
): Promise<{ number: number; database: string }> {
  return await sql.begin(async (transaction) => {
    await lockNumbers(transaction);
    const [made] = await transaction<{ number: number; database: string }[]>`
      INSERT INTO journals (name, holder, postgres_migration, clickhouse_migration, location)
      VALUES (${name}, ${holder}, ${knows.postgres}, ${knows.clickhouse}, ${location})
      RETURNING id AS number, (SELECT id::text FROM database_identity) AS database`;
    if (!made) throw new Error("the journal was not registered");
    // A batch number holds only the remainder of the journal's number: remainders must differ too.
    for (let again = 0; again < journalLimits.journalsCountMax; again++) {
      const [renumbered] = await transaction<{ number: number }[]>`
        UPDATE journals SET id = DEFAULT
        WHERE name = ${name} AND EXISTS (
          SELECT FROM journals other
          WHERE other.name <> ${name} AND (other.id - journals.id) % ${journalLimits.journalsCountMax}::integer = 0)
        RETURNING id AS number`;
      if (!renumbered) break;
      made.number = renumbered.number;
    }
    return made;
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
    await lockNumbers(transaction);
    const claimed = await transaction`
      INSERT INTO journals (id, name, holder, postgres_migration, clickhouse_migration, location)
      OVERRIDING SYSTEM VALUE
      VALUES (${number}, ${name}, ${holder}, ${knows.postgres}, ${knows.clickhouse}, ${location})
      ON CONFLICT DO NOTHING RETURNING 1`;
    await passNumbers(transaction);
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
  { stored, derived, recordings }: Watermarks,
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

/** Serializes the assignment of numbers, and moves the sequence past all numbers in use. */
async function lockNumbers(transaction: PostgresTransaction): Promise<void> {
  await transaction`LOCK TABLE journals IN SHARE ROW EXCLUSIVE MODE`;
  await passNumbers(transaction);
}

/** An explicit id does not move the sequence, so this does. */
async function passNumbers(transaction: PostgresTransaction): Promise<void> {
  await transaction`
    SELECT setval('journals_id_seq', taken.id)
    FROM (SELECT max(id) AS id FROM journals) AS taken, journals_id_seq
    WHERE taken.id >= journals_id_seq.last_value`;
}
