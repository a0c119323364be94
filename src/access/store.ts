// Holders of personal keys and of sessions, their memberships, and the project keys of capture. Only the last use of a
// key is written.

import type { Postgres } from "../storage/postgres/postgres.ts";

export interface KeyHolder {
  key: {
    id: string;
    scopes: string[];
    /** Empty: not restricted. */
    scoped_teams: number[];
    /** Empty: not restricted. */
    scoped_organizations: string[];
    last_used_at: Date | null;
    /** The key without limits whose organizations it reaches; null: all of its user, or those of its limits. */
    reach_key_id: string | null;
    /** Whether it is a browser's session, used in place of a key. */
    is_session: boolean;
    /** Set by the gate where its user only reads the project or organization of the request. */
    is_reader?: true;
  };
  user: {
    id: number;
    uuid: string;
    email: string;
    current_organization_id: string | null;
    current_project_id: number | null;
  };
}

/** A project as the gate needs it; `membership_level` is the user's in its organization, null for strangers. */
export interface ReachedProject {
  id: number;
  organization_id: string;
  timezone: string;
  /** The day on which its weeks begin, from 0 for Sunday on. */
  week_start: number;
  membership_level: number | null;
}

export interface ReachedOrganization {
  id: string;
  membership_level: number | null;
}

/**
 * The project or organization that a request names. `@current` means the user's current one if the key may access it,
 * else the oldest that it may.
 */
export interface Named {
  project_id?: number | "@current" | undefined;
  organization_id?: string | undefined;
}

/** The holder, and the project and organization that exist: in one statement, since every request needs it. */
export interface Lookup {
  holder: KeyHolder;
  project: ReachedProject | undefined;
  organization: ReachedOrganization | undefined;
}

type KeyRow = KeyHolder["key"] &
  Omit<KeyHolder["user"], "id"> & {
    user_id: number;
    project: ReachedProject | null;
    organization: ReachedOrganization | null;
  };

/** The active user's key or session of this stored form; project and organization regardless of membership. */
export async function findKeyHolder(sql: Postgres, secure_value: string, named: Named = {}) {
  const { project_id = null, organization_id = null } = named;
  const [row] = await sql<KeyRow[]>`
    SELECT k.id, k.scopes, k.scoped_teams, k.scoped_organizations, k.last_used_at, k.is_session, k.reach_key_id,
           u.id AS user_id, u.uuid, u.email, u.current_organization_id, u.current_project_id,
           to_json(p) AS project, to_json(o) AS organization
    FROM credentials k
    JOIN users u ON u.id = k.user_id
    LEFT JOIN LATERAL (
      ${project_id === "@current" ? itsProject(sql) : projectById(sql, project_id)}) p ON true
    LEFT JOIN LATERAL (
      ${organization_id === "@current" ? itsOrganization(sql) : organizationById(sql, organization_id)}) o ON true
    WHERE k.secure_value = ${secure_value} AND u.is_active`;
  if (!row) return undefined;
  const { user_id, uuid, email, current_organization_id, current_project_id, ...others } = row;
  const { project, organization, ...key } = others;
  const user = { id: user_id, uuid, email, current_organization_id, current_project_id };
  return {
    holder: { key, user },
    project: project ?? undefined,
    organization: organization ?? undefined,
  };
}

// Parts of the statement above, about its key `k` and user `u`; the level is null for strangers, and where the key does
// not reach.

function isReached(sql: Postgres) {
  return sql`m.user_id = u.id AND reaches(k.reach_key_id, m.organization_id)`;
}

const weekStart = (sql: Postgres) => sql`coalesce((p.settings->>'week_start_day')::integer, 0)`;

function projectById(sql: Postgres, id: number | null) {
  return sql`
    SELECT p.id, p.organization_id, p.timezone, ${weekStart(sql)} AS week_start, m.level AS membership_level
    FROM projects p
    LEFT JOIN organization_memberships m ON m.organization_id = p.organization_id AND ${isReached(sql)}
    WHERE p.id = ${id}::integer`;
}

function organizationById(sql: Postgres, id: string | null) {
  return sql`
    SELECT o.id, m.level AS membership_level FROM organizations o
    LEFT JOIN organization_memberships m ON m.organization_id = o.id AND ${isReached(sql)}
    WHERE o.id = ${id}::uuid`;
}

function itsProject(sql: Postgres) {
  return sql`
    SELECT p.id, p.organization_id, p.timezone, ${weekStart(sql)} AS week_start, m.level AS membership_level
    FROM projects p
    JOIN organization_memberships m ON m.organization_id = p.organization_id AND ${isReached(sql)}
    WHERE (k.scoped_teams = '{}' OR p.id = ANY(k.scoped_teams))
      AND (k.scoped_organizations = '{}' OR p.organization_id = ANY(k.scoped_organizations))
    ORDER BY p.id = u.current_project_id DESC NULLS LAST, p.id
    LIMIT 1`;
}

function itsOrganization(sql: Postgres) {
  return sql`
    SELECT o.id, m.level AS membership_level FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND ${isReached(sql)}
    WHERE k.scoped_organizations = '{}' OR o.id = ANY(k.scoped_organizations)
    ORDER BY o.id = u.current_organization_id DESC NULLS LAST, o.created_at, o.id
    LIMIT 1`;
}

/** The further condition that a key reaches the organization of the membership `m` of its user. */
export function withinReach(sql: Postgres, { reach_key_id }: Pick<KeyHolder["key"], "reach_key_id">) {
  // A condition that restricts nothing would make Postgres plan the query again at each request.
  return reach_key_id === null ? sql`` : sql`AND reaches(${reach_key_id}, m.organization_id)`;
}

/** Stores when a key or a session was used, unless a time later than `unless_after` is stored. */
export async function recordKeyUse(
  sql: Postgres,
  { id, is_session }: Pick<KeyHolder["key"], "id" | "is_session">,
  at: Date,
  unless_after: Date,
): Promise<void> {
  await sql`
    UPDATE ${sql(is_session ? "user_sessions" : "personal_api_keys")} SET last_used_at = ${at}
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at <= ${unless_after})`;
}

/** The organization of `@current`: the user's current one, else the oldest the key may access. */
export async function currentOrganization(
  sql: Postgres,
  { key }: KeyHolder,
): Promise<ReachedOrganization | undefined> {
  const [row] = await sql<ReachedOrganization[]>`
    SELECT o.* FROM credentials k JOIN users u ON u.id = k.user_id,
      LATERAL (${itsOrganization(sql)}) o WHERE k.id = ${key.id}`;
  return row;
}

export async function currentProject(sql: Postgres, { key }: KeyHolder): Promise<ReachedProject | undefined> {
  const [row] = await sql<ReachedProject[]>`
    SELECT p.* FROM credentials k JOIN users u ON u.id = k.user_id,
      LATERAL (${itsProject(sql)}) p WHERE k.id = ${key.id}`;
  return row;
}

/**
 * Calls back after any change that the channel reports, and whenever listening (re)starts, since changes may have been
 * missed. It reconnects by itself when Postgres returns. Returns the function that stops it.
 */
export function listenTo(
  sql: Postgres,
  channel: "sluice_access" | "sluice_project_keys",
  changed: () => void,
): () => Promise<void> {
  // The client repeats a failed first attempt, as after a lost connection.
  const listening = sql.listen(channel, changed, changed).catch(() => undefined);
  return async () => (await listening)?.unlisten();
}
