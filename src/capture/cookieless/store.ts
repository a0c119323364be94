// Where the salts of days rest: made once by whichever process comes first, the same for all, deleted for good.

import { arrayText } from "../../storage/postgres/array_text.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";

/** Where salts are kept for all processes. */
export interface SaltSource {
  /**
   * The salts of these days (YYYY-MM-DD, in order). Those that are not there yet are made of `fresh`, one a day; those
   * of earlier days are deleted.
   */
  keep(days: readonly string[], fresh: readonly Uint8Array[]): Promise<Map<string, Uint8Array>>;
}

export function saltSource(sql: Postgres): SaltSource {
  return { keep: (days, fresh) => keepSalts(sql, days, fresh) };
}

async function keepSalts(
  sql: Postgres,
  days: readonly string[],
  fresh: readonly Uint8Array[],
): Promise<Map<string, Uint8Array>> {
  const hexes = fresh.map((salt) => Buffer.from(salt).toString("hex"));
  await sql`
    INSERT INTO cookieless_salts (day, salt)
    SELECT day, decode(hex, 'hex')
    FROM unnest(${arrayText(days)}::text::date[], ${arrayText(hexes)}::text::text[]) AS made(day, hex)
    ON CONFLICT (day) DO NOTHING`;
  // A statement of its own: it sees what another process has just made.
  const rows = await sql<{ day: string; salt: string }[]>`
    SELECT day::text, encode(salt, 'hex') AS salt FROM cookieless_salts
    WHERE day >= ${days[0]!}::text::date AND day <= ${days.at(-1)!}::text::date`;
  const { count } = await sql`DELETE FROM cookieless_salts WHERE day < ${days[0]!}::text::date`;
  // A deleted row would rest in its page: the table is too small for Postgres to clean it up by itself.
  if (count > 0) await sql`VACUUM cookieless_salts`;
  return new Map(rows.map(({ day, salt }) => [day, new Uint8Array(Buffer.from(salt, "hex"))]));
}
