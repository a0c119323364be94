// Passwords of links. Who gave one has a sealed pass for a day, which ends with its password.

import type { Secrets } from "../access/secret.ts";
import type { Clock } from "../core/clock.ts";
import { Fault, refuseInput, UserError } from "../core/fault.ts";
import { randomBase62 } from "../core/id.ts";
import { limits } from "../core/limits.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { sharingLimits } from "./limits.ts";
import type { SharePassword } from "./model.ts";
import type { SharedLink } from "./store.ts";

/** Hashes and compares passwords, as those of accounts are. */
export interface LinkGuard {
  /** @throws Fault for a password that is too short or too long. */
  hash(password: string, user_id: number): Promise<string>;
  /** Counts an attempt, and returns what compares the password with a hash. @throws Fault throttled, unavailable */
  attempt(request: Request, link: string, password: string): (hash: string) => Promise<boolean>;
}

export async function listPasswords(sql: Postgres, sharing_id: number): Promise<SharePassword[]> {
  const rows = await sql<Stored<SharePassword, "created_at">[]>`
    SELECT w.id, w.created_at, w.note, coalesce(u.email, 'deleted user') AS created_by_email, true AS is_active
    FROM share_passwords w LEFT JOIN users u ON u.id = w.created_by
    WHERE w.sharing_id = ${sharing_id} ORDER BY w.id`;
  return rows.map(shownRow);
}

/** Stores a password, a random one where none is given, and returns it. @throws Fault when there are too many. */
export async function addPassword(
  { sql, guard }: { sql: Postgres; guard: LinkGuard },
  sharing_id: number,
  {
    password = randomBase62(22),
    note,
    user_id,
  }: { password?: string | undefined; note: string; user_id: number },
) {
  const password_hash = await guard.hash(password, user_id);
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO share_passwords (sharing_id, password_hash, note, created_by)
    SELECT id, ${password_hash}, ${note}, ${user_id} FROM sharing_configurations s
    WHERE id = ${sharing_id} AND (
      SELECT count(*) FROM share_passwords WHERE sharing_id = s.id) < ${sharingLimits.passwordsMax}
    RETURNING id`;
  if (!row) refuseInput(`A link has at most ${sharingLimits.passwordsMax} passwords.`, "raw_password");
  const all = await listPasswords(sql, sharing_id);
  return { ...all.find(({ id }) => id === row.id)!, password };
}

export async function removePassword(sql: Postgres, sharing_id: number, id: number): Promise<boolean> {
  const rows = await sql`
    DELETE FROM share_passwords WHERE id = ${id} AND sharing_id = ${sharing_id} RETURNING id`;
  return rows.length > 0;
}

export interface PassParts {
  sql: Postgres;
  clock: Clock;
  secrets: Secrets;
  guard: LinkGuard;
}

/** The pass of a password that is one of the link's. @throws Fault not_authenticated, throttled, unavailable */
export async function issuePass(
  { sql, clock, secrets, guard }: PassParts,
  request: Request,
  { id }: SharedLink,
  password: string,
): Promise<string> {
  const isRight = guard.attempt(request, `link ${id}`, password);
  const rows = await sql<{ id: number; password_hash: string }[]>`
    SELECT id, password_hash FROM share_passwords WHERE sharing_id = ${id} ORDER BY id`;
  for (const row of rows)
    if (await isRight(row.password_hash)) {
      const pass = { link: id, password: row.id, until: clock.now() + limits.dayMs };
      return Buffer.from(secrets.seal(pass)).toString("base64url");
    }
  throw new Fault("not_authenticated", "This is not the link's password.");
}

/** Lets those through who need no password or have a pass. @throws Fault not_authenticated */
export function requirePass(
  { clock, secrets }: Pick<PassParts, "clock" | "secrets">,
  { headers }: Request,
  { id, password_ids }: SharedLink,
): void {
  if (password_ids === null) return;
  const sealed = /^Bearer ([\w-]{1,500})$/.exec(headers.get("authorization") ?? "")?.[1];
  const pass = sealed === undefined ? {} : openSealed(secrets, sealed);
  const isOpen = pass["link"] === id && password_ids.includes(pass["password"] as number);
  if (!isOpen || !(Number(pass["until"]) > clock.now()))
    throw new Fault("not_authenticated", "This link asks for a password.");
}

function openSealed(secrets: Secrets, sealed: string): Record<string, unknown> {
  try {
    return secrets.open(Buffer.from(sealed, "base64url"));
  } catch (thrown) {
    if (thrown instanceof UserError) return {};
    throw thrown;
  }
}
