// Which status of a run may follow which, and how long a failed run waits.

import { openStatuses, type RunStatus } from "../model.ts";

/** The statuses that each may follow. From Running to Running: another process takes over from one that is gone. */
const before: Partial<Record<RunStatus, readonly RunStatus[]>> = {
  Running: openStatuses,
  Completed: ["Running"],
  Failed: ["Running"],
  FailedRetryable: ["Running"],
  Cancelled: openStatuses,
};

/** The condition of an UPDATE to this status. */
export function statusesBefore(status: RunStatus): readonly RunStatus[] {
  return before[status] ?? [];
}

/** The pause after the nth failed attempt, in ms: doubles each time, up to `lastMs`. */
export function backoffMs(failures: number, firstMs: number, lastMs: number): number {
  return Math.min(lastMs, firstMs * 2 ** Math.max(0, failures - 1));
}
