// Reads insights for deliveries: a few at a time, and once for all subscriptions to the same insight, by a short cache.

import type { Clock } from "../../core/clock.ts";
import { putNewest } from "../../work/maps.ts";
import type { Semaphore } from "../../work/semaphore.ts";
import { subscriptionLimits } from "../limits.ts";
import type { ReportReader } from "../report/report.ts";

/** `semaphore`: bounds how many reads run at the same time. */
export function sharedReader(reader: ReportReader, semaphore: Semaphore, clock: Clock): ReportReader {
  const busy = () => new Error("too many insights are being read");
  const cache = new Map<string, { at: number; answer: Promise<unknown> }>();
  const shared = <Answer>(project_id: number, key: string, read: () => Promise<Answer>): Promise<Answer> => {
    const cached = cache.get(key);
    const now = clock.elapsed();
    if (cached && now - cached.at < subscriptionLimits.deliveryReadAgeMs)
      return cached.answer as Promise<Answer>;
    const answer = semaphore.run({ owner: project_id, busy }, read);
    putNewest(cache, key, { at: now, answer }, subscriptionLimits.deliveryReadsKeptMax);
    // Failures are not cached.
    answer.catch(() => cache.delete(key));
    return answer;
  };
  return {
    insight: (project_id, id) =>
      shared(project_id, `i ${project_id} ${id}`, () => reader.insight(project_id, id)),
    dashboard: (project_id, id) =>
      shared(project_id, `d ${project_id} ${id}`, () => reader.dashboard(project_id, id)),
  };
}
