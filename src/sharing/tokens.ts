// Tokens of links: 256 random bits. Postgres has a token's hash, by which it is found, and the token sealed with
// SECRET_KEY: replies show it as PostHog's do, and whoever reads only the database cannot open a link.

import type { Secrets } from "../access/secret.ts";
import type { Clock } from "../core/clock.ts";
import { unavailable, UserError } from "../core/fault.ts";
import { hashKey, randomBase62 } from "../core/id.ts";
import { toIso } from "../http/fields/field_time.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { Uses } from "../storage/services.ts";
import { putNewest } from "../work/maps.ts";
import { sharingLimits } from "./limits.ts";
import type { Sharing } from "./model.ts";
import { listPasswords } from "./password_store.ts";
import { type LinkGuard, requirePass } from "./passwords.ts";
import {
  findLinks,
  listNotShown,
  type SharedLink,
  type SharedThing,
  type SharingChange,
  storeSealed,
  upsertSharing,
} from "./store.ts";

/** The random bits of an API key, since the token alone opens the thing. */
const tokenChars = 43;

export interface SharingParts extends Uses<"sql" | "clock"> {
  secrets: Secrets;
  links: LinkCache;
  guard: LinkGuard;
}

/** The sharing as it is stored. */
type StoredSharing = Omit<Sharing, "properties_to_confirm">;
type TokenParts = Omit<SharingParts, "guard">;

/** The sharing of a thing, after the change, if there is one. */
export async function presentSharing(
  { sql, clock, secrets, links }: TokenParts,
  thing: SharedThing,
  change: SharingChange = {},
): Promise<StoredSharing & { id: number }> {
  const token = randomBase62(tokenChars);
  const fresh = {
    token_hash: hashKey(token),
    token_sealed: secrets.seal({ token }),
    now: new Date(clock.now()),
  };
  const row = await upsertSharing(sql, thing, fresh, change);
  if (Object.keys(change).length > 0) links.forget(row.id);
  const { id, created_at, token_sealed, token_plain, expires_at, ...others } = row;
  if (token_plain !== null) await storeSealed(sql, id, token_plain, secrets.seal({ token: token_plain }));
  const access_token = token_plain ?? (token_sealed && unsealed(secrets, token_sealed));
  const lists = { share_passwords: await listPasswords(sql, id), not_shown: await listNotShown(sql, id) };
  const end = expires_at && toIso(expires_at);
  return { id, ...others, created_at: toIso(created_at), access_token, ...lists, expires_at: end };
}

/** The sharing of what does not exist yet: disabled, with a token that is not stored. */
export function unshared({ clock }: Uses<"clock">): StoredSharing {
  return {
    created_at: toIso(new Date(clock.now())),
    enabled: false,
    password_required: false,
    share_passwords: [],
    expires_at: null,
    access_token: randomBase62(tokenChars),
    shown_properties: [],
    not_shown: [],
  };
}

function unsealed(secrets: Secrets, sealed: Uint8Array): string | null {
  try {
    return String(secrets.open(sealed)["token"]);
  } catch (thrown) {
    if (thrown instanceof UserError) return null;
    throw thrown;
  }
}

export type LinkCache = ReturnType<typeof openLinkCache>;

/**
 * Looks up the link of a token. Tokens requested at the same time are looked up in one statement, one statement at a
 * time: guessing loads Postgres no more than one reader does. A token is found by its hash, so that the time of an
 * answer reveals nothing about any token.
 */
export function openLinkCache(sql: Postgres, clock: Clock, secrets: Secrets) {
  const found = new Map<string, { link: SharedLink; at: number }>();
  let waiting: { hashes: Set<string>; links: ReturnType<typeof findLinks> } | undefined;
  let running: Promise<unknown> = Promise.resolve();
  const openLookup = () => {
    const hashes = new Set<string>();
    const links = running.then(async () => {
      waiting = undefined;
      return await findLinks(sql, [...hashes], new Date(clock.now()));
    });
    running = links.catch(() => {});
    return { hashes, links };
  };
  const findLink = async (hash: string): Promise<SharedLink | undefined> => {
    waiting ??= openLookup();
    const { hashes, links } = waiting;
    if (hashes.add(hash).size > sharingLimits.lookedUpMax)
      throw unavailable("Too many links are opened at once. Please retry.");
    return (await links).get(hash);
  };
  /** The link of a token; undefined when it opens nothing. @throws Fault unavailable when too many are requested. */
  const find = async (token: string) => {
    if (!/^[0-9A-Za-z]{1,64}$/.test(token)) return undefined;
    const hash = hashKey(token);
    const cached = found.get(hash);
    if (cached && clock.elapsed() - cached.at < sharingLimits.foundAgeMsMax) return cached.link;
    found.delete(hash);
    const at = clock.elapsed();
    const link = await findLink(hash);
    if (link) putNewest(found, hash, { link, at }, sharingLimits.foundMax);
    return link;
  };
  return {
    /** The link, which may ask for a password: for what shows nothing of it. */
    find,
    /** The link that the request may see. @throws Fault not_authenticated for one that has no pass; as find. */
    open: async (token: string, request: Request) => {
      const link = await find(token);
      if (link) requirePass({ clock, secrets }, request, { link, token });
      return link;
    },
    /** After a change: the link is looked up again. */
    forget: (id: number) => {
      for (const [hash, { link }] of found) if (link.id === id) found.delete(hash);
    },
  };
}
