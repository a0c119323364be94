// Where organizations rest. Never leaves one half made: an organization comes with its first project and its
// owner, in one statement.

import { newProjectKey, newUuid } from "../core/id.ts";
import type { Postgres } from "../storage/postgres.ts";
import { membershipLevels, type Organization, otherSlug, slugOf } from "./model.ts";

/**
 * Makes an organization with one project; its maker becomes its owner, and it becomes the maker's current
 * one. The caller has checked the name (1 to 64 characters, trimmed).
 */
export async function createOrganization(
  sql: Postgres,
  { name, owner_id, project_name }: { name: string; owner_id: number; project_name: string },
): Promise<string> {
  const id = newUuid();
  let slug = slugOf(name);
  // Names are not unique, slugs are; four random letters collide once in a million tries.
  for (let tries = 0; tries < 10; tries += 1) {
    const [made] = await sql<{ id: string }[]>`
      WITH organization AS (
        INSERT INTO organizations (id, name, slug) VALUES (${id}, ${name}, ${slug})
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

/** An organization as one of its members sees it; undefined for strangers. */
export async function getOrganization(
  sql: Postgres,
  id: string,
  user_id: number,
): Promise<Organization | undefined> {
  const [row] = await sql<OrganizationRow[]>`
    SELECT o.*, m.level AS membership_level,
      (SELECT count(*)::integer FROM organization_memberships c JOIN users u ON u.id = c.user_id
       WHERE c.organization_id = o.id AND u.is_active) AS member_count,
      (SELECT coalesce(json_agg(json_build_object(
         'id', p.id, 'uuid', p.uuid, 'organization', p.organization_id, 'project_id', p.id,
         'api_token', p.api_token, 'name', p.name, 'timezone', p.timezone) ORDER BY p.id), '[]')
       FROM projects p WHERE p.organization_id = o.id) AS teams
    FROM organizations o
    JOIN organization_memberships m ON m.organization_id = o.id AND m.user_id = ${user_id}
    WHERE o.id = ${id}`;
  return row && organizationOf(row);
}

/** The organization made first; where things go when nobody says where. */
export async function oldestOrganizationId(sql: Postgres): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`SELECT id FROM organizations ORDER BY created_at, id LIMIT 1`;
  return row?.id;
}

function organizationOf(row: OrganizationRow): Organization {
  const { created_at, updated_at, member_count, teams, ...rest } = row;
  return {
    ...rest,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    member_count: String(member_count),
    metadata: JSON.stringify({ instance_tag: "none" }),
    teams,
    projects: teams.map(({ id, organization, name }) => ({ id, organization_id: organization, name })),
  };
}
