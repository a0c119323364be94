// Looks up the link of a token. Tokens requested at the same time are looked up in one statement, one statement at a
// time: guessing loads Postgres no more than one reader does. A token is found by its hash, so that the time of an
// answer reveals nothing about any token.

import type { Clock } from "../core/clock.ts";
import { unavailable } from "../core/fault.ts";
import { hashKey } from "../core/id.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { sharingLimits } from "./limits.ts";
import { findLinks, type SharedLink } from "./store.ts";

export type LinkCache = ReturnType<typeof openLinkCache>;

export function openLinkCache(sql: Postgres, clock: Clock) {
  const found = new Map<string, { link: SharedLink; at: number }>();
  let waiting: ReturnType<typeof newLookup> | undefined;
  let running: Promise<unknown> = Promise.resolve();
  const findLink = (hash: string): Promise<Map<string, SharedLink>> => {
    waiting ??= newLookup();
    const lookup = waiting;
    lookup.hashes.add(hash);
    if (lookup.hashes.size > sharingLimits.lookedUpMax) throw tooMany();
    if (lookup.hashes.size === 1) {
      running = running.then(async () => {
        waiting = undefined;
        await findLinks(sql, [...lookup.hashes]).then(lookup.resolve, lookup.reject);
      });
    }
    return lookup.promise;
  };
  return {
    /**
     * The link of a token; undefined when it opens nothing.
     * @throws Fault unavailable when too many are requested.
     */
    open: async (token: string) => {
      if (!/^[0-9A-Za-z]{1,64}$/.test(token)) return undefined;
      const hash = hashKey(token);
      const cached = found.get(hash);
      if (cached && clock.elapsed() - cached.at < sharingLimits.foundAgeMsMax) return cached.link;
      found.delete(hash);
      const at = clock.elapsed();
      const link = (await findLink(hash)).get(hash);
      if (!link) return undefined;
      if (found.size >= sharingLimits.foundMax) found.clear();
      found.set(hash, { link, at });
      return link;
    },
    /** After a change: the link is looked up again. */
    forget: (id: number) => {
      for (const [hash, { link }] of found) if (link.id === id) found.delete(hash);
    },
  };
}

function newLookup() {
  return { hashes: new Set<string>(), ...Promise.withResolvers<Map<string, SharedLink>>() };
}

const tooMany = () => unavailable("Too many links are opened at once. Please retry.");
