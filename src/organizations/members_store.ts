// Memberships in Postgres. A change locks its organization, so that the rules hold when two members change each other.

import { membershipLevels } from "../access/people/levels.ts";
import { isUuid } from "../core/id.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { containing, countedPage, userJson } from "../storage/postgres/rows.ts";
import { type Member, type Membership, requireMayChange, requireMayRemove } from "./model.ts";
import { removeInvites, stopWork } from "./stop_work_store.ts";
import { writeReachEnd } from "./store.ts";

interface MemberFilter {
  /** Whether the oldest come first. */
  order: boolean;
  email?: string | undefined;
  search?: string | undefined;
}

type MemberRow = Stored<Member, "joined_at" | "updated_at" | "last_login">;

/** The columns of a reply, for the membership `m` and its user `u`. Its id is a UUID of version 8: made of a hash. */
function columns(sql: Postgres) {
  const hash = sql`md5(m.organization_id::text || m.user_id::text)`;
  return sql`
    overlay(overlay(${hash} PLACING '8' FROM 13) PLACING '8' FROM 17)::uuid AS id,
    ${userJson(sql, "u")} AS user, m.level, m.joined_at,
    coalesce(m.level_changed_at, m.joined_at) AS updated_at, false AS is_2fa_enabled, false AS has_social_auth,
    u.last_login`;
}

/** A page of an organization's active members, the latest first unless `oldestFirst`. Absent fields do not filter. */
export async function listMembers(
  sql: Postgres,
  organization_id: string,
  page: Page,
  { order: oldestFirst, email, search }: MemberFilter,
) {
  const address = email ?? null;
  const pattern = containing(search);
  const from = sql`
    FROM organization_memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organization_id} AND u.is_active
    AND (${address}::text IS NULL OR lower(u.email) = lower(${address}))
    AND (${pattern}::text IS NULL OR u.email ILIKE ${pattern}
      OR u.first_name || ' ' || u.last_name ILIKE ${pattern})`;
  const order = oldestFirst ? sql`m.joined_at, m.user_id` : sql`m.joined_at DESC, m.user_id DESC`;
  return await countedPage(sql, { columns: columns(sql), from, order, page, show: shownRow<MemberRow> });
}

/** The id of the member that a path names. @throws Fault not_found. */
export async function findMember(sql: Postgres, organization_id: string, actor_id: number, named: string) {
  if (named === "@me") return actor_id;
  if (!isUuid(named)) throw notFound();
  const [row] = await sql<{ id: number }[]>`
    SELECT u.id FROM organization_memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organization_id} AND u.uuid = ${named} AND u.is_active`;
  return present(row).id;
}

/** @throws Fault not_found. */
export async function getMember(sql: Postgres, organization_id: string, user_id: number): Promise<Member> {
  const [row] = await sql<MemberRow[]>`
    SELECT ${columns(sql)} FROM organization_memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organization_id} AND m.user_id = ${user_id}`;
  return shownRow(present(row));
}

interface MemberChange {
  organization_id: string;
  /** The user of the request. */
  actor_id: number;
  /** The member. */
  user_id: number;
}

/** @throws Fault when the actor may not, or the member no longer exists. */
export async function changeMember(sql: Postgres, change: MemberChange, level: number): Promise<void> {
  await sql.begin(async (tx) => {
    const { actor, member } = await lockedMembers(tx, change);
    requireMayChange(actor, member, level);
    await tx`
      UPDATE organization_memberships SET level = ${level}, level_changed_at = now()
      WHERE organization_id = ${change.organization_id} AND user_id = ${change.user_id}`;
    if (level < membershipLevels.member) await stopWork(tx, change.organization_id, change.user_id);
    if (level < membershipLevels.admin) await removeInvites(tx, change.organization_id, change.user_id);
  });
}

/**
 * Ends a membership, and with it the user's sessions, invitations, subscriptions, exports, the keys that are restricted
 * to the organization or its projects, and all their keys when it was the last one. @throws Fault as changeMember.
 */
export async function removeMember(sql: Postgres, change: MemberChange): Promise<void> {
  const { organization_id, user_id } = change;
  await sql.begin(async (tx) => {
    const { actor, member, owners } = await lockedMembers(tx, change);
    requireMayRemove(actor, member, owners);
    // Locked before the sessions, as in signing in, so that the two cannot deadlock.
    await tx`SELECT FROM users WHERE id = ${user_id} FOR UPDATE`;
    await stopWork(tx, organization_id, user_id);
    await tx`
      DELETE FROM organization_memberships WHERE organization_id = ${organization_id} AND user_id = ${user_id}`;
    await tx`DELETE FROM user_sessions WHERE user_id = ${user_id}`;
    await removeInvites(tx, organization_id, user_id);
    await tx`
      WITH doomed AS (SELECT ${organization_id}::uuid AS id), ${writeReachEnd(tx, user_id)} SELECT FROM doomed`;
    await tx`
      DELETE FROM personal_api_keys WHERE user_id = ${user_id}
        AND NOT EXISTS (SELECT FROM organization_memberships WHERE user_id = ${user_id})`;
    await tx`
      UPDATE users SET current_organization_id = NULL, current_project_id = NULL
      WHERE id = ${user_id} AND (current_organization_id = ${organization_id}
        OR current_project_id IN (SELECT id FROM projects WHERE organization_id = ${organization_id}))`;
  });
}

async function lockedMembers(tx: PostgresTransaction, { organization_id, actor_id, user_id }: MemberChange) {
  // Not FOR UPDATE: whoever accepts an invitation has locked that, and then the organization's key.
  await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR NO KEY UPDATE`;
  const rows = await tx<Membership[]>`
    SELECT user_id, level FROM organization_memberships
    WHERE organization_id = ${organization_id}
      AND (user_id IN (${actor_id}, ${user_id}) OR level = ${membershipLevels.owner})`;
  const of = (id: number) => present(rows.find((row) => row.user_id === id));
  const owners = rows.filter(({ level }) => level === membershipLevels.owner).length;
  return { actor: of(actor_id), member: of(user_id), owners };
}

/** The keys of a member that reach the organization, the last used first. */
export async function listMemberKeys(sql: Postgres, organization_id: string, user_id: number) {
  const rows = await sql<{ name: string; last_used_at: Date | null; is_active: boolean }[]>`
    SELECT k.label AS name, k.last_used_at, coalesce(k.last_used_at > now() - interval '7 days', false) AS is_active
    FROM personal_api_keys k
    WHERE k.user_id = ${user_id} AND reaches(
        CASE WHEN k.scoped_teams = '{}' AND k.scoped_organizations = '{}' THEN k.id END, ${organization_id}::uuid)
      AND (k.scoped_organizations = '{}' OR ${organization_id}::uuid = ANY(k.scoped_organizations))
      AND (k.scoped_teams = '{}' OR EXISTS (
        SELECT FROM projects p WHERE p.organization_id = ${organization_id} AND p.id = ANY(k.scoped_teams)))
    ORDER BY k.last_used_at DESC NULLS LAST, k.id`;
  return {
    has_keys: rows.length > 0,
    has_keys_active_last_week: rows.some(({ is_active }) => is_active),
    keys: rows.map(({ name, last_used_at }) => shownRow({ name, last_used_at })),
  };
}
