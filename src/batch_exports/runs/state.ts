// The life of a run: which state may follow which. Pure; never says why one was entered.

export type RunStatus =
  | "Starting"
  | "Running"
  | "Completed"
  | "Failed"
  | "FailedRetryable"
  | "FailedBilling"
  | "Cancelled"
  | "TimedOut"
  | "Terminated"
  | "ContinuedAsNew";

/** States that something still follows. The others are final. */
export const openStatuses = ["Starting", "Running", "FailedRetryable"] as const;

const next: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  Starting: ["Running", "Cancelled"],
  // Running again: another process took it over from one that is gone.
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

/** The states from which this one may be entered: what an UPDATE has to find. */
export function statusesBefore(status: RunStatus): RunStatus[] {
  return (Object.keys(next) as RunStatus[]).filter((one) => next[one].includes(status));
}

/** How long after the nth failed attempt the next one begins, in ms: doubling, with a bound. */
export function backoffMs(failures: number, firstMs: number, lastMs: number): number {
  return Math.min(lastMs, firstMs * 2 ** Math.max(0, failures - 1));
}
