// Passwords of links. Who gave one has a sealed pass for a day, which ends with its password.

import type { Secrets } from "../access/secret.ts";
import { Fault, UserError } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import type { Uses } from "../storage/services.ts";
import { listHashes } from "./password_store.ts";
import type { SharedLink } from "./store.ts";

/** Hashes and compares passwords, as those of accounts are. */
export interface LinkGuard {
  /** @throws Fault for a password that is too short or too long. */
  hash(password: string, user_id: number): Promise<string>;
  /** Counts an attempt, and returns what compares the password with a hash. @throws Fault throttled, unavailable */
  attempt(request: Request, link: string, password: string): (hash: string) => Promise<boolean>;
}

interface PassParts extends Uses<"sql" | "clock"> {
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
  for (const row of await listHashes(sql, id))
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
