// Salts of days in Postgres: made by the first process that needs one, the same for all, deleted when expired.

import { arrayText, type Postgres } from "../../storage/postgres/postgres.ts";

/** The source of all processes' salts. */
export type SaltSource = ReturnType<typeof saltSource>;

export function saltSource(sql: Postgres) {
  return {
    /**
     * Resolves to the salts of these days (YYYY-MM-DD, in order). Missing ones are set from `fresh`, one for each day;
     * those of earlier days are deleted.
     */
    async replace(days: readonly string[], fresh: readonly Uint8Array[]): Promise<Map<string, Uint8Array>> {
      const hexes = fresh.map((salt) => Buffer.from(salt).toString("hex"));
      await sql`
    INSERT INTO cookieless_salts (day, salt)
    SELECT day, decode(hex, 'hex')
    FROM unnest(${arrayText(days)}::text::date[], ${arrayText(hexes)}::text::text[]) AS made(day, hex)
    ON CONFLICT (day) DO NOTHING`;
      // A second statement, so that it sees what another process has just inserted.
      const rows = await sql<{ day: string; salt: string }[]>`
    SELECT day::text, encode(salt, 'hex') AS salt FROM cookieless_salts
    WHERE day >= ${days[0]!}::text::date AND day <= ${days.at(-1)!}::text::date`;
      await sql`DELETE FROM cookieless_salts WHERE day < ${days[0]!}::text::date`;
      // Without this a deleted salt would stay on disk: autovacuum does not visit a table so small. Always, since one
      // that an open snapshot kept the last time is removed now.
      await sql`VACUUM cookieless_salts`;
      return new Map(rows.map(({ day, salt }) => [day, new Uint8Array(Buffer.from(salt, "hex"))]));
    },
  };
}
