// A page of rows and how many there are of them in all, in one question: under load each one waits for its turn on a
// core twice. Never decides which rows.

import type { Postgres, PostgresFragment } from "./postgres.ts";

export interface Listing {
  /** What is shown of a row. */
  columns: PostgresFragment;
  /** FROM and WHERE. */
  seen: PostgresFragment;
  /** What ORDER BY names. */
  order: PostgresFragment;
  page: { limit: number; offset: number };
}

/** The rows of the page, each with `count` besides, and that count, which is right past the last page, too. */
export async function countedPage<Row>(
  sql: Postgres,
  { columns, seen, order, page }: Listing,
): Promise<{ count: number; rows: (Row & { count: number })[] }> {
  const count = sql`SELECT count(*)::integer AS count ${seen}`;
  const rows = await sql<(Row & { count: number })[]>`
    SELECT ${columns}, (${count}) ${seen} ORDER BY ${order} LIMIT ${page.limit} OFFSET ${page.offset}`;
  const [first] = rows;
  if (first || page.offset === 0) return { count: first?.count ?? 0, rows };
  const [counted] = await sql<{ count: number }[]>`${count}`;
  return { count: counted?.count ?? 0, rows };
}
