// Reads insights for deliveries a few at a time, and once for all who subscribe to the same. Never keeps an answer
// for long.

import type { Clock } from "../../core/clock.ts";
import { deliveryLimits } from "./limits.ts";
import type { Semaphore } from "../../work/semaphore.ts";
import type { ReportReader } from "../report/report.ts";

interface Kept {
  at: number;
  answer: Promise<unknown>;
}

/** `places`: who may be at such work at once. */
export function sharedReader(reader: ReportReader, places: Semaphore, clock: Clock): ReportReader {
  const busy = () => new Error("too many insights are being read");
  const kept = new Map<string, Kept>();
  const shared = <Answer>(project_id: number, key: string, read: () => Promise<Answer>): Promise<Answer> => {
    const known = kept.get(key);
    const now = clock.elapsed();
    if (known && now - known.at < deliveryLimits.deliveryReadAgeMs) return known.answer as Promise<Answer>;
    const answer = places.run({ owner: project_id, busy }, read);
    kept.delete(key);
    kept.set(key, { at: now, answer });
    // A failure serves nobody else.
    answer.catch(() => kept.delete(key));
    const [oldest] = kept.keys();
    if (kept.size > deliveryLimits.deliveryReadsKeptMax && oldest !== undefined) kept.delete(oldest);
    return answer;
  };
  return {
    insight: (project_id, id) =>
      shared(project_id, `i ${project_id} ${id}`, () => reader.insight(project_id, id)),
    dashboard: (project_id, id) =>
      shared(project_id, `d ${project_id} ${id}`, () => reader.dashboard(project_id, id)),
  };
}
