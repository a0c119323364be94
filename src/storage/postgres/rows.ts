// SQL that several stores share: a page of rows with the count of all, the sizes of rows, a user as replies show one.

import { shownInTurns } from "../../work/turns.ts";
import type { Postgres, PostgresFragment } from "./postgres.ts";

interface Listing<Row, Shown> {
  columns: PostgresFragment;
  /** FROM and WHERE. */
  seen: PostgresFragment;
  /** The list behind ORDER BY. */
  order: PostgresFragment;
  page: { limit: number; offset: number };
  /** What a reply shows of a row. */
  show: (row: Row) => Shown;
  /** Refuses a page by the bytes of its rows. */
  check?: (sizes: number[]) => void;
}

/** Rows of a page, and how many there are in all. */
export interface Counted<Row> {
  count: number;
  rows: Row[];
}

/**
 * The rows of the page and the count of all rows, in one statement while the page is not empty: two statements wait
 * twice for their turn when the database is busy.
 * @throws what `check` throws, before the rows are read: a thousand long rows would fill the memory.
 */
export async function countedPage<Row, Shown>(
  sql: Postgres,
  { columns, seen, order, page, show, check }: Listing<Row, Shown>,
): Promise<Counted<Shown>> {
  const rest = sql`${seen} ORDER BY ${order} LIMIT ${page.limit} OFFSET ${page.offset}`;
  if (check) check(await rowBytes(sql, sql`SELECT ${columns} ${rest}`));
  const count = sql`SELECT count(*)::integer AS count ${seen}`;
  const rows = await sql<(Row & { count: number })[]>`SELECT ${columns}, (${count}) ${rest}`;
  const [first] = rows;
  const [counted] = first || page.offset === 0 ? [first] : await sql<{ count: number }[]>`${count}`;
  const shown = await shownInTurns(rows, (row) => {
    const { count: _, ...own } = row;
    return show(own as unknown as Row);
  });
  return { count: counted?.count ?? 0, rows: shown };
}

/** Bytes of each row of a SELECT as text, in order. */
export async function rowBytes(sql: Postgres, page: PostgresFragment): Promise<number[]> {
  const rows = await sql<{ bytes: number }[]>`SELECT octet_length(one::text) AS bytes FROM (${page}) AS one`;
  return rows.map(({ bytes }) => bytes);
}

/** A pattern of ILIKE for texts with this in them; null for none. Its wildcards are plain characters. */
export function containing(text: string | undefined): string | null {
  return text === undefined ? null : `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`;
}

/** The row of `users` under this alias as JSON; NULL when a left join found none. */
export function userJson(sql: Postgres, alias: string): PostgresFragment {
  const u = sql(alias);
  return sql`
    CASE WHEN ${u}.id IS NULL THEN NULL ELSE json_build_object(
      'id', ${u}.id, 'uuid', ${u}.uuid, 'distinct_id', ${u}.distinct_id, 'first_name', ${u}.first_name,
      'last_name', ${u}.last_name, 'email', ${u}.email, 'is_email_verified', coalesce(${u}.is_email_verified, false),
      'hedgehog_config', coalesce(${u}.hedgehog_config, '{}'),
      'role_at_organization', coalesce(${u}.role_at_organization, '')) END`;
}
