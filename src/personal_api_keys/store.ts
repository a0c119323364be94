// The table of personal API keys, stored as hashes. A key's value is known only to the caller of issueKey or rollKey.

import { membershipLevels } from "../access/people/levels.ts";
import { type KeyHolder, withinReach } from "../access/store.ts";
import { hashKey, maskKey, newPersonalKey, randomBase62 } from "../core/id.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { countedPage } from "../storage/postgres/rows.ts";
import type { PersonalKey, PersonalKeyInput, PersonalKeyUpdate } from "./model.ts";

type KeyRow = Stored<PersonalKey, "created_at" | "last_used_at" | "last_rolled_at">;

/** The columns of a reply, for key `k`. An empty description is none, as at PostHog. */
function columns(sql: Postgres, description = sql`k.description`) {
  return sql`
    k.id, k.label, nullif(${description}, '') AS description,
    k.mask_value, k.created_at, k.last_used_at, k.last_rolled_at, k.scopes, k.scoped_teams,
    k.scoped_organizations, k.user_id, false AS is_legacy_hashing, NULL AS value, NULL AS local_dev_value`;
}

/** Creates a key for a user. `value` is the key itself, which is not stored. @throws Error when the user is gone. */
export async function issueKey(sql: Postgres, user_id: number, input: PersonalKeyInput) {
  const issued = await issueKeyWithin(sql, user_id, input, null, null);
  if (!issued) throw new Error("Postgres inserted a key and returned none");
  return issued;
}

/**
 * Like issueKey(), but undefined when the user already has `keysMax` keys, also under concurrent calls.
 * @param reach_key_id the key without limits that issues it, and whose organizations it reaches.
 */
export async function issueKeyWithin(
  sql: Postgres,
  user_id: number,
  input: PersonalKeyInput,
  keysMax: number | null,
  reach_key_id: string | null,
): Promise<(PersonalKey & { value: string }) | undefined> {
  const value = newPersonalKey();
  const { label, description = null, scopes, scoped_teams = [], scoped_organizations = [] } = input;
  const [row] = await sql<KeyRow[]>`
    INSERT INTO personal_api_keys AS k
      (id, user_id, label, description, secure_value, mask_value, scopes, scoped_teams, scoped_organizations, issuer_id)
    SELECT ${randomBase62(22)}, ${user_id}, ${label}, ${description}, ${hashKey(value)}, ${maskKey(value)},
      ${scopes}::text[], ${scoped_teams}::integer[], ${scoped_organizations}::uuid[], ${reach_key_id}
    WHERE CASE WHEN ${keysMax}::integer IS NULL THEN true ELSE has_key_place(${user_id}, ${keysMax}) END
    RETURNING ${columns(sql)}`;
  return row && { ...shownRow(row), value };
}

/** A page of a user's keys, newest first, and how many there are. */
export async function listKeysPage(sql: Postgres, user_id: number, page: Page) {
  const from = sql`FROM personal_api_keys k WHERE k.user_id = ${user_id}`;
  const listing = { columns: columns(sql), from, order: sql`k.created_at DESC, k.id`, page };
  return await countedPage(sql, { ...listing, show: shownRow<KeyRow> });
}

/** `among`: `credentials` includes the sessions of browsers. */
export async function getKey(
  sql: Postgres,
  id: string,
  user_id: number,
  among: "personal_api_keys" | "credentials" = "personal_api_keys",
): Promise<PersonalKey | undefined> {
  const description = sql`(SELECT p.description FROM personal_api_keys p WHERE p.id = k.id)`;
  const [row] = await sql<KeyRow[]>`
    SELECT ${columns(sql, description)} FROM ${sql(among)} k WHERE k.id = ${id} AND k.user_id = ${user_id}`;
  return row && shownRow(row);
}

/**
 * Changes fields of a user's key; undefined when there is none. Writes nothing without changes. A key whose limits are
 * removed reaches what the key or session `by` reaches.
 */
export async function updateKey(
  sql: Postgres,
  id: string,
  { key: by, user: { id: user_id } }: KeyHolder,
  changes: PersonalKeyUpdate,
): Promise<PersonalKey | undefined> {
  if (Object.keys(changes).length === 0) return await getKey(sql, id, user_id);
  const [row] = await sql<KeyRow[]>`
    UPDATE personal_api_keys k SET ${sql({ ...changes, issuer_id: by.reach_key_id })}
    WHERE id = ${id} AND user_id = ${user_id}
    RETURNING ${columns(sql)}`;
  return row && shownRow(row);
}

/** Replaces the value of a user's key; the old value is refused from then on. Undefined when there is none. */
export async function rollKey(sql: Postgres, id: string, user_id: number) {
  const value = newPersonalKey();
  const [row] = await sql<KeyRow[]>`
    UPDATE personal_api_keys k SET
      secure_value = ${hashKey(value)}, mask_value = ${maskKey(value)}, last_rolled_at = now()
    WHERE id = ${id} AND user_id = ${user_id}
    RETURNING ${columns(sql)}`;
  return row && { ...shownRow(row), value };
}

/** Whether the holder is a member of all these organizations, and the key reaches them. */
export async function isMemberOfAll(
  sql: Postgres,
  { key, user }: KeyHolder,
  ids: string[],
): Promise<boolean> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM organization_memberships m
    WHERE user_id = ${user.id} AND organization_id = ANY(${ids}::uuid[]) ${withinReach(sql, key)}`;
  return row?.count === new Set(ids).size;
}

/** Whether the holder belongs to organizations that the key reaches, and only reads in each. */
export async function isOnlyReader(sql: Postgres, { key, user }: KeyHolder): Promise<boolean> {
  const [row] = await sql<{ highest: number | null }[]>`
    SELECT max(level) AS highest FROM organization_memberships m WHERE user_id = ${user.id} ${withinReach(sql, key)}`;
  return (row?.highest ?? membershipLevels.member) < membershipLevels.member;
}

/** Whether all these projects exist, in organizations that the holder is a member of and the key reaches. */
export async function reachesAll(sql: Postgres, { key, user }: KeyHolder, ids: number[]): Promise<boolean> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM projects p JOIN organization_memberships m USING (organization_id)
    WHERE m.user_id = ${user.id} AND p.id = ANY(${ids}::integer[]) ${withinReach(sql, key)}`;
  return row?.count === new Set(ids).size;
}

/** Whether a user's key reaches no organization that the key or session `by` of the same user does not. */
export async function isKeyReached(sql: Postgres, id: string, by: KeyHolder["key"]): Promise<boolean> {
  if (by.reach_key_id === null) return true;
  const further = await sql`
    SELECT FROM organization_memberships m JOIN personal_api_keys k USING (user_id)
    WHERE k.id = ${id} AND NOT reaches(${by.reach_key_id}, m.organization_id) AND CASE
      WHEN k.scoped_organizations <> '{}' THEN m.organization_id = ANY(k.scoped_organizations)
      WHEN k.scoped_teams <> '{}' THEN EXISTS (
        SELECT FROM projects p WHERE p.organization_id = m.organization_id AND p.id = ANY(k.scoped_teams))
      ELSE reaches(k.id, m.organization_id) END
    LIMIT 1`;
  return further.length === 0;
}

/** Every key with its user's e-mail address, oldest first; for commands of the operator. */
export async function listAllKeys(sql: Postgres): Promise<(PersonalKey & { email: string })[]> {
  const rows = await sql<(KeyRow & { email: string })[]>`
    SELECT ${columns(sql)}, u.email FROM personal_api_keys k JOIN users u ON u.id = k.user_id
    ORDER BY k.created_at, k.id`;
  return rows.map(shownRow);
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
