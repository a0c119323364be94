// The table of organizations. An organization is created with its first project and its owner in one statement, and
// deleted with everything that belongs to it in one statement.

import { newProjectKey, newUuid } from "../core/id.ts";
import { shownInTurns } from "../http/pages/sliced.ts";
import { isoOf } from "../http/fields/field_time.ts";
import { countedPage } from "../storage/postgres/counted_page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import {
  membershipLevels,
  type Organization,
  type OrganizationUpdate,
  type OrganizationInput,
  otherSlug,
  slugOf,
} from "./model.ts";

/** An organization to create; every field but the name is optional. */
export type NewOrganization = Partial<OrganizationInput> & {
  name: string;
  owner_id: number;
  project_name: string;
};

/**
 * Creates an organization with one project. The user becomes its owner, and both become the user's current ones.
 * Resolves to its id. The name must be checked before: 1 to 64 characters, trimmed.
 */
export async function createOrganization(sql: Postgres, founding: NewOrganization): Promise<string> {
  const {
    name,
    owner_id,
    project_name,
    logo_media_id = null,
    is_member_join_email_enabled = true,
  } = founding;
  const { enforce_2fa = null, is_ai_data_processing_approved = null } = founding;
  const id = newUuid();
  let slug = slugOf(name);
  // Slugs are unique, names are not. Four random letters collide once in a million tries.
  for (let tries = 0; tries < 10; tries += 1) {
    const [made] = await sql<{ id: string }[]>`
      WITH organization AS (
        INSERT INTO organizations (id, name, slug, logo_media_id, is_member_join_email_enabled, enforce_2fa,
          is_ai_data_processing_approved)
        VALUES (${id}, ${name}, ${slug}, ${logo_media_id}, ${is_member_join_email_enabled}, ${enforce_2fa},
          ${is_ai_data_processing_approved})
        ON CONFLICT (slug) DO NOTHING RETURNING id
      ), membership AS (
        INSERT INTO organization_memberships (organization_id, user_id, level)
        SELECT id, ${owner_id}, ${membershipLevels.owner} FROM organization
      ), project AS (
        INSERT INTO projects (uuid, organization_id, name, api_token)
        SELECT ${newUuid()}, id, ${project_name}, ${newProjectKey()} FROM organization
        RETURNING id, organization_id
      ), maker AS (
        UPDATE users SET current_organization_id = project.organization_id, current_project_id = project.id
        FROM project WHERE users.id = ${owner_id}
      )
      SELECT id FROM organization`;
    if (made) return made.id;
    slug = otherSlug(slugOf(name));
  }
  throw new Error(`no free slug for an organization after ten tries`);
}

interface OrganizationRow {
  id: string;
  name: string;
  slug: string;
  logo_media_id: string | null;
  plugins_access_level: number;
  available_product_features: unknown[];
  is_member_join_email_enabled: boolean;
  customer_id: string | null;
  enforce_2fa: boolean | null;
  is_ai_data_processing_approved: boolean | null;
  created_at: Date;
  updated_at: Date;
  membership_level: number;
  member_count: number;
  teams: Organization["teams"];
}

/** The user, and the organizations that their key is restricted to; empty for no restriction. */
export interface OrganizationReader {
  user_id: number;
  scoped_organizations: string[];
}

/** A page of the organizations that a reader may see, oldest first, and how many there are. */
export async function listOrganizations(
  sql: Postgres,
  reader: OrganizationReader,
  page: { limit: number; offset: number },
): Promise<{ count: number; organizations: Organization[] }> {
  const seen = sql`
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${reader.user_id}
    WHERE (${reader.scoped_organizations.length === 0} OR o.id = ANY(${reader.scoped_organizations}::uuid[]))`;
  const listing = { columns: columns(sql), seen, order: sql`o.created_at, o.id`, page };
  const { count, rows } = await countedPage<OrganizationRow>(sql, listing);
  return { count, organizations: await shownInTurns(rows, organizationOf) };
}

/** An organization as a member sees it; undefined for others. */
export async function getOrganization(
  sql: Postgres,
  id: string,
  user_id: number,
): Promise<Organization | undefined> {
  const [row] = await sql<OrganizationRow[]>`
    SELECT ${columns(sql)}
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user_id}
    WHERE o.id = ${id}`;
  return row && organizationOf(row);
}

/**
 * Changes the given fields of an organization whose admin the user is; undefined when they are not, or it is gone.
 * Without changes nothing is written.
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
  return row && organizationOf(row);
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
    ), its_projects AS (
      SELECT coalesce(array_agg(p.id), '{}') AS ids FROM projects p JOIN doomed d ON d.id = p.organization_id
    ), held AS (
      SELECT k.id,
        array_remove(k.scoped_organizations, d.id) AS organizations,
        ARRAY(SELECT unnest(k.scoped_teams) EXCEPT SELECT unnest(t.ids)) AS teams,
        k.scoped_organizations <> '{}' AS by_organization,
        k.scoped_teams <> '{}' AS by_team
      FROM personal_api_keys k, doomed d, its_projects t
      WHERE d.id = ANY(k.scoped_organizations) OR k.scoped_teams && t.ids
    ), ended AS (
      DELETE FROM personal_api_keys k USING held h
      WHERE k.id = h.id
        AND (h.by_organization AND h.organizations = '{}' OR h.by_team AND h.teams = '{}')
    ), narrowed AS (
      UPDATE personal_api_keys k SET scoped_organizations = h.organizations, scoped_teams = h.teams
      FROM held h
      WHERE k.id = h.id
        AND NOT (h.by_organization AND h.organizations = '{}' OR h.by_team AND h.teams = '{}')
    )
    DELETE FROM organizations o USING doomed d WHERE o.id = d.id RETURNING o.id`;
  return rows.length > 0;
}

/** The oldest organization, the default where none is named. */
export async function oldestOrganizationId(sql: Postgres): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`SELECT id FROM organizations ORDER BY created_at, id LIMIT 1`;
  return row?.id;
}

/** Columns of a reply, for organization `o` and the user's membership `m`. */
function columns(sql: Postgres) {
  return sql`
    o.*, m.level AS membership_level,
    (SELECT count(*)::integer FROM organization_memberships c JOIN users u ON u.id = c.user_id
     WHERE c.organization_id = o.id AND u.is_active) AS member_count,
    (SELECT coalesce(json_agg(json_build_object(
       'id', p.id, 'uuid', p.uuid, 'organization', p.organization_id, 'project_id', p.id,
       'api_token', p.api_token, 'name', p.name, 'timezone', p.timezone) ORDER BY p.id), '[]')
     FROM projects p WHERE p.organization_id = o.id) AS teams`;
}

/** Whether the user's level in the organization suffices; checked again in the statement that changes it. */
function mayWith(sql: Postgres, user_id: number, level: number) {
  return sql`EXISTS (
    SELECT FROM organization_memberships m
    WHERE m.organization_id = organizations.id AND m.user_id = ${user_id} AND m.level >= ${level})`;
}

function organizationOf(row: OrganizationRow): Organization {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    logo_media_id: row.logo_media_id,
    created_at: isoOf(row.created_at),
    updated_at: isoOf(row.updated_at),
    membership_level: row.membership_level,
    plugins_access_level: row.plugins_access_level,
    teams: row.teams,
    projects: row.teams.map(({ id, organization, name }) => ({ id, organization_id: organization, name })),
    available_product_features: row.available_product_features,
    is_member_join_email_enabled: row.is_member_join_email_enabled,
    metadata: JSON.stringify({ instance_tag: "none" }),
    customer_id: row.customer_id,
    enforce_2fa: row.enforce_2fa,
    member_count: String(row.member_count),
    is_ai_data_processing_approved: row.is_ai_data_processing_approved,
  };
}
