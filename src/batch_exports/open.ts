// Batch exports put together: what works beside requests, and what requests need of it. Starts nothing by itself.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Metrics } from "../http/metrics/metrics.ts";
import { exportCounts } from "./counts.ts";
import { whyNoFiles } from "./destinations/objects/file.ts";
import type { BatchExportParts } from "./operations.ts";
import { type ExportWorkerOptions, openExportWorker } from "./runs/worker.ts";

export type BatchExportOptions = Omit<ExportWorkerOptions, "counts"> & { metrics: Metrics };

export interface OpenedExports {
  start(): void;
  /** Stops what runs, and gives it back for other processes. */
  close(): Promise<void>;
  /** What its operations need. */
  parts: BatchExportParts;
}

export function openBatchExports({ metrics, ...options }: BatchExportOptions): OpenedExports {
  const exportFileDir = options.exportFileDir === undefined ? undefined : resolve(options.exportFileDir);
  if (exportFileDir !== undefined && !existsSync(exportFileDir)) {
    options.log.warn("EXPORT_FILE_DIR does not exist: exports into files fail until it does", {
      exportFileDir,
    });
  }
  const worker = openExportWorker({ ...options, exportFileDir, counts: exportCounts(metrics) });
  const { sql, clickhouse, clock, addresses, secrets } = options;
  const parts = {
    sql,
    clickhouse,
    clock,
    addresses,
    secrets,
    whyNoFiles: whyNoFiles({ clickhouse, exportFileDir }),
    probe: worker.probe.bind(worker),
    wake: worker.wake.bind(worker),
  };
  return { start: () => worker.start(), close: () => worker.close(), parts };
}
