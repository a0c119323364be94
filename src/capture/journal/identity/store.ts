// Journals as Postgres knows them: which number is whose, which process holds each, how far it has come.

import { journalLimits } from "../limits.ts";
import type { Postgres, PostgresTransaction } from "../../../storage/postgres/postgres.ts";

/** What one process calls a journal that it writes. */
export interface Held {
  name: string;
  number: number;
  /** Of this process's life. */
  holder: string;
}

/** What a database knows of a journal. */
export interface Registration {
  /** The database's own id. */
  database: string;
  /** By the journal's name; undefined when it was never registered, or left with nothing pending. */
  row: { number: number; holder: string | null; seen: string | null } | undefined;
  /** Whether another journal has the number. */
  isTaken: boolean;
}

export async function readRegistration(
  sql: Postgres,
  { name, number }: Pick<Held, "name" | "number">,
): Promise<Registration> {
  const [read] = await sql<
    { database: string; number: number | null; holder: string | null; seen: string | null; taken: boolean }[]
  >`
    SELECT i.id::text AS database, j.id AS number, j.holder, j.seen_at::text AS seen,
      EXISTS (SELECT FROM journals WHERE id = ${number}::integer AND name <> ${name}) AS taken
    FROM database_identity i LEFT JOIN journals j ON j.name = ${name}`;
  if (!read) throw new Error("the database has no identity");
  const { database, holder, seen, taken } = read;
  const row = read.number === null ? undefined : { number: read.number, holder, seen };
  return { database, row, isTaken: taken };
}

/** Registers a journal under a number that nobody has and nobody had; resolves to it and the database's id. */
export async function registerJournal(
  sql: Postgres,
  { name, holder }: Omit<Held, "number">,
): Promise<{ number: number; database: string }> {
  return await sql.begin(async (transaction) => {
    await lockNumbers(transaction);
    const [made] = await transaction<{ number: number; database: string }[]>`
      INSERT INTO journals (name, holder) VALUES (${name}, ${holder})
      RETURNING id AS number, (SELECT id::text FROM database_identity) AS database`;
    if (!made) throw new Error("the journal was not registered");
    // Batches carry a number's remainder.
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
 * Makes this process the holder of a journal, as long as nobody else became it since `seen` was read. Resolves to false
 * when somebody did.
 */
export async function claimJournal(
  sql: Postgres,
  { name, number, holder }: Held,
  seen: Registration["row"],
): Promise<boolean> {
  if (seen) {
    const claimed = await sql`
      UPDATE journals SET holder = ${holder}
      WHERE name = ${name} AND id = ${number} AND holder IS NOT DISTINCT FROM ${seen.holder} RETURNING 1`;
    return claimed.length > 0;
  }
  return await sql.begin(async (transaction) => {
    await lockNumbers(transaction);
    const claimed = await transaction`
      INSERT INTO journals (id, name, holder) OVERRIDING SYSTEM VALUE VALUES (${number}, ${name}, ${holder})
      ON CONFLICT DO NOTHING RETURNING 1`;
    await passNumbers(transaction);
    return claimed.length > 0;
  });
}

/**
 * Says how far a journal has come: every row it took before `watermark` (microseconds) is in ClickHouse. From then on
 * it counts, whether it was there or had left. Resolves to false, with nothing said, when the database is another one
 * or another process holds the journal.
 */
export async function publishWatermark(
  sql: Postgres,
  { name, number, holder, database }: Held & { database: string },
  watermark: number,
  now: number,
): Promise<boolean> {
  // A row that is missing had its number passed by the claim.
  const told = await sql`
    INSERT INTO journals (id, name, holder, watermark, seen_at) OVERRIDING SYSTEM VALUE
    SELECT ${number}::integer, ${name}, ${holder}, to_timestamp(${watermark / 1e6}), to_timestamp(${now / 1e3})
    FROM database_identity WHERE id = ${database}::uuid
    ON CONFLICT (name) DO UPDATE SET watermark = excluded.watermark, seen_at = excluded.seen_at
      WHERE journals.id = excluded.id AND journals.holder = excluded.holder
    RETURNING 1`;
  return told.length > 0;
}

/** A journal that holds nothing leaves, if `holder` has it: nobody waits for it any more. Its number stays its own. */
export async function leaveJournals(
  sql: Postgres,
  name: string,
  holder: string | null = null,
): Promise<void> {
  await sql`DELETE FROM journals WHERE name = ${name} AND (${holder}::text IS NULL OR holder = ${holder})`;
}

/** Numbers are handed out one after the other, behind every number that was taken without asking. */
async function lockNumbers(transaction: PostgresTransaction): Promise<void> {
  await transaction`LOCK TABLE journals IN SHARE ROW EXCLUSIVE MODE`;
  await passNumbers(transaction);
}

/** An explicit id does not move the sequence. */
async function passNumbers(transaction: PostgresTransaction): Promise<void> {
  await transaction`
    SELECT setval('journals_id_seq', taken.id)
    FROM (SELECT max(id) AS id FROM journals) AS taken, journals_id_seq
    WHERE taken.id >= journals_id_seq.last_value`;
}
