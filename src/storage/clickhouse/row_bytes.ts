// How long the rows of a page are, before they are read: a thousand long ones would fill the memory.

import type { Postgres, PostgresFragment } from "../postgres/postgres.ts";

/** @param page a whole SELECT. Bytes of each of its rows as text, in its order. */
export async function rowBytes(sql: Postgres, page: PostgresFragment): Promise<number[]> {
  const rows = await sql<{ bytes: number }[]>`SELECT octet_length(one::text) AS bytes FROM (${page}) AS one`;
  return rows.map(({ bytes }) => bytes);
}
