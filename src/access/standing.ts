// Who may, as Postgres said a moment ago: reads ask it once in a while, not at every request. Never lets anybody in
// by what is older than limits.foundAgeMsMax.

import type { Clock } from "../core/clock.ts";
import { withinMs } from "../core/deadline.ts";
import { limits } from "../core/limits.ts";
import type { Postgres } from "../storage/postgres.ts";
import {
  currentOrganization,
  currentProject,
  type Found,
  findKeyHolder,
  type KeyHolder,
  listenToAccess,
  type Named,
  type ReachedOrganization,
  type ReachedProject,
} from "./store.ts";

/** The questions of the gate; `holderOf` first, the others about the holder that it found. */
export interface Standing {
  /** Who holds the key that rests as `secure_value`, and what was named. */
  holderOf(secure_value: string, named: Named): Promise<Found | undefined>;
  /** What `@current` means to the holder. */
  projectOf(holder: KeyHolder): Promise<ReachedProject | undefined>;
  organizationOf(holder: KeyHolder): Promise<ReachedOrganization | undefined>;
}

export interface RecentStanding extends Standing {
  /** After a change of who may do what: what comes after asks Postgres. */
  forget(): void;
  /** Answers remembered. */
  size(): number;
  /** Stops listening. */
  close(): Promise<void>;
}

/** Asks Postgres each time. */
export function askedStanding(sql: Postgres): Standing {
  return {
    holderOf: (secure_value, named) => findKeyHolder(sql, secure_value, named),
    projectOf: (holder) => currentProject(sql, holder),
    organizationOf: (holder) => currentOrganization(sql, holder),
  };
}

export interface RecentStandingOptions {
  sql: Postgres;
  clock: Clock;
}

/**
 * Remembers answers for limits.foundAgeMsMax, limits.foundMax at the most, and forgets them as soon as Postgres
 * tells that something changed, whoever changed it. What is not there, or not open to the holder, is asked for each
 * time.
 */
export function openStanding({ sql, clock }: RecentStandingOptions): RecentStanding {
  const standing = new Remembered(askedStanding(sql), clock);
  const unlisten = listenToAccess(sql, () => standing.forget());
  return Object.assign(standing, {
    // Postgres may be gone already; there is nothing left to stop listening to then.
    close: () => withinMs(unlisten(), limits.keysReadMsMax).catch(() => {}),
  });
}

/** What a holder's `@current` was: as old as the holder, and forgotten together. */
interface Current {
  project?: ReachedProject;
  organization?: ReachedOrganization;
}

export class Remembered implements Standing {
  readonly #asked: Standing;
  readonly #clock: Clock;
  readonly #found = new Map<string, { found: Found; askedAt: number }>();
  #current = new WeakMap<KeyHolder, Current>();
  /** An answer to a question from before a change may not know of it. */
  #changes = 0;

  constructor(asked: Standing, clock: Clock) {
    this.#asked = asked;
    this.#clock = clock;
  }

  async holderOf(secure_value: string, named: Named): Promise<Found | undefined> {
    const { project_id = "", organization_id = "" } = named;
    const question = `${secure_value} ${project_id} ${organization_id}`;
    const now = this.#clock.elapsed();
    const known = this.#found.get(question);
    if (known && now - known.askedAt < limits.foundAgeMsMax) return known.found;
    const changes = this.#changes;
    const found = await this.#asked.holderOf(secure_value, named);
    this.#found.delete(question);
    if (!found || !isReached(found, named) || changes !== this.#changes) return found;
    if (this.#found.size >= limits.foundMax) this.#forgetOldest();
    this.#found.set(question, { found, askedAt: now });
    this.#current.set(found.holder, {});
    return found;
  }

  async projectOf(holder: KeyHolder): Promise<ReachedProject | undefined> {
    const current = this.#current.get(holder);
    if (current?.project) return current.project;
    const project = await this.#asked.projectOf(holder);
    if (current && project) current.project = project;
    return project;
  }

  async organizationOf(holder: KeyHolder): Promise<ReachedOrganization | undefined> {
    const current = this.#current.get(holder);
    if (current?.organization) return current.organization;
    const organization = await this.#asked.organizationOf(holder);
    if (current && organization) current.organization = organization;
    return organization;
  }

  forget(): void {
    this.#changes++;
    this.#found.clear();
    this.#current = new WeakMap();
  }

  size(): number {
    return this.#found.size;
  }

  #forgetOldest(): void {
    for (const question of this.#found.keys()) {
      this.#found.delete(question);
      return;
    }
  }
}

/** Whether everything that was named is there, and the holder a member of it. */
function isReached({ project, organization }: Found, { project_id, organization_id }: Named): boolean {
  const ofProject = project_id === undefined || (project?.membership_level ?? null) !== null;
  const ofOrganization = organization_id === undefined || (organization?.membership_level ?? null) !== null;
  return ofProject && ofOrganization;
}
