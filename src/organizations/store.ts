// The table of organizations. An organization is created with its first project and its owner in one statement, and
// deleted with everything that belongs to it in one statement.

import { membershipLevels } from "../access/people/levels.ts";
import { type KeyHolder, withinReach } from "../access/store.ts";
import { refuseInput } from "../core/fault.ts";
import { newProjectKey, newUuid } from "../core/id.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import { arrayText, type Postgres, type PostgresTransaction } from "../storage/postgres/postgres.ts";
import { type Counted, countedPage, projectJson } from "../storage/postgres/rows.ts";
import { mapInSlices } from "../work/slices.ts";
import { fixedFields, type Organization, type OrganizationUpdate, otherSlug, toSlug } from "./model.ts";

/** Organizations that a user owns, more or less: each has up to a thousand projects, whose keys every process has. */
const ownedMax = 1000;

/**
 * Creates an organization with one project. The user becomes its owner, and both become the user's current ones.
 * Resolves to its id. The name must be checked before: 1 to 64 characters, trimmed.
 * @throws Fault invalid_input when the user owns ownedMax of them.
 * @param founding `reach_key_id`: the key without limits that creates it, and reaches it from then on.
 */
export async function createOrganization(
  sql: Postgres,
  founding: Partial<OrganizationUpdate> & { name: string; owner_id: number } & {
    project_name: string;
    reach_key_id?: string | null;
  },
): Promise<string> {
  const { owner_id, project_name, reach_key_id = null, ...fields } = founding;
  const id = newUuid();
  const [owned] = await sql<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM organization_memberships
    WHERE user_id = ${owner_id} AND level = ${membershipLevels.owner}`;
  if ((owned?.count ?? 0) >= ownedMax)
    refuseInput(`A user can own at most ${ownedMax} organizations.`, "name");
  let slug = toSlug(fields.name);
  // Slugs are unique, names are not. Four random letters collide once in a million tries.
  for (let tries = 0; tries < 10; tries += 1) {
    const [organization] = await sql<{ id: string }[]>`
      WITH organization AS (
        INSERT INTO organizations ${sql({ ...fields, id, slug })} ON CONFLICT (slug) DO NOTHING RETURNING id
      ), membership AS (
        INSERT INTO organization_memberships (organization_id, user_id, level)
        SELECT id, ${owner_id}, ${membershipLevels.owner} FROM organization RETURNING organization_id, user_id
      ), reach AS (
        INSERT INTO key_organizations (personal_api_key_id, organization_id, user_id)
        SELECT k.id, organization_id, m.user_id FROM membership m, personal_api_keys k WHERE k.id = ${reach_key_id}
      ), project AS (
        INSERT INTO projects (uuid, organization_id, name, api_token)
        SELECT ${newUuid()}, id, ${project_name}, ${newProjectKey()} FROM organization
        RETURNING id, organization_id
      ), maker AS (
        UPDATE users SET current_organization_id = project.organization_id, current_project_id = project.id
        FROM project WHERE users.id = ${owner_id}
      )
      SELECT id FROM organization`;
    if (organization) return organization.id;
    slug = otherSlug(toSlug(fields.name));
  }
  throw new Error(`no free slug for an organization after ten tries`);
}

type OrganizationRow = Stored<Omit<Organization, keyof typeof fixedFields>, "created_at" | "updated_at">;

/** A page of the organizations that a key reaches, oldest first, and how many there are. */
export async function listOrganizations(
  sql: Postgres,
  { key, user }: KeyHolder,
  page: Page,
): Promise<Counted<Organization>> {
  const from = sql`
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user.id} ${withinReach(sql, key)}
    WHERE (${key.scoped_organizations.length === 0} OR o.id = ANY(${key.scoped_organizations}::uuid[]))`;
  const listing = { columns: columns(sql), from, order: sql`o.created_at, o.id`, page };
  const { count, rows } = await countedPage(sql, { ...listing, show: (row: OrganizationRow) => row });
  return { count, rows: await withTeams(sql, rows) };
}

/** An organization as a member sees it; undefined for others. */
export async function getOrganization(sql: Postgres, id: string, user_id: number) {
  const [row] = await sql<OrganizationRow[]>`
    SELECT ${columns(sql)}
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user_id}
    WHERE o.id = ${id}`;
  return row && (await withTeams(sql, [row]))[0];
}

/**
 * Changes fields of an organization whose admin the user is; undefined when they are not, or it is deleted. Without
 * changes nothing is written.
 */
export async function updateOrganization(
  sql: Postgres,
  id: string,
  user_id: number,
  changes: OrganizationUpdate,
): Promise<Organization | undefined> {
  if (Object.keys(changes).length === 0) return await getOrganization(sql, id, user_id);
  const [row] = await sql<OrganizationRow[]>`
    WITH changed AS (
      UPDATE organizations SET ${sql(changes)}, updated_at = now()
      WHERE id = ${id} AND ${mayWith(sql, user_id, membershipLevels.admin)}
      RETURNING *
    )
    SELECT ${columns(sql)}
    FROM changed o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user_id}`;
  return row && (await withTeams(sql, [row]))[0];
}

/**
 * Deletes an organization that the user owns, with its projects and everything in them. Keys restricted to nothing
 * else are deleted too, since without the restriction they would give access to everything. False when there is no
 * such organization.
 */
export async function removeOrganization(sql: Postgres, id: string, user_id: number): Promise<boolean> {
  const rows = await sql`
    WITH doomed AS (
      SELECT id FROM organizations WHERE id = ${id} AND ${mayWith(sql, user_id, membershipLevels.owner)}
    ), ${writeReachEnd(sql)}
    DELETE FROM organizations o USING doomed d WHERE o.id = d.id RETURNING o.id`;
  return rows.length > 0;
}

/** The oldest organization, the default where none is named. */
export async function oldestOrganizationId(sql: Postgres): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`SELECT id FROM organizations ORDER BY created_at, id LIMIT 1`;
  return row?.id;
}

/** Columns of a reply in its order, for organization `o` and the user's membership `m`; see withTeams(). */
function columns(sql: Postgres) {
  return sql`
    o.id, o.name, o.slug, o.logo_media_id, o.created_at, o.updated_at, m.level AS membership_level,
    o.plugins_access_level, '[]'::json AS teams, '[]'::json AS projects,
    o.available_product_features, o.is_member_join_email_enabled, '{"instance_tag":"none"}' AS metadata,
    o.customer_id, o.enforce_2fa,
    (SELECT count(*)::text FROM organization_memberships c JOIN users u ON u.id = c.user_id
     WHERE c.organization_id = o.id AND u.is_active) AS member_count,
    o.is_ai_data_processing_approved`;
}

/** Whether the user's level in the organization suffices; checked again in the statement that changes it. */
function mayWith(sql: Postgres, user_id: number, level: number) {
  return sql`EXISTS (
    SELECT FROM organization_memberships m
    WHERE m.organization_id = organizations.id AND m.user_id = ${user_id} AND m.level >= ${level})`;
}

/**
 * Rows as replies, with the projects of all of them, read at once: read for each organization, Postgres scans all
 * projects every time if one has nearly all, which took 49 s for a page of 10,000.
 */
async function withTeams(sql: Postgres, rows: readonly OrganizationRow[]): Promise<Organization[]> {
  const found = await sql<{ organization_id: string; teams: Organization["teams"] }[]>`
    SELECT p.organization_id, json_agg(${projectJson(sql)} ORDER BY p.id) AS teams
    FROM unnest(${arrayText(rows.map(({ id }) => id))}::text::uuid[]) AS own (id)
    JOIN projects p ON p.organization_id = own.id
    GROUP BY p.organization_id`;
  const teamsOf = new Map(found.map((row) => [row.organization_id, row.teams]));
  return await mapInSlices(rows, (row) => {
    const teams = teamsOf.get(row.id) ?? [];
    const projects = teams.map(({ id, name, organization }) => ({ id, organization_id: organization, name }));
    return { ...shownRow(row), ...fixedFields, teams, projects };
  });
}

/**
 * Parts of a statement with the organizations `doomed`: keys that are restricted to what these have are deleted, or
 * narrowed to the rest. `user_id`: only this user's.
 */
export function writeReachEnd(sql: Postgres | PostgresTransaction, user_id: number | null = null) {
  return sql`
    its_projects AS (
      SELECT coalesce(array_agg(p.id), '{}') AS ids FROM projects p JOIN doomed d ON d.id = p.organization_id
    ), held AS (
      SELECT k.id,
        array_remove(k.scoped_organizations, d.id) AS organizations,
        ARRAY(SELECT unnest(k.scoped_teams) EXCEPT SELECT unnest(t.ids)) AS teams,
        k.scoped_organizations <> '{}' AS by_organization,
        k.scoped_teams <> '{}' AS by_team
      FROM personal_api_keys k, doomed d, its_projects t
      WHERE (d.id = ANY(k.scoped_organizations) OR k.scoped_teams && t.ids)
        AND (${user_id}::integer IS NULL OR k.user_id = ${user_id})
    ), ended AS (
      DELETE FROM personal_api_keys k USING held h
      WHERE k.id = h.id
        AND (h.by_organization AND h.organizations = '{}' OR h.by_team AND h.teams = '{}')
    ), narrowed AS (
      UPDATE personal_api_keys k SET scoped_organizations = h.organizations, scoped_teams = h.teams
      FROM held h
      WHERE k.id = h.id
        AND NOT (h.by_organization AND h.organizations = '{}' OR h.by_team AND h.teams = '{}')
    )`;
}
