// A cache of counts that take long. A count past its fresh age is returned, and counted again in the background.

import type { Clock } from "../core/clock.ts";
import { hashKey } from "../core/id.ts";
import { workLimits } from "./limits.ts";
import { putNewest } from "./maps.ts";

/** A longer key, which may list thousands of ids, is replaced by its hash. */
const keyCharsMax = 100;

/** One project's counts by key, and the keys that are being counted again. */
interface ProjectCounts {
  /** `at`: when the counting began, by Clock.elapsed(): rows stored before are in it. */
  cached: Map<string, { count: number; at: number }>;
  recounting: Set<string>;
}

/**
 * Small counts are exact: only a count from `workLimits.countCachedMin` is cached, for `workLimits.countCachedMs`.
 */
export class CountCache {
  readonly #clock: Clock;
  /** Keyed by project, the most recently used last. */
  readonly #projects = new Map<number, ProjectCounts>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The count that `query` returns, or a cached one.
   * @param name identifies what is counted within the project.
   * @throws whatever `query` throws, unless a count is cached.
   */
  async count(project_id: number, name: string, query: () => Promise<number>): Promise<number> {
    const key = name.length <= keyCharsMax ? name : hashKey(name);
    const counts = this.#findCounts(project_id);
    const cached = counts.cached.get(key);
    const age = cached ? this.#clock.elapsed() - cached.at : Number.POSITIVE_INFINITY;
    if (!cached || age > workLimits.countCachedMs) return await this.#query(counts, key, query);
    if (age > workLimits.countFreshMs && !counts.recounting.has(key)) {
      counts.recounting.add(key);
      // A failure here is not reported: the first request without a cached count gets it.
      void this.#query(counts, key, query)
        .catch(() => {})
        .finally(() => counts.recounting.delete(key));
    }
    return cached.count;
  }

  /** Drops the counts of a project, also those under way: rows were deleted. */
  forget(project_id: number): void {
    this.#projects.delete(project_id);
  }

  async #query(counts: ProjectCounts, key: string, query: () => Promise<number>): Promise<number> {
    const at = this.#clock.elapsed();
    const count = await query();
    if (count < workLimits.countCachedMin) counts.cached.delete(key);
    else putNewest(counts.cached, key, { count, at }, workLimits.countsPerProjectMax);
    return count;
  }

  #findCounts(project_id: number): ProjectCounts {
    const counts = this.#projects.get(project_id) ?? { cached: new Map(), recounting: new Set() };
    putNewest(this.#projects, project_id, counts, workLimits.countProjectsMax);
    return counts;
  }
}
