// Tokens of links: 256 random bits. Postgres has a token's hash, by which it is found, and the token sealed with
// SECRET_KEY: replies show it as PostHog's do, and whoever reads only the database cannot open a link.

import type { Secrets } from "../access/secret.ts";
import { UserError } from "../core/fault.ts";
import { hashKey, randomBase62 } from "../core/id.ts";
import { isoOf } from "../http/fields/field_time.ts";
import type { Uses } from "../storage/services.ts";
import type { LinkCache } from "./links.ts";
import type { Sharing } from "./model.ts";
import { type SharedThing, storeSealed, upsertSharing } from "./store.ts";

/** As many random bits as an API key, since the token alone opens the thing. */
const tokenChars = 43;

export interface SharingParts extends Uses<"sql" | "clock"> {
  secrets: Secrets;
  links: LinkCache;
}

/** The sharing of a thing, after the change, if there is one. */
export async function sharingOf(
  { sql, clock, secrets, links }: SharingParts,
  thing: SharedThing,
  change: Parameters<typeof upsertSharing>[3] = {},
): Promise<Sharing> {
  const token = randomBase62(tokenChars);
  const fresh = {
    token_hash: hashKey(token),
    token_sealed: secrets.seal({ token }),
    now: new Date(clock.now()),
  };
  const row = await upsertSharing(sql, thing, fresh, change);
  if (Object.keys(change).length > 0) links.forget(row.id);
  const { id, enabled, created_at, token_sealed, token_plain } = row;
  if (token_plain !== null) await storeSealed(sql, id, token_plain, secrets.seal({ token: token_plain }));
  const access_token = token_plain ?? (token_sealed && unsealed(secrets, token_sealed));
  return { created_at: isoOf(created_at), enabled, access_token };
}

/** The sharing of what does not exist yet: disabled, with a token that is not stored. */
export function unshared({ clock }: SharingParts): Sharing {
  return { created_at: isoOf(new Date(clock.now())), enabled: false, access_token: randomBase62(tokenChars) };
}

function unsealed(secrets: Secrets, sealed: Uint8Array): string | null {
  try {
    return String(secrets.open(sealed)["token"]);
  } catch (thrown) {
    if (thrown instanceof UserError) return null;
    throw thrown;
  }
}
