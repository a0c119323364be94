// Where projects rest. Never shows a user a project of an organization they are not a member of.

import { Fault } from "../core/fault.ts";
import { newProjectKey, newUuid } from "../core/id.ts";
import type { Postgres } from "../storage/postgres.ts";
import type { Project, ProjectChanges } from "./model.ts";

interface ProjectRow {
  id: number;
  uuid: string;
  organization_id: string;
  name: string;
  api_token: string;
  timezone: string;
  session_recording_opt_in: boolean;
  created_at: Date;
  updated_at: Date;
}

/** Who asks, and what their key is held to (empty: nothing). */
export interface ProjectReader {
  user_id: number;
  scoped_teams: number[];
  scoped_organizations: string[];
}

/** The projects a reader may see, oldest first, and how many there are. */
export async function listProjects(
  sql: Postgres,
  reader: ProjectReader,
  page: { limit: number; offset: number },
): Promise<{ count: number; projects: Project[] }> {
  const seen = sql`
    FROM projects p
    JOIN organization_memberships m ON m.organization_id = p.organization_id AND m.user_id = ${reader.user_id}
    WHERE (${reader.scoped_teams.length === 0} OR p.id = ANY(${reader.scoped_teams}::integer[]))
      AND (${reader.scoped_organizations.length === 0}
           OR p.organization_id = ANY(${reader.scoped_organizations}::uuid[]))`;
  const [counted] = await sql<{ count: number }[]>`SELECT count(*)::integer AS count ${seen}`;
  const rows = await sql<ProjectRow[]>`
    SELECT p.* ${seen} ORDER BY p.id LIMIT ${page.limit} OFFSET ${page.offset}`;
  return { count: counted?.count ?? 0, projects: rows.map(projectOf) };
}

/** Every project there is, oldest first; for whoever holds the database. */
export async function listAllProjects(sql: Postgres): Promise<Project[]> {
  const rows = await sql<ProjectRow[]>`SELECT * FROM projects ORDER BY id`;
  return rows.map(projectOf);
}

export async function getProject(sql: Postgres, id: number): Promise<Project | undefined> {
  const [row] = await sql<ProjectRow[]>`SELECT * FROM projects WHERE id = ${id}`;
  return row && projectOf(row);
}

/**
 * Makes a project; without `api_token` it gets a key of its own.
 * @throws Fault conflict when another project has that key, does_not_exist when the organization is gone.
 */
export async function createProject(
  sql: Postgres,
  project: { organization_id: string; name: string; api_token?: string },
): Promise<Project> {
  const { organization_id, name, api_token = newProjectKey() } = project;
  const [row] = await sql<ProjectRow[]>`
    INSERT INTO projects (uuid, organization_id, name, api_token)
    SELECT ${newUuid()}, id, ${name}, ${api_token} FROM organizations WHERE id = ${organization_id}
    ON CONFLICT (api_token) DO NOTHING
    RETURNING *`;
  if (row) return projectOf(row);
  const [taken] = await sql`SELECT 1 FROM projects WHERE api_token = ${api_token}`;
  if (taken) throw new Fault("conflict", "Another project has this API key.", { attr: "api_token" });
  throw new Fault("does_not_exist", "The organization does not exist.", { attr: "organization" });
}

/** Changes what is given; undefined when there is no such project. */
export async function updateProject(
  sql: Postgres,
  id: number,
  changes: ProjectChanges,
): Promise<Project | undefined> {
  const { name = null, timezone = null, session_recording_opt_in = null } = changes;
  const [row] = await sql<ProjectRow[]>`
    UPDATE projects SET
      name = coalesce(${name}::text, name),
      timezone = coalesce(${timezone}::text, timezone),
      session_recording_opt_in = coalesce(${session_recording_opt_in}::boolean, session_recording_opt_in),
      updated_at = now()
    WHERE id = ${id}
    RETURNING *`;
  return row && projectOf(row);
}

/**
 * False when it was gone already. Its key stops at once where the change is heard, and within 30 s
 * everywhere.
 */
export async function removeProject(sql: Postgres, id: number): Promise<boolean> {
  const rows = await sql`DELETE FROM projects WHERE id = ${id} RETURNING id`;
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
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
