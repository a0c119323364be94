// Sessions of browsers in Postgres.

import { hashSession, newSessionToken } from "../../access/people/session.ts";
import { randomBase62 } from "../../core/id.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { signInLimits } from "./limits.ts";
import type { BrowserSession } from "./model.ts";

/**
 * A user who signs in by a normalized address and a password, whose hash must still be the stored one, or by a key in
 * its stored form, which must still be valid.
 */
export type Signer = { user_id: number } & (
  { email: string; password_hash: string } | { key: { id: string; secure_value: string } }
);

/**
 * Creates a session, and returns the cookie's value; undefined when the password or the key is no longer valid.
 * Sessions that are over are removed, and the user's oldest when there are signInLimits.sessionsMax others.
 * @param replaces the stored form of the browser's previous session.
 */
export async function startSession(
  sql: Postgres,
  signer: Signer,
  { user_agent, replaces }: { user_agent: string; replaces: string | undefined },
): Promise<string | undefined> {
  const { user_id } = signer;
  const token = newSessionToken();
  const agent = [...user_agent.replaceAll("\0", "")].slice(0, signInLimits.userAgentCharsMax).join("");
  return await sql.begin(async (tx) => {
    if (!(await lockSigner(tx, signer))) return undefined;
    await tx`
      DELETE FROM user_sessions WHERE expires_at <= now() OR secure_value = ${replaces ?? null} OR id IN (
        SELECT id FROM user_sessions WHERE user_id = ${user_id}
        ORDER BY created_at DESC, id OFFSET ${signInLimits.sessionsMax - 1})`;
    await tx`
      INSERT INTO user_sessions (id, user_id, personal_api_key_id, secure_value, user_agent)
      VALUES (${randomBase62(22)}, ${user_id}, ${"key" in signer ? signer.key.id : null}, ${hashSession(token)},
        ${agent})`;
    return token;
  });
}

/**
 * Locks the password or key until the session exists, so that revoking it ends this session, too. False when it is no
 * longer valid.
 */
async function lockSigner(tx: PostgresTransaction, signer: Signer): Promise<boolean> {
  const hash = "password_hash" in signer ? signer.password_hash : null;
  const users = await tx`
    UPDATE users SET last_login = now() WHERE id = ${signer.user_id} AND is_active
      AND (${hash}::text IS NULL OR password_hash = ${hash}) RETURNING id`;
  if (users.length === 0 || !("key" in signer)) return users.length > 0;
  const { id, secure_value } = signer.key;
  const keys = await tx`
    SELECT FROM personal_api_keys WHERE id = ${id} AND secure_value = ${secure_value} FOR SHARE`;
  return keys.length > 0;
}

export async function endSession(sql: Postgres, secure_value: string): Promise<void> {
  // Each DELETE tells all processes, also one of no row.
  const [found] = await sql`SELECT FROM user_sessions WHERE secure_value = ${secure_value}`;
  if (found) await sql`DELETE FROM user_sessions WHERE secure_value = ${secure_value}`;
}

/** Ends one session of a user; false when there is none. */
export async function endOwnSession(sql: Postgres, user_id: number, id: string): Promise<boolean> {
  const rows = await sql`DELETE FROM user_sessions WHERE user_id = ${user_id} AND id = ${id} RETURNING id`;
  return rows.length > 0;
}

/** The sessions of a user, the newest first. `current`: the id of the request's session. */
export async function listSessions(sql: Postgres, user_id: number, current: string) {
  const rows = await sql<Stored<BrowserSession, "created_at" | "last_used_at" | "expires_at">[]>`
    SELECT s.id, s.user_agent, k.label AS key_label, s.id = ${current} AS is_current, s.created_at, s.last_used_at,
      s.expires_at
    FROM user_sessions s LEFT JOIN personal_api_keys k ON k.id = s.personal_api_key_id
    WHERE s.user_id = ${user_id} AND s.expires_at > now()
    ORDER BY s.created_at DESC, s.id LIMIT ${signInLimits.sessionsMax}`;
  return rows.map(shownRow);
}
