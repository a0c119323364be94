// Users and their passwords in Postgres.

import type { Access } from "../../access/gate.ts";
import { currentOrganization, currentProject, withinReach } from "../../access/store.ts";
import { toCode } from "../../core/log.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { User } from "../../http/fields/user.ts";
import { httpLimits } from "../../http/limits.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { projectJson, userJson } from "../../storage/postgres/rows.ts";
import { type OwnUser, unsetOfConsole } from "./model.ts";

/** Fields of PostHog's accounts that no account has here. */
const absentFields = {
  is_staff: false,
  pending_email: null,
  pending_invites: [],
  has_social_auth: false,
  is_2fa_enabled: false,
  is_impersonated: false,
  passkeys_enabled_for_2fa: false,
  ...unsetOfConsole,
};

type UserRow = Stored<
  Pick<OwnUser, "anonymize_data" | "date_joined" | "team" | "organizations">,
  "date_joined"
> & {
  user: User;
  has_password: boolean;
  teams: NonNullable<OwnUser["organization"]>["teams"];
};

const ofTeams = (sql: Postgres, { key }: Access) => sql`AND p.id = ANY(${key.scoped_teams}::integer[])`;

/** The first project that the key reaches, of these. */
export async function findReachedProject(
  sql: Postgres,
  access: Access,
  { team, organization }: { team?: number | undefined; organization?: string | undefined },
) {
  const [row] = await sql<{ id: number; organization_id: string }[]>`
    SELECT p.id, p.organization_id
    FROM projects p JOIN (${reachedOrganizations(sql, access)}) o ON o.id = p.organization_id
    WHERE true ${access.key.scoped_teams.length > 0 ? ofTeams(sql, access) : sql``}
      ${team === undefined ? sql`` : sql`AND p.id = ${team}`}
      ${organization === undefined ? sql`` : sql`AND p.organization_id = ${organization}::uuid`}
    ORDER BY p.id LIMIT 1`;
  return row;
}

/** Undefined when the user is gone. */
export async function getOwnUser(sql: Postgres, access: Access): Promise<OwnUser | undefined> {
  const project = await currentProject(sql, access);
  const isLimited = access.key.scoped_teams.length > 0;
  const current =
    project?.organization_id ?? (isLimited ? null : (await currentOrganization(sql, access))?.id);
  const [row] = await sql<UserRow[]>`
    SELECT ${userJson(sql, "u")} AS user, u.anonymize_data,
      u.created_at AS date_joined, u.password_hash IS NOT NULL AS has_password, (
      SELECT ${projectJson(sql)} FROM projects p WHERE p.id = ${project?.id ?? null}::integer) AS team, (
      SELECT coalesce(json_agg(json_build_object('id', o.id, 'name', o.name, 'slug', o.slug,
        'logo_media_id', o.logo_media_id, 'membership_level', o.level, 'members_can_use_personal_api_keys', true,
        'is_active', true, 'is_not_active_reason', null, 'is_pending_deletion', false)
        ORDER BY o.created_at, o.id), '[]')
      FROM (${reachedOrganizations(sql, access)}) o) AS organizations, (
      SELECT coalesce(json_agg(${projectJson(sql)} ORDER BY p.id), '[]') FROM projects p
      WHERE p.organization_id = ${current ?? null}::uuid ${isLimited ? ofTeams(sql, access) : sql``}) AS teams
    FROM users u WHERE u.id = ${access.user.id}`;
  if (!row) return undefined;
  const { user, organizations, teams, ...fields } = shownRow(row);
  const found = organizations.find(({ id }) => id === current);
  const organization = found ? { ...found, teams } : null;
  return { ...user, ...absentFields, ...fields, organization, organizations };
}

/**
 * Those that the user is a member of, as far as the key is not restricted to other projects or organizations: as many
 * as a page of organizations has.
 */
function reachedOrganizations(sql: Postgres, { key, user }: Access) {
  const { scoped_teams, scoped_organizations } = key;
  const ofTeams = sql`AND EXISTS (
    SELECT FROM projects p WHERE p.organization_id = o.id AND p.id = ANY(${scoped_teams}::integer[]))`;
  const ofOrganizations = sql`AND o.id = ANY(${scoped_organizations}::uuid[])`;
  return sql`
    SELECT o.id, o.name, o.slug, o.logo_media_id, o.created_at, m.level
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user.id}
    WHERE true ${scoped_teams.length > 0 ? ofTeams : sql``} ${scoped_organizations.length > 0 ? ofOrganizations : sql``}
      ${withinReach(sql, key)}
    ORDER BY o.created_at, o.id LIMIT ${httpLimits.pageMax}`;
}

/** The active user of a normalized address. */
export async function findSigningUser(sql: Postgres, email: string) {
  const [row] = await sql<{ id: number; email: string; password_hash: string | null }[]>`
    SELECT id, email, password_hash FROM users WHERE lower(email) = ${email} AND is_active`;
  return row;
}

/** Changes a user. A new password ends all sessions. False when another user has the address. */
export async function changeUser(
  sql: Postgres,
  id: number,
  changes: Partial<Record<"first_name" | "last_name" | "email" | "password_hash", string>> & {
    role_at_organization?: string | null;
    anonymize_data?: boolean;
    current_project_id?: number;
    current_organization_id?: string;
  },
): Promise<boolean> {
  if (Object.keys(changes).length === 0) return true;
  const changing = sql.begin(async (tx) => {
    await tx`UPDATE users SET ${tx({ ...changes })} WHERE id = ${id}`;
    if (changes.password_hash !== undefined) await tx`DELETE FROM user_sessions WHERE user_id = ${id}`;
    return true;
  });
  return await changing.catch((thrown: unknown) => {
    // unique_violation: the index of addresses decides, even between two simultaneous requests.
    if (toCode(thrown) === "23505") return false;
    throw thrown;
  });
}

/** Sets a password, ends what who knew the old one may hold, and counts it. `keepsKeys`: personal keys stay. */
export async function resetPassword(sql: Postgres, id: number, password_hash: string, keepsKeys: boolean) {
  return await sql.begin(async (tx) => {
    await tx`UPDATE users SET password_hash = ${password_hash} WHERE id = ${id}`;
    const { count: sessions } = await tx`DELETE FROM user_sessions WHERE user_id = ${id}`;
    const { count: invitations } = await tx`DELETE FROM organization_invites WHERE created_by_id = ${id}`;
    const { count: keys } =
      await tx`DELETE FROM personal_api_keys WHERE user_id = ${id} AND NOT ${keepsKeys}`;
    return { sessions, invitations, keys };
  });
}

/** Every user, the oldest first; for commands of the operator. */
export async function listAllUsers(sql: Postgres) {
  return await sql<{ email: string; has_password: boolean; last_login: Date | null }[]>`
    SELECT email, password_hash IS NOT NULL AS has_password, last_login FROM users WHERE is_active ORDER BY id`;
}
