// Sessions of browsers and passwords of users in Postgres.

import { hashSession, newSessionToken } from "../../access/people/session.ts";
import { randomBase62 } from "../../core/id.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { signInLimits } from "./limits.ts";
import type { BrowserSession } from "./model.ts";

interface NewSession {
  user_id: number;
  /** The key that signs in; null for a password. */
  personal_api_key_id: string | null;
  user_agent: string;
  /** The stored form of the session that ends with this: the browser's before. */
  replaces?: string | undefined;
}

/**
 * Makes a session, and returns what the cookie holds. Sessions that are over are removed, and the user's oldest when
 * there are signInLimits.sessionsMax others.
 */
export async function startSession(sql: Postgres, session: NewSession): Promise<string> {
  const { user_id, personal_api_key_id, replaces = null } = session;
  const token = newSessionToken();
  const user_agent = [...session.user_agent.replaceAll("\0", "")].slice(0, signInLimits.userAgentCharsMax);
  await sql.begin(async (tx) => {
    await tx`
      DELETE FROM user_sessions WHERE expires_at <= now() OR secure_value = ${replaces} OR id IN (
        SELECT id FROM user_sessions WHERE user_id = ${user_id}
        ORDER BY created_at DESC, id OFFSET ${signInLimits.sessionsMax - 1})`;
    await tx`
      INSERT INTO user_sessions (id, user_id, personal_api_key_id, secure_value, user_agent)
      VALUES (${randomBase62(22)}, ${user_id}, ${personal_api_key_id}, ${hashSession(token)}, ${user_agent.join("")})`;
    await tx`UPDATE users SET last_login = now() WHERE id = ${user_id}`;
  });
  return token;
}

/** Ends the session that is stored as `secure_value`, if there is one. */
export async function endSession(sql: Postgres, secure_value: string): Promise<void> {
  await sql`DELETE FROM user_sessions WHERE secure_value = ${secure_value}`;
}

/** Ends one session of a user; false when there is none. */
export async function endOwnSession(sql: Postgres, user_id: number, id: string): Promise<boolean> {
  const rows = await sql`DELETE FROM user_sessions WHERE user_id = ${user_id} AND id = ${id} RETURNING id`;
  return rows.length > 0;
}

type SessionRow = Stored<BrowserSession, "created_at" | "last_used_at" | "expires_at">;

/** The sessions of a user, the newest first. `current`: the id of the one that asks. */
export async function listSessions(
  sql: Postgres,
  user_id: number,
  current: string,
): Promise<BrowserSession[]> {
  const rows = await sql<SessionRow[]>`
    SELECT s.id, s.user_agent, k.label AS key_label, s.id = ${current} AS is_current, s.created_at, s.last_used_at,
      s.expires_at
    FROM user_sessions s LEFT JOIN personal_api_keys k ON k.id = s.personal_api_key_id
    WHERE s.user_id = ${user_id} AND s.expires_at > now()
    ORDER BY s.created_at DESC, s.id LIMIT ${signInLimits.sessionsMax}`;
  return rows.map(shownRow);
}

export interface SigningUser {
  id: number;
  email: string;
  password_hash: string | null;
}

/** The active user of a normalized address. */
export async function findSigningUser(sql: Postgres, email: string): Promise<SigningUser | undefined> {
  const [row] = await sql<SigningUser[]>`
    SELECT id, email, password_hash FROM users WHERE lower(email) = ${email} AND is_active`;
  return row;
}

export interface UserChanges {
  first_name?: string;
  last_name?: string;
  email?: string;
  password_hash?: string;
}

/**
 * Changes a user. A new password ends all sessions. False when another user has the address.
 */
export async function changeUser(sql: Postgres, id: number, changes: UserChanges): Promise<boolean> {
  if (Object.keys(changes).length === 0) return true;
  return await sql.begin(async (tx) => {
    const { email = null } = changes;
    const rows = await tx`
      UPDATE users SET ${tx({ ...changes })} WHERE id = ${id} AND NOT EXISTS (
        SELECT FROM users other WHERE lower(other.email) = lower(${email}) AND other.id <> ${id})
      RETURNING id`;
    if (rows.length > 0 && changes.password_hash !== undefined) {
      await tx`DELETE FROM user_sessions WHERE user_id = ${id}`;
    }
    return rows.length > 0;
  });
}

/** Every user, the oldest first; for commands of the operator. */
export async function listAllUsers(
  sql: Postgres,
): Promise<{ email: string; has_password: boolean; last_login: Date | null }[]> {
  return await sql<{ email: string; has_password: boolean; last_login: Date | null }[]>`
    SELECT email, password_hash IS NOT NULL AS has_password, last_login FROM users WHERE is_active ORDER BY id`;
}
