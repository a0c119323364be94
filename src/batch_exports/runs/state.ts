// Which status of a run may follow which, and how long a failed run waits.

import { type RunStatus, runStatuses } from "../model.ts";

const next: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  Starting: ["Running", "Cancelled"],
  // From Running to Running: another process takes the run over from one that is gone.
  Running: ["Running", "Completed", "Failed", "FailedRetryable", "Cancelled"],
  FailedRetryable: ["Running", "Cancelled"],
  Completed: [],
  Failed: [],
  FailedBilling: [],
  Cancelled: [],
  TimedOut: [],
  Terminated: [],
  ContinuedAsNew: [],
};

/** The statuses that this one may follow: the condition of an UPDATE. */
export function statusesBefore(status: RunStatus): RunStatus[] {
  return runStatuses.filter((one) => next[one].includes(status));
}

/** The pause after the nth failed attempt, in ms: doubles each time, up to `lastMs`. */
export function backoffMs(failures: number, firstMs: number, lastMs: number): number {
  return Math.min(lastMs, firstMs * 2 ** Math.max(0, failures - 1));
}
