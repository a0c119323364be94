// A cache of counts that take long. A count past its fresh age is returned, and counted again in the background.

import type { Clock } from "../core/clock.ts";
import { hashKey } from "../core/id.ts";
import { workLimits } from "./limits.ts";
import { putNewest } from "./maps.ts";

/** A longer question, which may list thousands of ids, is kept under its hash. */
const questionCharsMax = 100;

interface Kept {
  count: number;
  /** When the counting began, by Clock.elapsed(): rows stored before are in it. */
  at: number;
}

/** One project's counts by question, and the questions that are being counted again. */
interface Counted {
  kept: Map<string, Kept>;
  again: Set<string>;
}

/**
 * Small counts are exact: only a count of at least `workLimits.countKeptMin` is cached, for `workLimits.countKeptMs`.
 */
export class CountCache {
  readonly #clock: Clock;
  /** By project, the most recently used last. */
  readonly #projects = new Map<number, Counted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The count of a question.
   * @param question identifies it within the project.
   * @throws whatever `query` throws, unless a count is cached.
   */
  async count(project_id: number, question: string, query: () => Promise<number>): Promise<number> {
    const key = question.length <= questionCharsMax ? question : hashKey(question);
    const counted = this.#of(project_id);
    const kept = counted.kept.get(key);
    const age = kept ? this.#clock.elapsed() - kept.at : Number.POSITIVE_INFINITY;
    if (!kept || age > workLimits.countKeptMs) return await this.#query(counted, key, query);
    if (age > workLimits.countFreshMs && !counted.again.has(key)) {
      counted.again.add(key);
      // A failure here is not reported: the first request without a cached count gets it.
      void this.#query(counted, key, query)
        .catch(() => {})
        .finally(() => counted.again.delete(key));
    }
    return kept.count;
  }

  /** Drops the counts of a project, also those under way: rows were deleted. */
  forget(project_id: number): void {
    this.#projects.delete(project_id);
  }

  async #query(counted: Counted, question: string, query: () => Promise<number>): Promise<number> {
    const at = this.#clock.elapsed();
    const count = await query();
    if (count < workLimits.countKeptMin) counted.kept.delete(question);
    else putNewest(counted.kept, question, { count, at }, workLimits.countQuestionsMax);
    return count;
  }

  #of(project_id: number): Counted {
    const counted = this.#projects.get(project_id) ?? { kept: new Map(), again: new Set() };
    putNewest(this.#projects, project_id, counted, workLimits.countProjectsMax);
    return counted;
  }
}
