// SQL that several stores share: the sizes of a page's rows, and a user as replies show one.

import type { Postgres, PostgresFragment } from "./postgres.ts";

/**
 * Bytes of each row of a SELECT as text, in order. Asked before the rows are read, since a thousand long rows would
 * fill the memory.
 */
export async function rowBytes(sql: Postgres, page: PostgresFragment): Promise<number[]> {
  const rows = await sql<{ bytes: number }[]>`SELECT octet_length(one::text) AS bytes FROM (${page}) AS one`;
  return rows.map(({ bytes }) => bytes);
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
