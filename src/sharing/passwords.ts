// Passwords of links. Who gave one has a sealed pass for a day, which ends with its password, its token and its link.

import type { Secrets } from "../access/secret.ts";
import { Fault, UserError } from "../core/fault.ts";
import { hashKey } from "../core/id.ts";
import { limits } from "../core/limits.ts";
import type { Uses } from "../storage/services.ts";
import { listHashes } from "./password_store.ts";
import type { SharedLink } from "./store.ts";

/** Hashes and compares passwords, as those of accounts are. */
export interface LinkGuard {
  /** @throws Fault for a password that is too short or too long. */
  hash(password: string, user_id: number): Promise<string>;
  /** The row whose password this is. @throws Fault throttled, unavailable */
  find<Row extends { password_hash: string }>(
    tried: { request: Request; link: string; password: string },
    listRows: () => Promise<readonly Row[]>,
  ): Promise<Row | undefined>;
}

interface PassParts extends Uses<"sql" | "clock"> {
  secrets: Secrets;
  guard: LinkGuard;
}

/** A link, and the token by which it was opened. */
interface Opened {
  link: SharedLink;
  token: string;
}

/** The pass of a password that is one of the link's. @throws Fault not_authenticated, throttled, unavailable */
export async function issuePass(
  { sql, clock, secrets, guard }: PassParts,
  request: Request,
  { link: { id, expires_at }, token }: Opened,
  password: string,
): Promise<string> {
  const tried = { request, link: `link ${id}`, password };
  const row = await guard.find(tried, async () => await listHashes(sql, id));
  if (!row) throw new Fault("not_authenticated", "This is not the link's password.");
  const until = Math.min(clock.now() + limits.dayMs, expires_at?.getTime() ?? Infinity);
  const pass = { link: id, token: hashKey(token), password: row.id, until };
  return Buffer.from(secrets.seal(pass)).toString("base64url");
}

/** Lets those through who need no password or have a pass. @throws Fault not_authenticated */
export function requirePass(
  { clock, secrets }: Pick<PassParts, "clock" | "secrets">,
  { headers }: Request,
  { link: { id, password_ids }, token }: Opened,
): void {
  if (password_ids === null) return;
  const sealed = /^Bearer ([\w-]{1,500})$/.exec(headers.get("authorization") ?? "")?.[1];
  const pass = sealed === undefined ? {} : openSealed(secrets, sealed);
  const isOwn = pass["link"] === id && pass["token"] === hashKey(token);
  if (isOwn && password_ids.includes(pass["password"] as number) && Number(pass["until"]) > clock.now())
    return;
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
