// Opens batch exports: the worker, and the routes.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Gate } from "../access/gate.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import { mounted } from "../http/operation.ts";
import { backfillOperations } from "./api/backfill_operations.ts";
import { exportOperations } from "./api/export_operations.ts";
import { logOperations } from "./api/log_operations.ts";
import type { ExportParts } from "./api/request.ts";
import { runOperations } from "./api/run_operations.ts";
import type { RunCounts, RunServices } from "./runs/run.ts";
import { ExportWorker } from "./runs/worker.ts";

/** `worker` starts and stops with the server. */
export function openBatchExports({
  metrics,
  ...options
}: Omit<RunServices, "counts"> & { metrics: Metrics }): { worker: ExportWorker; parts: ExportParts } {
  const exportFileDir = options.exportFileDir === undefined ? undefined : resolve(options.exportFileDir);
  if (exportFileDir !== undefined && !existsSync(exportFileDir)) {
    options.log.warn("EXPORT_FILE_DIR does not exist: exports into files fail until it does", {
      exportFileDir,
    });
  }
  const services = { ...options, exportFileDir };
  const worker = new ExportWorker({ ...services, counts: exportCounts(metrics) });
  return { worker, parts: { ...services, probe: worker.probe.bind(worker), wake: worker.wake.bind(worker) } };
}

export function batchExportRoutes({ gate, ...parts }: ExportParts & { gate: Gate }) {
  return mounted(gate, "Batch exports", [
    ...exportOperations(parts),
    ...runOperations(parts),
    ...backfillOperations(parts),
    ...logOperations(parts),
  ]);
}

function exportCounts({ registry }: Metrics): RunCounts {
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
