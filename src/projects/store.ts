// The table of projects. Users see the projects of organizations that they are members of.

import { Fault } from "../core/fault.ts";
import { newProjectKey, newUuid } from "../core/id.ts";
import { projectLimits } from "./limits.ts";
import { isoOf } from "../http/fields/field_time.ts";
import { shownInTurns } from "../http/pages/sliced.ts";
import { countedPage } from "../storage/postgres/counted_page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { Project, ProjectUpdate, ProjectInput } from "./model.ts";

interface ProjectRow {
  id: number;
  uuid: string;
  organization_id: string;
  name: string;
  api_token: string;
  timezone: string;
  session_recording_opt_in: boolean;
  cookieless_server_hash_mode: number;
  allowed_group_types: string[] | null;
  event_retention_days: number | null;
  created_at: Date;
  updated_at: Date;
}

/** The user, and what their key is restricted to; empty for no restriction. */
export interface ProjectReader {
  user_id: number;
  scoped_teams: number[];
  scoped_organizations: string[];
}

/** A page of the projects that a reader may see, oldest first, and how many there are. */
export async function listProjects(
  sql: Postgres,
  reader: ProjectReader,
  page: { limit: number; offset: number },
): Promise<{ count: number; projects: Project[] }> {
  const { user_id, scoped_teams, scoped_organizations } = reader;
  // A condition that does not restrict would make Postgres plan the query anew at each request.
  const ofTeams = scoped_teams.length > 0 ? sql`AND p.id = ANY(${scoped_teams}::integer[])` : sql``;
  const ofOrganizations =
    scoped_organizations.length > 0
      ? sql`AND p.organization_id = ANY(${scoped_organizations}::uuid[])`
      : sql``;
  const seen = sql`
    FROM projects p
    JOIN organization_memberships m ON m.organization_id = p.organization_id AND m.user_id = ${user_id}
    WHERE true ${ofTeams} ${ofOrganizations}`;
  const [columns, order] = [sql`p.*`, sql`p.id`];
  const { count, rows } = await countedPage<ProjectRow>(sql, { columns, seen, order, page });
  return { count, projects: await shownInTurns(rows, projectOf) };
}

/** Every project, oldest first; for commands of the operator. */
export async function listAllProjects(sql: Postgres): Promise<Project[]> {
  const rows = await sql<ProjectRow[]>`SELECT * FROM projects ORDER BY id`;
  return rows.map(projectOf);
}

export async function getProject(sql: Postgres, id: number): Promise<Project | undefined> {
  const [row] = await sql<ProjectRow[]>`SELECT * FROM projects WHERE id = ${id}`;
  return row && projectOf(row);
}

/** A project to create; every field but the name is optional. */
export type NewProject = Partial<ProjectInput> & {
  organization_id: string;
  name: string;
  /** The user whose current project it becomes. */
  maker_id?: number;
  /** The project's key; by default a new one. */
  api_token?: string;
};

/**
 * Creates a project.
 * @throws Fault conflict when another project has the key; does_not_exist when the organization is gone; invalid_input
 * when it has projectLimits.projectsPerOrganizationMax projects.
 */
export async function createProject(sql: Postgres, founding: NewProject): Promise<Project> {
  const { organization_id, name, maker_id = null, api_token = newProjectKey() } = founding;
  const { timezone = "UTC", session_recording_opt_in = false, allowed_group_types = null } = founding;
  const { event_retention_days = null, cookieless_server_hash_mode = 1 } = founding;
  const [row] = await sql<ProjectRow[]>`
    WITH project AS (
      INSERT INTO projects
        (uuid, organization_id, name, api_token, timezone, session_recording_opt_in, cookieless_server_hash_mode,
          allowed_group_types, event_retention_days)
      SELECT ${newUuid()}, id, ${name}, ${api_token}, ${timezone}, ${session_recording_opt_in},
        ${cookieless_server_hash_mode}, ${allowed_group_types}::text[], ${event_retention_days}::integer
      FROM organizations
      WHERE id = ${organization_id}
        AND (SELECT count(*) FROM projects p WHERE p.organization_id = ${organization_id})
          < ${projectLimits.projectsPerOrganizationMax}
      ON CONFLICT (api_token) DO NOTHING
      RETURNING *
    ), maker AS (
      UPDATE users SET current_organization_id = project.organization_id, current_project_id = project.id
      FROM project WHERE users.id = ${maker_id}::integer
    )
    SELECT * FROM project`;
  if (row) return projectOf(row);
  const [taken] = await sql`SELECT 1 FROM projects WHERE api_token = ${api_token}`;
  if (taken) throw new Fault("conflict", "Another project has this API key.", { attr: "api_token" });
  const [full] = await sql`SELECT 1 FROM organizations WHERE id = ${organization_id}`;
  if (full) {
    const detail = `An organization can have at most ${projectLimits.projectsPerOrganizationMax} projects.`;
    throw new Fault("invalid_input", detail);
  }
  throw new Fault("does_not_exist", "The organization does not exist.", { attr: "organization" });
}

/**
 * Gives a project a new key; the old one stops working as in removeProject. Undefined when there is no such project.
 */
export async function resetProjectKey(sql: Postgres, id: number): Promise<Project | undefined> {
  const [row] = await sql<ProjectRow[]>`
    UPDATE projects SET api_token = ${newProjectKey()}, updated_at = now() WHERE id = ${id} RETURNING *`;
  return row && projectOf(row);
}

/** Changes the given fields; undefined when there is no such project. Without changes nothing is written. */
export async function updateProject(
  sql: Postgres,
  id: number,
  changes: ProjectUpdate,
): Promise<Project | undefined> {
  if (Object.keys(changes).length === 0) return await getProject(sql, id);
  const { name = null, timezone = null, session_recording_opt_in = null, allowed_group_types } = changes;
  const { event_retention_days, cookieless_server_hash_mode = null } = changes;
  const [row] = await sql<ProjectRow[]>`
    UPDATE projects SET
      name = coalesce(${name}::text, name),
      timezone = coalesce(${timezone}::text, timezone),
      session_recording_opt_in = coalesce(${session_recording_opt_in}::boolean, session_recording_opt_in),
      cookieless_server_hash_mode =
        coalesce(${cookieless_server_hash_mode}::smallint, cookieless_server_hash_mode),
      allowed_group_types = CASE WHEN ${allowed_group_types !== undefined} THEN
        ${allowed_group_types ?? null}::text[] ELSE allowed_group_types END,
      event_retention_days = CASE WHEN ${event_retention_days !== undefined} THEN
        ${event_retention_days ?? null}::integer ELSE event_retention_days END,
      updated_at = now()
    WHERE id = ${id}
    RETURNING *`;
  return row && projectOf(row);
}

/**
 * Deletes a project; false when there is none. Its key stops working at once where the change is notified, and within
 * 30 s everywhere. Personal keys restricted to nothing else are deleted too, since without the restriction they would
 * give access to everything.
 */
export async function removeProject(sql: Postgres, id: number): Promise<boolean> {
  const rows = await sql`
    WITH held AS (
      SELECT k.id, array_remove(k.scoped_teams, ${id}) AS teams
      FROM personal_api_keys k WHERE ${id} = ANY(k.scoped_teams)
    ), ended AS (
      DELETE FROM personal_api_keys k USING held h WHERE k.id = h.id AND h.teams = '{}'
    ), narrowed AS (
      UPDATE personal_api_keys k SET scoped_teams = h.teams FROM held h WHERE k.id = h.id AND h.teams <> '{}'
    )
    DELETE FROM projects WHERE id = ${id} RETURNING id`;
  return rows.length > 0;
}

function projectOf(row: ProjectRow): Project {
  return {
    id: row.id,
    uuid: row.uuid,
    organization: row.organization_id,
    name: row.name,
    api_token: row.api_token,
    timezone: row.timezone,
    session_recording_opt_in: row.session_recording_opt_in,
    cookieless_server_hash_mode: row.cookieless_server_hash_mode,
    allowed_group_types: row.allowed_group_types,
    event_retention_days: row.event_retention_days,
    created_at: isoOf(row.created_at),
    updated_at: isoOf(row.updated_at),
  };
}
