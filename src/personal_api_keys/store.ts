// Where personal keys rest, as hashes. Never gives a key back: it is seen once, by the caller of issueKey.

import { hashKey, maskKey, newPersonalKey, randomBase62 } from "../core/id.ts";
import type { Postgres } from "../storage/postgres.ts";
import type { PersonalKey, PersonalKeyWish } from "./model.ts";

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

/** A key's own id; not secret. */
export function newKeyId(): string {
  return randomBase62(22);
}

/** Makes a key for a user. `value` is the key itself, shown now and never again. */
export async function issueKey(
  sql: Postgres,
  user_id: number,
  wish: PersonalKeyWish,
): Promise<PersonalKey & { value: string }> {
  const value = newPersonalKey();
  const { label, scopes, scoped_teams = [], scoped_organizations = [] } = wish;
  const [row] = await sql<KeyRow[]>`
    INSERT INTO personal_api_keys
      (id, user_id, label, secure_value, mask_value, scopes, scoped_teams, scoped_organizations)
    VALUES (${newKeyId()}, ${user_id}, ${label}, ${hashKey(value)}, ${maskKey(value)},
      ${scopes}::text[], ${scoped_teams}::integer[], ${scoped_organizations}::uuid[])
    RETURNING *`;
  if (!row) throw new Error("Postgres inserted a key and returned none");
  return { ...keyOf(row), value };
}

/** A user's keys, oldest first. */
export async function listKeys(sql: Postgres, user_id: number): Promise<PersonalKey[]> {
  const rows = await sql<KeyRow[]>`
    SELECT * FROM personal_api_keys WHERE user_id = ${user_id} ORDER BY created_at, id`;
  return rows.map(keyOf);
}

/** Every key with its user's e-mail address, oldest first; for whoever holds the database. */
export async function listAllKeys(sql: Postgres): Promise<(PersonalKey & { email: string })[]> {
  const rows = await sql<(KeyRow & { email: string })[]>`
    SELECT k.*, u.email FROM personal_api_keys k JOIN users u ON u.id = k.user_id
    ORDER BY k.created_at, k.id`;
  return rows.map((row) => ({ ...keyOf(row), email: row.email }));
}

/**
 * Ends a key at once, everywhere: every request looks its key up. False when there was none; of any user if
 * null.
 */
export async function revokeKey(sql: Postgres, id: string, user_id: number | null): Promise<boolean> {
  const rows = await sql`
    DELETE FROM personal_api_keys WHERE id = ${id} AND (${user_id}::integer IS NULL OR user_id = ${user_id})
    RETURNING id`;
  return rows.length > 0;
}

/** The active user of this address, or the first one made when none is named. */
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
    scopes,
    scoped_teams,
    scoped_organizations,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    last_rolled_at: row.last_rolled_at?.toISOString() ?? null,
  };
}
