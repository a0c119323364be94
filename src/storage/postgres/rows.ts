// SQL of several stores: a page of rows with the count of all, the sizes of rows, the JSON of users and projects, and
// references to insights and dashboards.

import { mapInSlices } from "../../work/slices.ts";
import type { Postgres, PostgresFragment, PostgresTransaction } from "./postgres.ts";

/** Rows of a page, and how many there are in all. */
export interface Counted<Row> {
  count: number;
  rows: Row[];
}

/**
 * The rows of the page and the count of all rows, in one statement while the page is not empty: two statements would
 * wait twice when the database is busy.
 * @throws what `check` throws, before the rows are read: a thousand long rows would fill the memory.
 */
export async function countedPage<Row, Shown>(
  sql: Postgres,
  {
    columns,
    from,
    order,
    page,
    show,
    check,
  }: Record<"columns" | "from" | "order", PostgresFragment> & {
    page: { limit: number; offset: number };
    show: (row: Row) => Shown;
    /** Refuses a page by the bytes of its rows. */
    check?: (sizes: number[]) => void;
  },
): Promise<Counted<Shown>> {
  const ofPage = sql`${from} ORDER BY ${order} LIMIT ${page.limit} OFFSET ${page.offset}`;
  if (check) check(await rowBytes(sql, sql`SELECT ${columns} ${ofPage}`));
  // Under a name that no column has: a subscription has a column `count`.
  const all = sql`SELECT count(*)::integer AS rows_in_all ${from}`;
  const rows = await sql<(Row & { rows_in_all: number })[]>`SELECT ${columns}, (${all}) ${ofPage}`;
  const [first] = rows;
  const [counted] = first || page.offset === 0 ? [first] : await sql<{ rows_in_all: number }[]>`${all}`;
  const results = await mapInSlices(rows, (row) => {
    const { rows_in_all: _, ...listed } = row;
    return show(listed as unknown as Row);
  });
  return { count: counted?.rows_in_all ?? 0, rows: results };
}

/** Bytes of each row of a SELECT as text, in order. */
export async function rowBytes(sql: Postgres, page: PostgresFragment): Promise<number[]> {
  const rows = await sql<{ bytes: number }[]>`SELECT octet_length(one::text) AS bytes FROM (${page}) AS one`;
  return rows.map(({ bytes }) => bytes);
}

/** A column of a row `alias`, a moment, in the spelling of replies: a Date would lose its microseconds. */
export function exactMoment(sql: Postgres | PostgresTransaction, alias: string, column: string) {
  const text = sql`to_char(${sql(`${alias}.${column}`)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return sql`replace(${text}, '.000000Z', 'Z') AS ${sql(column)}`;
}

/** A pattern of ILIKE for texts that contain this one, with its wildcards escaped; null for none. */
export function containing(text: string | undefined): string | null {
  return text === undefined ? null : `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`;
}

/** The row of `users` under this alias as JSON; NULL when a left join found none. */
export function userJson(sql: Postgres | PostgresTransaction, alias: string): PostgresFragment {
  const u = sql(alias);
  return sql`
    CASE WHEN ${u}.id IS NULL THEN NULL ELSE json_build_object(
      'id', ${u}.id, 'uuid', ${u}.uuid, 'distinct_id', ${u}.distinct_id, 'first_name', ${u}.first_name,
      'last_name', ${u}.last_name, 'email', ${u}.email, 'is_email_verified', coalesce(${u}.is_email_verified, false),
      'hedgehog_config', coalesce(${u}.hedgehog_config, '{}'),
      'role_at_organization', coalesce(${u}.role_at_organization, '')) END`;
}

/** The row `p` of `projects` as JSON, as replies about its organization and its members show it. */
export function projectJson(sql: Postgres): PostgresFragment {
  return sql`json_build_object(
    'id', p.id, 'uuid', p.uuid, 'organization', p.organization_id, 'project_id', p.id,
    'api_token', p.api_token, 'name', p.name, 'timezone', p.timezone)`;
}

/** Finds which reference is missing or deleted in the project; undefined when both exist. */
export async function findMissing(
  sql: Postgres,
  project_id: number,
  {
    insight = null,
    dashboard = null,
  }: { insight?: number | null | undefined; dashboard?: number | null | undefined },
): Promise<"dashboard" | "insight" | undefined> {
  if (insight === null && dashboard === null) return undefined;
  const [found] = await sql<{ insight: boolean; dashboard: boolean }[]>`
    SELECT
      EXISTS (SELECT FROM insights
              WHERE id = ${insight} AND project_id = ${project_id} AND NOT deleted) AS insight,
      EXISTS (SELECT FROM dashboards
              WHERE id = ${dashboard} AND project_id = ${project_id} AND NOT deleted) AS dashboard`;
  if (dashboard !== null && !found?.dashboard) return "dashboard";
  return insight !== null && !found?.insight ? "insight" : undefined;
}
