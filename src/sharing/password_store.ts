// The passwords of links.

import { refuseInput } from "../core/fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { sharingLimits } from "./limits.ts";
import type { SharePassword } from "./model.ts";

export async function listPasswords(sql: Postgres, sharing_id: number): Promise<SharePassword[]> {
  const rows = await sql<Stored<SharePassword, "created_at">[]>`
    SELECT w.id, w.created_at, w.note, coalesce(u.email, 'deleted user') AS created_by_email, true AS is_active
    FROM share_passwords w LEFT JOIN users u ON u.id = w.created_by
    WHERE w.sharing_id = ${sharing_id} ORDER BY w.id`;
  return rows.map(shownRow);
}

/** Stores a password, of which a link has a few. @throws Fault when there are too many. */
export async function addPassword(
  sql: Postgres,
  sharing_id: number,
  { password_hash, note, user_id }: { password_hash: string; note: string; user_id: number },
): Promise<SharePassword> {
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO share_passwords (sharing_id, password_hash, note, created_by)
    SELECT id, ${password_hash}, ${note}, ${user_id} FROM sharing_configurations s
    WHERE id = ${sharing_id} AND (
      SELECT count(*) FROM share_passwords WHERE sharing_id = s.id) < ${sharingLimits.passwordsMax}
    RETURNING id`;
  if (!row) refuseInput(`A link has at most ${sharingLimits.passwordsMax} passwords.`, "raw_password");
  const all = await listPasswords(sql, sharing_id);
  return all.find(({ id }) => id === row.id)!;
}

export async function removePassword(sql: Postgres, sharing_id: number, id: number): Promise<boolean> {
  const rows = await sql`
    DELETE FROM share_passwords WHERE id = ${id} AND sharing_id = ${sharing_id} RETURNING id`;
  return rows.length > 0;
}

/** The hashes that an attempt is compared with. */
export async function listHashes(sql: Postgres, sharing_id: number) {
  return await sql<{ id: number; password_hash: string }[]>`
    SELECT id, password_hash FROM share_passwords WHERE sharing_id = ${sharing_id} ORDER BY id`;
}
