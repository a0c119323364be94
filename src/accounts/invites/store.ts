// Invitations in Postgres. One is valid for three days, while its maker may still invite, and until it is accepted:
// then it is deleted.

import { membershipLevels, requireLevel } from "../../access/people/levels.ts";
import { refuseInput } from "../../core/fault.ts";
import { hashKey, newUuid, randomBase62 } from "../../core/id.ts";
import { present } from "../../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Page } from "../../http/pages/page.ts";
import { stopWork } from "../../organizations/stop_work_store.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { countedPage, userJson } from "../../storage/postgres/rows.ts";
import { type Invite, invitesMax, type ShownInvite } from "./model.ts";

type InviteRow = Stored<Invite, "created_at" | "expires_at">;

/** The columns of a reply, for the invitation `i` and the user `u` who made it. */
function columns(sql: Postgres) {
  return sql`
    i.id, i.target_email, i.first_name, i.level, ${userJson(sql, "u")} AS created_by, i.created_at, i.expires_at,
    false AS is_expired, NULL AS message, '[]'::jsonb AS private_project_access, false AS emailing_attempt_made`;
}

/** Invitations that may be accepted, with their makers. */
function valid(sql: Postgres | PostgresTransaction) {
  return sql`
    organization_invites i JOIN users u ON u.id = i.created_by_id AND u.is_active
    JOIN organization_memberships m ON m.user_id = u.id AND m.organization_id = i.organization_id
      AND m.level >= greatest(i.level, ${membershipLevels.admin}) AND i.expires_at > now()`;
}

/** A page of an organization's invitations that may be accepted, the newest first. */
export async function listInvites(sql: Postgres, organization_id: string, page: Page) {
  const from = sql`FROM ${valid(sql)} WHERE i.organization_id = ${organization_id}`;
  const order = sql`i.created_at DESC, i.id`;
  return await countedPage(sql, { columns: columns(sql), from, order, page, show: shownRow<InviteRow> });
}

interface NewInvite {
  organization_id: string;
  created_by_id: number;
  /** Normalized. */
  target_email: string;
  first_name: string;
  level: number;
}

const refusals = {
  member: "This address belongs to a member already.",
  full: `An organization has at most ${invitesMax} open invitations. Revoke one first.`,
} as const;

/**
 * Creates invitations, all or none; each replaces an earlier one to its address. Returns them with the tokens of their
 * links.
 * @throws Fault invalid_input where an address is a member's, or too many are open; permission_denied where the maker
 *   may not invite any more.
 */
export async function makeInvites(sql: Postgres, invites: readonly NewInvite[]) {
  return await sql.begin(async (tx) => {
    const made = [];
    for (const invite of invites) made.push(await insertInvite(sql, tx, invite));
    return made;
  });
}

async function insertInvite(sql: Postgres, tx: PostgresTransaction, invite: NewInvite) {
  const { organization_id, target_email, created_by_id } = invite;
  const token = randomBase62(43);
  await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR NO KEY UPDATE`;
  // The maker may have been demoted since the request was admitted.
  const [maker] = await tx<{ level: number }[]>`
    SELECT level FROM organization_memberships
    WHERE organization_id = ${organization_id} AND user_id = ${created_by_id}`;
  requireLevel(maker?.level ?? 0, membershipLevels.admin);
  const [member] = await tx`
    SELECT FROM organization_memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organization_id} AND lower(u.email) = ${target_email}`;
  if (member) refuseInput(refusals.member, "target_email");
  await tx`
    DELETE FROM organization_invites WHERE organization_id = ${organization_id}
      AND (lower(target_email) = ${target_email} OR expires_at <= now())`;
  const row = { ...invite, id: newUuid(), secure_value: hashKey(token) };
  const [insertedRow] = await tx<InviteRow[]>`
    WITH i AS (
      INSERT INTO organization_invites ${tx(row)} RETURNING *
    ) SELECT ${columns(sql)} FROM i JOIN users u ON u.id = i.created_by_id`;
  const [open] = await tx<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM organization_invites WHERE organization_id = ${organization_id}`;
  if (insertedRow === undefined || (open?.count ?? 0) > invitesMax)
    refuseInput(refusals.full, "target_email");
  return { invite: shownRow(insertedRow), token };
}

/** The id of an organization's invitation. @throws Fault not_found. */
export async function getInviteId(sql: Postgres, organization_id: string, id: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    SELECT id FROM organization_invites WHERE organization_id = ${organization_id} AND id = ${id}`;
  return present(row).id;
}

/** False when the organization has no such invitation. */
export async function revokeInvite(sql: Postgres, organization_id: string, id: string): Promise<boolean> {
  const rows = await sql`
    DELETE FROM organization_invites WHERE organization_id = ${organization_id} AND id = ${id} RETURNING id`;
  return rows.length > 0;
}

/** Finds what the link of an invitation shows; undefined when it is not valid. */
export async function findInvite(sql: Postgres, id: string, token: string): Promise<ShownInvite | undefined> {
  const [row] = await sql<Stored<ShownInvite, "expires_at">[]>`
    SELECT o.name AS organization_name, i.target_email, i.first_name, i.expires_at
    FROM ${valid(sql)} JOIN organizations o ON o.id = i.organization_id
    WHERE i.id = ${id} AND i.secure_value = ${hashKey(token)}`;
  return row && shownRow(row);
}

interface Acceptance {
  id: string;
  token: string;
  /** The user who has the address, or the new account. */
  joining: { user_id: number } | { first_name: string; password_hash: string };
}

/**
 * Makes the accepting user a member, and creates the account if there is none; once, even if two accept at the same
 * time. A member's level does not change.
 * @returns the user's id; undefined when the invitation is no longer valid, or another account has the address: then it
 *   is not used up.
 */
export async function acceptInvite(sql: Postgres, acceptance: Acceptance): Promise<number | undefined> {
  const accepting = sql.begin(async (tx) => {
    const user_id = await join(tx, acceptance);
    if (user_id === undefined) throw nobodyJoined;
    await tx`
      UPDATE users SET current_organization_id = m.organization_id
      FROM organization_memberships m WHERE m.user_id = users.id AND users.id = ${user_id}
        AND users.current_organization_id IS NULL`;
    return user_id;
  });
  return await accepting.catch((thrown: unknown) => {
    if (thrown !== nobodyJoined) throw thrown;
    return undefined;
  });
}

/** Undoes the use of an invitation. */
const nobodyJoined = new Error("nobody joined");

async function join(
  tx: PostgresTransaction,
  { id, token, joining }: Acceptance,
): Promise<number | undefined> {
  const user_id = "user_id" in joining ? joining.user_id : null;
  const { first_name = "", password_hash = null } = "user_id" in joining ? {} : joining;
  const [joined] = await tx<{ user_id: number; organization_id: string; level: number }[]>`
    WITH accepted AS (
      DELETE FROM organization_invites used USING ${valid(tx)}
      WHERE used.id = i.id AND i.id = ${id} AND i.secure_value = ${hashKey(token)}
      RETURNING used.organization_id, used.target_email, used.level
    ), made AS (
      INSERT INTO users (uuid, distinct_id, email, first_name, password_hash)
      SELECT ${newUuid()}, ${randomBase62(43)}, target_email, ${first_name}, ${password_hash} FROM accepted
      WHERE ${user_id}::integer IS NULL
      ON CONFLICT DO NOTHING RETURNING id
    ), joining AS (
      SELECT ${user_id}::integer AS id FROM accepted WHERE ${user_id}::integer IS NOT NULL
      UNION ALL SELECT id FROM made
    )
    INSERT INTO organization_memberships (organization_id, user_id, level)
    SELECT accepted.organization_id, joining.id, accepted.level FROM accepted, joining
    ON CONFLICT (organization_id, user_id) DO UPDATE SET level = organization_memberships.level
    RETURNING user_id, organization_id, level`;
  // They may have been a member before, and have left work that goes on.
  if (joined && joined.level < membershipLevels.member)
    await stopWork(tx, joined.organization_id, joined.user_id);
  return joined?.user_id;
}
