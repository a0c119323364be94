// The SQL of the first accounts. They are created in one statement, and only when there is no organization.

import { membershipLevels } from "../access/people/levels.ts";
import { newUuid, randomBase62 } from "../core/id.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { normalizedEmail } from "./sign_in/signing.ts";

interface StoredKey {
  secure_value: string;
  mask_value: string;
}

interface FirstAccounts {
  organization_id: string;
  project_id: number;
  api_token: string;
}

/**
 * Creates the first organization, project, user and key; undefined when there is an organization already, or another
 * process creates it at the same time.
 */
export async function createFirstAccounts(
  sql: Postgres,
  { email, api_token, secure_value, mask_value }: StoredKey & { email: string; api_token: string },
): Promise<FirstAccounts | undefined> {
  const key_id = randomBase62(22);
  // The row of first_starts decides between processes: the second one waits for the first and then inserts nothing.
  const [accounts] = await sql<FirstAccounts[]>`
    WITH start AS (
      INSERT INTO first_starts (single, personal_api_key_id)
      SELECT true, ${key_id} WHERE NOT EXISTS (SELECT FROM organizations)
      ON CONFLICT DO NOTHING RETURNING 1
    ), organization AS (
      INSERT INTO organizations (id, name, slug)
      SELECT ${newUuid()}, 'Default organization', 'default-organization' FROM start RETURNING id
    ), project AS (
      INSERT INTO projects (uuid, organization_id, name, api_token)
      SELECT ${newUuid()}, id, 'Default project', ${api_token} FROM organization
      RETURNING id, organization_id, api_token
    ), owner AS (
      INSERT INTO users (uuid, distinct_id, email, current_organization_id, current_project_id)
      SELECT ${newUuid()}, ${randomBase62(43)}, ${normalizedEmail(email)}, organization_id, id FROM project
      RETURNING id, current_organization_id
    ), membership AS (
      INSERT INTO organization_memberships (organization_id, user_id, level)
      SELECT current_organization_id, id, ${membershipLevels.owner} FROM owner
    ), personal_key AS (
      INSERT INTO personal_api_keys (id, user_id, label, secure_value, mask_value, scopes)
      SELECT ${key_id}, id, 'First start', ${secure_value}, ${mask_value}, '{*}' FROM owner
    )
    SELECT organization_id, id AS project_id, api_token FROM project`;
  return accounts;
}

/**
 * Replaces the first personal key while no start has served; undefined when one has.
 * @param idleSeconds how long ago the first start must have been: another process may be about to serve.
 */
export async function reissueFirstKey(
  sql: Postgres,
  { secure_value, mask_value }: StoredKey,
  idleSeconds: number,
): Promise<FirstAccounts | undefined> {
  const [unserved] = await sql<FirstAccounts[]>`
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

/** Records that a start has served: later starts show no keys. */
export async function markServed(sql: Postgres): Promise<void> {
  await sql`UPDATE first_starts SET served_at = now() WHERE served_at IS NULL`;
}
