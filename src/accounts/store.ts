// The first accounts of an empty database, in one statement: all of them or none. Never adds to a database
// that has an organization.

import { newUuid, randomBase62 } from "../core/id.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";

/** What a membership's level says of an owner. */
const ownerLevel = 15;

/** What the first start makes at once. */
export interface FirstAccounts {
  organization_name: string;
  slug: string;
  project_name: string;
  email: string;
  api_token: string;
  personal_api_key: { id: string; label: string; secure_value: string; mask_value: string; scopes: string[] };
}

/**
 * Makes the first organization, project, user and key; undefined when there is an organization already, or
 * when another process is just making the first one.
 */
export async function createFirstAccounts(
  sql: Postgres,
  first: FirstAccounts,
): Promise<{ organization_id: string; project_id: number } | undefined> {
  const { personal_api_key: key } = first;
  // The row of first_starts decides a race: the loser waits for the winner and then does nothing.
  const [made] = await sql<{ organization_id: string; project_id: number }[]>`
    WITH start AS (
      INSERT INTO first_starts (single, personal_api_key_id)
      SELECT true, ${key.id} WHERE NOT EXISTS (SELECT FROM organizations)
      ON CONFLICT DO NOTHING RETURNING 1
    ), organization AS (
      INSERT INTO organizations (id, name, slug)
      SELECT ${newUuid()}, ${first.organization_name}, ${first.slug} FROM start RETURNING id
    ), project AS (
      INSERT INTO projects (uuid, organization_id, name, api_token)
      SELECT ${newUuid()}, id, ${first.project_name}, ${first.api_token} FROM organization
      RETURNING id, organization_id
    ), owner AS (
      INSERT INTO users (uuid, distinct_id, email, current_organization_id, current_project_id)
      SELECT ${newUuid()}, ${randomBase62(43)}, ${first.email}, organization_id, id FROM project
      RETURNING id, current_organization_id
    ), membership AS (
      INSERT INTO organization_memberships (organization_id, user_id, level)
      SELECT current_organization_id, id, ${ownerLevel} FROM owner
    ), personal_key AS (
      INSERT INTO personal_api_keys (id, user_id, label, secure_value, mask_value, scopes)
      SELECT ${key.id}, id, ${key.label}, ${key.secure_value}, ${key.mask_value}, ${key.scopes}::text[]
      FROM owner
    )
    SELECT organization_id, id AS project_id FROM project`;
  return made;
}

/** What a start that never served has made, with its personal key replaced. */
export interface UnservedAccounts {
  organization_id: string;
  project_id: number;
  api_token: string;
}

/**
 * Replaces the first personal key while no start has served; undefined when one has.
 * @param idleSeconds how long ago the first start must have begun: another process may be just about to serve.
 */
export async function reissueFirstKey(
  sql: Postgres,
  {
    secure_value,
    mask_value,
    idleSeconds,
  }: { secure_value: string; mask_value: string; idleSeconds: number },
): Promise<UnservedAccounts | undefined> {
  const [unserved] = await sql<UnservedAccounts[]>`
    WITH reissued AS (
      UPDATE personal_api_keys k SET secure_value = ${secure_value}, mask_value = ${mask_value}
      FROM first_starts s
      WHERE k.id = s.personal_api_key_id AND s.served_at IS NULL
        AND s.created_at <= now() - make_interval(secs => ${idleSeconds})
      RETURNING k.user_id
    )
    SELECT p.organization_id, p.id AS project_id, p.api_token
    FROM reissued r JOIN organization_memberships m USING (user_id) JOIN projects p USING (organization_id)
    ORDER BY p.id LIMIT 1`;
  return unserved;
}

/** From now on no start shows keys. */
export async function markServed(sql: Postgres): Promise<void> {
  await sql`UPDATE first_starts SET served_at = now() WHERE served_at IS NULL`;
}
