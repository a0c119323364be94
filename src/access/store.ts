// Holders of personal keys, their memberships, and the project keys of capture. Nothing is written but when a key was
// last used.

import type { Postgres } from "../storage/postgres/postgres.ts";

/** A personal key with its user. */
export interface KeyHolder {
  key: {
    id: string;
    scopes: string[];
    /** Empty: not restricted. */
    scoped_teams: number[];
    /** Empty: not restricted. */
    scoped_organizations: string[];
    last_used_at: Date | null;
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
  membership_level: number | null;
}

/** An organization as the gate needs it. */
export interface ReachedOrganization {
  id: string;
  membership_level: number | null;
}

/**
 * What a request names beside its key. `@current` means the user's current one if the key may access it, else the
 * oldest that it may.
 */
export interface Named {
  project_id?: number | "@current" | undefined;
  organization_id?: string | undefined;
}

/** The holder, and what was named as far as it exists: in one statement, since every request needs it. */
export interface Found {
  holder: KeyHolder;
  project: ReachedProject | undefined;
  organization: ReachedOrganization | undefined;
}

type KeyRow = KeyHolder["key"] &
  KeyHolder["user"] & {
    user_id: number;
    project_id: number | null;
    project_organization_id: string;
    project_level: number | null;
    organization_id: string | null;
    organization_level: number | null;
  };

/** The active user's key that is stored as `secure_value`; project and organization regardless of membership. */
export async function findKeyHolder(
  sql: Postgres,
  secure_value: string,
  named: Named = {},
): Promise<Found | undefined> {
  const { project_id = null, organization_id = null } = named;
  const [row] = await sql<KeyRow[]>`
    SELECT k.id, k.scopes, k.scoped_teams, k.scoped_organizations, k.last_used_at,
           u.id AS user_id, u.uuid, u.email, u.current_organization_id, u.current_project_id,
           p.id AS project_id, p.organization_id AS project_organization_id, p.level AS project_level,
           o.id AS organization_id, o.level AS organization_level
    FROM personal_api_keys k
    JOIN users u ON u.id = k.user_id
    LEFT JOIN LATERAL (
      ${project_id === "@current" ? itsProject(sql) : projectById(sql, project_id)}) p ON true
    LEFT JOIN LATERAL (
      ${organization_id === "@current" ? itsOrganization(sql) : organizationById(sql, organization_id)}) o ON true
    WHERE k.secure_value = ${secure_value} AND u.is_active`;
  if (!row) return undefined;
  const { id, scopes, scoped_teams, scoped_organizations, last_used_at } = row;
  const { user_id, uuid, email, current_organization_id, current_project_id } = row;
  return {
    holder: {
      key: { id, scopes, scoped_teams, scoped_organizations, last_used_at },
      user: { id: user_id, uuid, email, current_organization_id, current_project_id },
    },
    project:
      row.project_id === null
        ? undefined
        : {
            id: row.project_id,
            organization_id: row.project_organization_id,
            membership_level: row.project_level,
          },
    organization:
      row.organization_id === null
        ? undefined
        : { id: row.organization_id, membership_level: row.organization_level },
  };
}

// Parts of the statement above, about its key `k` and user `u`; the level is null for strangers.

function projectById(sql: Postgres, id: number | null) {
  return sql`
    SELECT p.id, p.organization_id, m.level FROM projects p
    LEFT JOIN organization_memberships m ON m.organization_id = p.organization_id AND m.user_id = u.id
    WHERE p.id = ${id}::integer`;
}

function organizationById(sql: Postgres, id: string | null) {
  return sql`
    SELECT o.id, m.level FROM organizations o
    LEFT JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = u.id
    WHERE o.id = ${id}::uuid`;
}

function itsProject(sql: Postgres) {
  return sql`
    SELECT p.id, p.organization_id, m.level FROM projects p
    JOIN organization_memberships m ON m.organization_id = p.organization_id AND m.user_id = u.id
    WHERE (k.scoped_teams = '{}' OR p.id = ANY(k.scoped_teams))
      AND (k.scoped_organizations = '{}' OR p.organization_id = ANY(k.scoped_organizations))
    ORDER BY p.id = u.current_project_id DESC NULLS LAST, p.id
    LIMIT 1`;
}

function itsOrganization(sql: Postgres) {
  return sql`
    SELECT o.id, m.level FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = u.id
    WHERE k.scoped_organizations = '{}' OR o.id = ANY(k.scoped_organizations)
    ORDER BY o.id = u.current_organization_id DESC NULLS LAST, o.created_at, o.id
    LIMIT 1`;
}

/** Stores when a key was used, unless a time later than `unless_after` is stored. */
export async function noteKeyUse(sql: Postgres, id: string, at: Date, unless_after: Date): Promise<void> {
  await sql`
    UPDATE personal_api_keys SET last_used_at = ${at}
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at <= ${unless_after})`;
}

/** The organization of `@current`: the user's current one, else the oldest the key may access. */
export async function currentOrganization(
  sql: Postgres,
  { key, user }: KeyHolder,
): Promise<ReachedOrganization | undefined> {
  const [row] = await sql<ReachedOrganization[]>`
    SELECT o.id, m.level AS membership_level
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user.id}
    WHERE ${key.scoped_organizations.length === 0} OR o.id = ANY(${key.scoped_organizations}::uuid[])
    ORDER BY o.id = ${user.current_organization_id}::uuid DESC NULLS LAST, o.created_at, o.id
    LIMIT 1`;
  return row;
}

/**
 * Calls back after any change of access, and whenever listening (re)starts, since changes may have been missed. It
 * reconnects by itself when Postgres comes back. Returns the function that stops it.
 */
export function listenToAccess(sql: Postgres, changed: () => void): () => Promise<void> {
  return listenTo(sql, "sluice_access", changed);
}

function listenTo(sql: Postgres, channel: string, changed: () => void): () => Promise<void> {
  // The client repeats a first attempt that fails, as it does when a connection breaks later.
  const listening = sql.listen(channel, changed, changed).catch(() => undefined);
  return async () => (await listening)?.unlisten();
}

/** The source of project keys. */
export interface ProjectKeySource {
  /** Every key with its project. */
  all(): Promise<KeyEntry[]>;
  /** Those of `keys` that exist. */
  some(keys: string[]): Promise<KeyEntry[]>;
  /**
   * Calls back after a change of any key, and whenever listening (re)starts, since changes may have been missed. It
   * reconnects by itself when Postgres comes back. Returns the function that stops it.
   */
  listen(changed: () => void): () => Promise<void>;
}

export interface KeyEntry {
  api_token: string;
  id: number;
  /** Whether the project's sessions are recorded; false by default. */
  records?: boolean;
  /** Whether its cookieless events are accepted; true by default. */
  cookieless?: boolean;
  /** Its time zone; UTC by default. */
  timezone?: string;
}

/** A key, or nulls when the database has none. */
interface DatabaseKey {
  database: string;
  api_token: string | null;
  id: number;
  records: boolean;
  cookieless: boolean;
  timezone: string;
}

/** @param database the id of the database that is expected; reads fail while another one, or none, is connected. */
export function projectKeySource(sql: Postgres, database: () => string | undefined): ProjectKeySource {
  const own = async (rows: Promise<DatabaseKey[]>): Promise<KeyEntry[]> => {
    const read = await rows;
    if (read[0]?.database !== database())
      throw new Error("Postgres is not known to be the one of these keys");
    // A left join: without any key there is one row of nulls.
    return read.flatMap(({ api_token, id, records, cookieless, timezone }) =>
      api_token === null ? [] : { api_token, id, records, cookieless, timezone },
    );
  };
  return {
    all: () =>
      own(sql<DatabaseKey[]>`
        SELECT i.id::text AS database, ${columns(sql)} FROM database_identity i LEFT JOIN projects p ON true`),
    some: (keys) =>
      own(sql<DatabaseKey[]>`
        SELECT i.id::text AS database, ${columns(sql)}
        FROM database_identity i LEFT JOIN projects p ON p.api_token = ANY(${keys}::text[])`),
    listen: (changed) => listenTo(sql, "sluice_project_keys", changed),
  };
}

function columns(sql: Postgres) {
  return sql`
    p.api_token, p.id, p.session_recording_opt_in AS records, p.cookieless_server_hash_mode <> 0 AS cookieless,
    p.timezone`;
}
