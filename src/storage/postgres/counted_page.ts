// A page of rows with the count of all of them.

import type { Postgres, PostgresFragment } from "./postgres.ts";

export interface Listing {
  /** The columns that are selected. */
  columns: PostgresFragment;
  /** FROM and WHERE. */
  seen: PostgresFragment;
  /** The list behind ORDER BY. */
  order: PostgresFragment;
  page: { limit: number; offset: number };
}

/**
 * The rows of the page and the count of all rows, in one statement while the page is not empty: two statements wait
 * twice for their turn when the database is busy.
 */
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
