// A cache of key look-ups for reads, each used for accessLimits.foundAgeMsMax at most.

import type { Clock } from "../core/clock.ts";
import { withinMs } from "../core/deadline.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { accessLimits } from "./limits.ts";
import { findKeyHolder, type Found, listenTo, type Named } from "./store.ts";

export type CachedKey = ReturnType<typeof uncachedKeys>;

export interface KeyCache extends CachedKey {
  /** To be called after a change of access: later look-ups read Postgres. */
  forget(): void;
  size(): number;
  close(): Promise<void>;
}

/** Reads Postgres for every look-up. */
export function uncachedKeys(sql: Postgres) {
  return {
    /** The holder of the key that is stored as `secure_value`, and the project and organization named. */
    holderOf: (secure_value: string, named: Named) => findKeyHolder(sql, secure_value, named),
  };
}

/**
 * A cache of at most accessLimits.foundMax look-ups, each for accessLimits.foundAgeMsMax, emptied when Postgres reports
 * a change. A look-up that found nothing, or nothing open to the holder, is not cached.
 */
export function openKeyCache({ sql, clock }: { sql: Postgres; clock: Clock }): KeyCache {
  const cache = new Remembered(uncachedKeys(sql), clock);
  const unlisten = listenTo(sql, "sluice_access", () => cache.forget());
  return Object.assign(cache, {
    // A failure is ignored: when Postgres is gone there is nothing to stop.
    close: () => withinMs(unlisten(), accessLimits.keysReadMsMax).catch(() => {}),
  });
}

export class Remembered implements CachedKey {
  readonly #uncached: CachedKey;
  readonly #clock: Clock;
  readonly #found = new Map<string, { found: Found; askedAt: number }>();
  /** The result of a look-up that began before a change is not cached. */
  #changes = 0;

  constructor(uncached: CachedKey, clock: Clock) {
    this.#uncached = uncached;
    this.#clock = clock;
  }

  async holderOf(secure_value: string, named: Named): Promise<Found | undefined> {
    const { project_id = "", organization_id = "" } = named;
    const cacheKey = `${secure_value} ${project_id} ${organization_id}`;
    const now = this.#clock.elapsed();
    const cached = this.#found.get(cacheKey);
    if (cached && now - cached.askedAt < accessLimits.foundAgeMsMax) return cached.found;
    const changes = this.#changes;
    const found = await this.#uncached.holderOf(secure_value, named);
    this.#found.delete(cacheKey);
    if (!found || !isReached(found, named) || changes !== this.#changes) return found;
    const [oldest] = this.#found.keys();
    if (this.#found.size >= accessLimits.foundMax && oldest !== undefined) this.#found.delete(oldest);
    this.#found.set(cacheKey, { found, askedAt: now });
    return found;
  }

  forget(): void {
    this.#changes++;
    this.#found.clear();
  }

  size(): number {
    return this.#found.size;
  }
}

/** Whether everything named exists, and the holder is a member of it. */
function isReached({ project, organization }: Found, { project_id, organization_id }: Named): boolean {
  const ofProject = project_id === undefined || (project?.membership_level ?? null) !== null;
  const ofOrganization = organization_id === undefined || (organization?.membership_level ?? null) !== null;
  return ofProject && ofOrganization;
}
