// The metrics of batch exports.

import type { Metrics } from "../http/metrics/metrics.ts";
import type { RunCounts } from "./runs/attempt.ts";

export function exportCounts({ registry }: Metrics): RunCounts {
  const ended = registry.counters<string>(
    "sluice_export_attempts_total",
    "Attempts at runs of batch exports, by how they ended.",
    "status",
    ["Completed", "Failed", "FailedRetryable"],
  );
  const rows = registry.counter("sluice_export_rows_total", "Rows that completed runs delivered.");
  const seconds = registry.histogram(
    "sluice_export_seconds",
    "Time an attempt took.",
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200],
  );
  return {
    ended: (status) => ended.of(status).add(),
    rows: (count) => rows.add(count),
    seconds: (value) => seconds.observe(value),
  };
}
