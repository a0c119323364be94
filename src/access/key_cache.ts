// A cache of key look-ups for reads, each used for accessLimits.foundAgeMsMax at most.

import { type Clock, withinMs } from "../core/clock.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { accessLimits } from "./limits.ts";
import { findKeyHolder, listenTo, type Lookup, type Named } from "./store.ts";

export type CachedKey = ReturnType<typeof uncachedKeys>;

export type KeyCache = ReturnType<typeof openKeyCache>;

export function uncachedKeys(sql: Postgres) {
  return {
    findHolder: (secure_value: string, named: Named) => findKeyHolder(sql, secure_value, named),
  };
}

/**
 * A cache of at most accessLimits.foundMax look-ups, each for accessLimits.foundAgeMsMax, emptied when Postgres reports
 * a change. A look-up is not cached without a holder, or when the holder is no member of what it names.
 */
export function openKeyCache({ sql, clock }: { sql: Postgres; clock: Clock }) {
  const cache = cachedKeys(uncachedKeys(sql), clock);
  const unlisten = listenTo(sql, "sluice_access", cache.forget);
  return {
    ...cache,
    // A failure is ignored: when Postgres is gone there is nothing to stop.
    close: () => withinMs(unlisten(), accessLimits.keysReadMsMax).catch(() => {}),
  };
}

export function cachedKeys(uncached: CachedKey, clock: Clock) {
  const entries = new Map<string, { lookup: Lookup; startedAt: number }>();
  /** The result of a look-up that began before a change is not cached. */
  let changes = 0;
  return {
    findHolder: async (secure_value: string, named: Named): Promise<Lookup | undefined> => {
      const { project_id = "", organization_id = "" } = named;
      const cacheKey = `${secure_value} ${project_id} ${organization_id}`;
      const startedAt = clock.elapsed();
      const cached = entries.get(cacheKey);
      if (cached && startedAt - cached.startedAt < accessLimits.foundAgeMsMax) return cached.lookup;
      const changesBefore = changes;
      const lookup = await uncached.findHolder(secure_value, named);
      entries.delete(cacheKey);
      if (!lookup || !isMember(lookup, named) || changes !== changesBefore) return lookup;
      if (entries.size >= accessLimits.foundMax) entries.delete(entries.keys().next().value!);
      entries.set(cacheKey, { lookup, startedAt });
      return lookup;
    },
    /** Must be called after a change of access: later look-ups read Postgres. */
    forget: () => {
      changes++;
      entries.clear();
    },
    size: () => entries.size,
  };
}

/** Whether everything named exists, and the holder is a member of it. */
function isMember({ project, organization }: Lookup, { project_id, organization_id }: Named): boolean {
  const ofProject = project_id === undefined || (project?.membership_level ?? null) !== null;
  const ofOrganization = organization_id === undefined || (organization?.membership_level ?? null) !== null;
  return ofProject && ofOrganization;
}
