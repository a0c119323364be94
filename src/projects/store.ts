// The table of projects. Users see the projects of organizations that they are members of.

import { type KeyHolder, withinReach } from "../access/store.ts";
import { Fault, refuseInput } from "../core/fault.ts";
import { newProjectKey, newUuid } from "../core/id.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import { checkFits, type Page } from "../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { type Counted, countedPage } from "../storage/postgres/rows.ts";
import { projectLimits } from "./limits.ts";
import type { Project, ProjectUpdate } from "./model.ts";
import { type KeptSettings, shownSettings, splitSettings, withoutDefaults } from "./settings/model.ts";

/** Projects of one organization: every reply about it lists them all. */
const projectsPerOrganizationMax = 1000;

/** A project without the constant settings, with the others in their column. */
type ProjectRow = Stored<
  Omit<Project, keyof ReturnType<typeof shownSettings> | "has_group_types">,
  "created_at" | "updated_at"
> & {
  settings: Partial<KeptSettings>;
};

function toProject({ settings, ...row }: ProjectRow): Project {
  const { created_at, updated_at, ...shown } = shownRow(row);
  const has_group_types = row.group_types.length > 0;
  return { ...shown, has_group_types, ...shownSettings(settings), created_at, updated_at };
}

/** The columns of a reply, for project `p`. */
function columns(sql: Postgres | PostgresTransaction) {
  return sql`
    p.id, p.uuid, p.organization_id AS organization, p.name, p.api_token, p.timezone, p.session_recording_opt_in,
    p.cookieless_server_hash_mode, p.allowed_group_types, p.event_retention_days, p.daily_event_quota,
    p.test_account_filters, p.settings, p.created_at, p.updated_at, (
      SELECT coalesce(json_agg(json_build_object('group_type', g.name, 'group_type_index', g.place,
        'name_singular', g.name_singular, 'name_plural', g.name_plural) ORDER BY g.place), '[]')
      FROM group_types g WHERE g.project_id = p.id) AS group_types`;
}

/** A page of the projects that a key reaches, oldest first, and how many there are. */
export async function listProjects(
  sql: Postgres,
  { key, user }: KeyHolder,
  page: Page,
): Promise<Counted<Project>> {
  const { scoped_teams, scoped_organizations } = key;
  const inTeams = sql`AND p.id = ANY(${scoped_teams}::integer[])`;
  const inOrganizations = sql`AND p.organization_id = ANY(${scoped_organizations}::uuid[])`;
  const from = sql`
    FROM projects p
    JOIN organization_memberships m ON m.organization_id = p.organization_id AND m.user_id = ${user.id}
    WHERE true ${scoped_teams.length > 0 ? inTeams : sql``}
      ${scoped_organizations.length > 0 ? inOrganizations : sql``} ${withinReach(sql, key)}`;
  const shown = sql`${columns(sql)}, m.level AS effective_membership_level`;
  const listing = { columns: shown, from, order: sql`p.id`, page };
  const check = page.limit > projectLimits.uncheckedRowsMax ? { check: checkFits } : {};
  return await countedPage(sql, { ...listing, ...check, show: toProject });
}

/** Every project, oldest first; for commands of the operator. */
export async function listAllProjects(sql: Postgres): Promise<Project[]> {
  const rows = await sql<ProjectRow[]>`SELECT ${columns(sql)} FROM projects p ORDER BY p.id`;
  return rows.map(toProject);
}

export async function getProject(sql: Postgres, id: number): Promise<Project | undefined> {
  const [row] = await sql<ProjectRow[]>`SELECT ${columns(sql)} FROM projects p WHERE p.id = ${id}`;
  return row && toProject(row);
}

/**
 * Creates a project.
 * @param founding its fields, all but the name optional; `maker_id`: the user whose current project it becomes;
 *   `api_token`: its key, by default a new one.
 * @throws Fault conflict when another project has the key; does_not_exist when the organization is gone; invalid_input
 * when it has projectsPerOrganizationMax projects.
 */
export async function createProject(
  sql: Postgres,
  founding: ProjectUpdate & { organization_id: string; name: string; maker_id?: number; api_token?: string },
): Promise<Project> {
  const { organization_id, name, maker_id = null, api_token = newProjectKey() } = founding;
  const { timezone = "UTC", session_recording_opt_in = false, allowed_group_types = null } = founding;
  const { event_retention_days = null, cookieless_server_hash_mode = 1 } = founding;
  const { daily_event_quota = null, test_account_filters = [] } = founding;
  const newSettings = withoutDefaults(splitSettings(founding).kept);
  checkSettingsFit(newSettings);
  const [row] = await sql<ProjectRow[]>`
    WITH project AS (
      INSERT INTO projects
        (uuid, organization_id, name, api_token, timezone, session_recording_opt_in, cookieless_server_hash_mode,
          allowed_group_types, event_retention_days, daily_event_quota, test_account_filters, settings)
      SELECT ${newUuid()}, id, ${name}, ${api_token}, ${timezone}, ${session_recording_opt_in},
        ${cookieless_server_hash_mode}, ${allowed_group_types}::text[], ${event_retention_days}::integer,
        ${daily_event_quota}::integer, ${sql.json(test_account_filters as never)}::jsonb,
        ${sql.json(newSettings as never)}::jsonb
      FROM organizations
      WHERE id = ${organization_id}
        AND (SELECT count(*) FROM projects p WHERE p.organization_id = ${organization_id})
          < ${projectsPerOrganizationMax}
      ON CONFLICT (api_token) DO NOTHING
      RETURNING *
    ), maker AS (
      UPDATE users SET current_organization_id = project.organization_id, current_project_id = project.id
      FROM project WHERE users.id = ${maker_id}::integer
    )
    SELECT ${columns(sql)} FROM project p`;
  if (row) return toProject(row);
  const [projectWithKey] = await sql`SELECT 1 FROM projects WHERE api_token = ${api_token}`;
  if (projectWithKey) refuseInput("Another project has this API key.", "api_token", "conflict");
  const [full] = await sql`SELECT 1 FROM organizations WHERE id = ${organization_id}`;
  if (!full) refuseInput("The organization does not exist.", "organization", "does_not_exist");
  const detail = `An organization can have at most ${projectsPerOrganizationMax} projects.`;
  throw new Fault("invalid_input", detail);
}

/** @throws Fault max_length for settings that are too long together. */
function checkSettingsFit(settings: object): void {
  const max = projectLimits.settingsBytesMax;
  if (Buffer.byteLength(JSON.stringify(settings)) <= max) return;
  throw new Fault("max_length", `The settings of a project can have at most ${max} bytes as JSON.`);
}

/** Replaces a project's key; the old one stops working as in removeProject. Undefined when there is no such project. */
export async function resetProjectKey(sql: Postgres, id: number): Promise<Project | undefined> {
  const [row] = await sql<ProjectRow[]>`
    UPDATE projects p SET api_token = ${newProjectKey()}, updated_at = now() WHERE id = ${id}
    RETURNING ${columns(sql)}`;
  return row && toProject(row);
}

/** Changes fields; undefined when there is no such project. Without changes nothing is written. */
export async function updateProject(sql: Postgres, id: number, changes: ProjectUpdate) {
  if (Object.keys(changes).length === 0) return await getProject(sql, id);
  const { kept: newSettings, others: otherChanges } = splitSettings(changes);
  const { test_account_filters: filters, ...plain } = otherChanges;
  const set = { ...plain, ...(filters && { test_account_filters: sql.json(filters as never) }) };
  // Settings are one column: changing some of them requires reading the others. Other changes need no transaction.
  const isPlain = Object.keys(newSettings).length === 0 && Object.keys(set).length > 0;
  if (isPlain) return await writeProject(sql, id, set);
  return await sql.begin(async (tx) => {
    const [stored] = await tx<{ settings: Partial<KeptSettings> }[]>`
      SELECT settings FROM projects WHERE id = ${id} FOR UPDATE`;
    if (!stored) return undefined;
    const settings = { ...stored.settings, ...newSettings };
    checkSettingsFit(settings);
    return await writeProject(tx, id, { ...set, settings: tx.json(settings as never) });
  });
}

async function writeProject(sql: Postgres | PostgresTransaction, id: number, set: object) {
  // A pass for the changed retention is due at once.
  if ("event_retention_days" in set)
    await sql`UPDATE passes SET passed_at = NULL WHERE id = 'event retention'`;
  const [row] = await sql<ProjectRow[]>`
    UPDATE projects p SET ${sql(set as never)}, updated_at = now() WHERE id = ${id} RETURNING ${columns(sql)}`;
  return row && toProject(row);
}

/**
 * Deletes a project; false when there is none. Its key stops working at once in processes that are notified of the
 * change, and within 30 s everywhere. Personal keys restricted to nothing else are deleted too, since without the
 * restriction they would give access to everything.
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
