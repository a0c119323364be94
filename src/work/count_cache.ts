// Counts that take long, kept for moments and counted anew behind the back of whoever asks. Never keeps a small one.

import type { Clock } from "../core/clock.ts";
import { hashKey } from "../core/id.ts";
import { workLimits } from "./limits.ts";

/** Longer questions, which may list thousands of ids, are known by their hash. */
const questionCharsMax = 100;

interface Kept {
  count: number;
  /** When its counting began: what was stored before is in it. By Clock.elapsed(). */
  at: number;
}

/** Of one project: what is kept by the question, and the questions that are being asked once more. */
interface Counted {
  kept: Map<string, Kept>;
  again: Set<string>;
}

/**
 * Small counts are exact, since they are taken whenever they are asked for; one of `workLimits.countKeptMin` or more
 * may be `workLimits.countKeptMs` old.
 */
export class CountCache {
  readonly #clock: Clock;
  /** By project, the latest used last. */
  readonly #projects = new Map<number, Counted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param asked tells questions of one project apart.
   * @throws whatever `take` does, unless a count was kept.
   */
  async count(project_id: number, asked: string, take: () => Promise<number>): Promise<number> {
    const question = asked.length <= questionCharsMax ? asked : hashKey(asked);
    const counted = this.#of(project_id);
    const kept = counted.kept.get(question);
    const age = kept ? this.#clock.elapsed() - kept.at : Number.POSITIVE_INFINITY;
    if (!kept || age > workLimits.countKeptMs) return await this.#take(counted, question, take);
    if (age > workLimits.countFreshMs && !counted.again.has(question)) {
      counted.again.add(question);
      // Who asks next, and finds none that is young enough, hears what is wrong.
      void this.#take(counted, question, take)
        .catch(() => {})
        .finally(() => counted.again.delete(question));
    }
    return kept.count;
  }

  /** Something was taken away: what was counted before, or is being counted, no longer holds. */
  forget(project_id: number): void {
    this.#projects.delete(project_id);
  }

  async #take(counted: Counted, question: string, take: () => Promise<number>): Promise<number> {
    const at = this.#clock.elapsed();
    const count = await take();
    counted.kept.delete(question);
    if (count >= workLimits.countKeptMin) counted.kept.set(question, { count, at });
    trim(counted.kept, workLimits.countQuestionsMax);
    return count;
  }

  #of(project_id: number): Counted {
    const counted = this.#projects.get(project_id) ?? { kept: new Map(), again: new Set() };
    this.#projects.delete(project_id);
    this.#projects.set(project_id, counted);
    trim(this.#projects, workLimits.countProjectsMax);
    return counted;
  }
}

/** Without the oldest, while there are too many. */
function trim(map: Map<unknown, unknown>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) return;
    map.delete(key);
  }
}
