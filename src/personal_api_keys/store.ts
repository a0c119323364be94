// The table of personal API keys, stored as hashes. A key's value is known only to the caller of issueKey or rollKey.

import { hashKey, maskKey, newPersonalKey, randomBase62 } from "../core/id.ts";
import { shownInTurns } from "../http/pages/sliced.ts";
import { isoOf } from "../http/fields/field_time.ts";
import { countedPage } from "../storage/postgres/counted_page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { PersonalKey, PersonalKeyUpdate, PersonalKeyInput } from "./model.ts";

interface KeyRow {
  id: string;
  label: string;
  mask_value: string;
  scopes: string[];
  scoped_teams: number[];
  scoped_organizations: string[];
  created_at: Date;
  last_used_at: Date | null;
  last_rolled_at: Date | null;
}

/** Creates a key for a user. `value` is the key itself, which is not stored. @throws Error when the user is gone. */
export async function issueKey(
  sql: Postgres,
  user_id: number,
  input: PersonalKeyInput,
): Promise<PersonalKey & { value: string }> {
  const issued = await issueKeyWithin(sql, user_id, input, null);
  if (!issued) throw new Error("Postgres inserted a key and returned none");
  return issued;
}

/** As issueKey, but undefined when the user has `keysMax` keys already, also under concurrent calls. */
export async function issueKeyWithin(
  sql: Postgres,
  user_id: number,
  input: PersonalKeyInput,
  keysMax: number | null,
): Promise<(PersonalKey & { value: string }) | undefined> {
  const value = newPersonalKey();
  const { label, scopes, scoped_teams = [], scoped_organizations = [] } = input;
  const [row] = await sql<KeyRow[]>`
    INSERT INTO personal_api_keys
      (id, user_id, label, secure_value, mask_value, scopes, scoped_teams, scoped_organizations)
    SELECT ${randomBase62(22)}, ${user_id}, ${label}, ${hashKey(value)}, ${maskKey(value)},
      ${scopes}::text[], ${scoped_teams}::integer[], ${scoped_organizations}::uuid[]
    WHERE CASE WHEN ${keysMax}::integer IS NULL THEN true ELSE has_key_place(${user_id}, ${keysMax}) END
    RETURNING *`;
  return row && { ...keyOf(row), value };
}

/** A page of a user's keys, newest first, and how many there are. */
export async function listKeysPage(
  sql: Postgres,
  user_id: number,
  page: { limit: number; offset: number },
): Promise<{ count: number; keys: PersonalKey[] }> {
  const seen = sql`FROM personal_api_keys WHERE user_id = ${user_id}`;
  const [columns, order] = [sql`*`, sql`created_at DESC, id`];
  const { count, rows } = await countedPage<KeyRow>(sql, { columns, seen, order, page });
  return { count, keys: await shownInTurns(rows, keyOf) };
}

export async function getKey(sql: Postgres, id: string, user_id: number): Promise<PersonalKey | undefined> {
  const [row] = await sql<KeyRow[]>`
    SELECT * FROM personal_api_keys WHERE id = ${id} AND user_id = ${user_id}`;
  return row && keyOf(row);
}

/** Changes the given fields of a user's key; undefined when there is none. Without changes nothing is written. */
export async function updateKey(
  sql: Postgres,
  id: string,
  user_id: number,
  changes: PersonalKeyUpdate,
): Promise<PersonalKey | undefined> {
  if (Object.keys(changes).length === 0) return await getKey(sql, id, user_id);
  const { label = null, scopes = null, scoped_teams = null, scoped_organizations = null } = changes;
  const [row] = await sql<KeyRow[]>`
    UPDATE personal_api_keys SET
      label = coalesce(${label}::text, label),
      scopes = coalesce(${scopes}::text[], scopes),
      scoped_teams = coalesce(${scoped_teams}::integer[], scoped_teams),
      scoped_organizations = coalesce(${scoped_organizations}::uuid[], scoped_organizations)
    WHERE id = ${id} AND user_id = ${user_id}
    RETURNING *`;
  return row && keyOf(row);
}

/** Gives a user's key a new value; the old value is refused from then on. Undefined when there is none. */
export async function rollKey(
  sql: Postgres,
  id: string,
  user_id: number,
): Promise<(PersonalKey & { value: string }) | undefined> {
  const value = newPersonalKey();
  const [row] = await sql<KeyRow[]>`
    UPDATE personal_api_keys SET
      secure_value = ${hashKey(value)}, mask_value = ${maskKey(value)}, last_rolled_at = now()
    WHERE id = ${id} AND user_id = ${user_id}
    RETURNING *`;
  return row && { ...keyOf(row), value };
}

/** Whether the user is a member of all these organizations. */
export async function isMemberOfAll(
  sql: Postgres,
  user_id: number,
  organizations: string[],
): Promise<boolean> {
  const [row] = await sql<{ missing: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM unnest(${organizations}::uuid[]) asked (id)
      WHERE NOT EXISTS (
        SELECT FROM organization_memberships m WHERE m.organization_id = asked.id AND m.user_id = ${user_id})
    ) AS missing`;
  return row?.missing === false;
}

/** Whether all these projects exist, in organizations that the user is a member of. */
export async function reachesAll(sql: Postgres, user_id: number, projects: number[]): Promise<boolean> {
  const [row] = await sql<{ missing: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM unnest(${projects}::integer[]) asked (id)
      WHERE NOT EXISTS (
        SELECT FROM projects p JOIN organization_memberships m ON m.organization_id = p.organization_id
        WHERE p.id = asked.id AND m.user_id = ${user_id})
    ) AS missing`;
  return row?.missing === false;
}

/** Every key with its user's e-mail address, oldest first; for commands of the operator. */
export async function listAllKeys(sql: Postgres): Promise<(PersonalKey & { email: string })[]> {
  const rows = await sql<(KeyRow & { email: string })[]>`
    SELECT k.*, u.email FROM personal_api_keys k JOIN users u ON u.id = k.user_id
    ORDER BY k.created_at, k.id`;
  return rows.map((row) => ({ ...keyOf(row), email: row.email }));
}

/**
 * Deletes a key; false when there is none. Requests that change something are refused at once, reads once their caches
 * are notified, which takes a moment.
 * @param user_id null for a key of any user.
 */
export async function revokeKey(sql: Postgres, id: string, user_id: number | null): Promise<boolean> {
  const rows = await sql`
    DELETE FROM personal_api_keys WHERE id = ${id} AND (${user_id}::integer IS NULL OR user_id = ${user_id})
    RETURNING id`;
  return rows.length > 0;
}

/** The active user with this e-mail address; without one, the user created first. */
export async function findUserId(sql: Postgres, email: string | undefined): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    SELECT id FROM users
    WHERE is_active AND (${email ?? null}::text IS NULL OR lower(email) = lower(${email ?? null}))
    ORDER BY id LIMIT 1`;
  return row?.id;
}

function keyOf(row: KeyRow): PersonalKey {
  const { id, label, mask_value, scopes, scoped_teams, scoped_organizations } = row;
  return {
    id,
    label,
    mask_value,
    created_at: isoOf(row.created_at),
    last_used_at: row.last_used_at && isoOf(row.last_used_at),
    last_rolled_at: row.last_rolled_at && isoOf(row.last_rolled_at),
    scopes,
    scoped_teams,
    scoped_organizations,
  };
}
