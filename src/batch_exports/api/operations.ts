// Batch exports over HTTP, in projects and in organizations alike.

import type { Gate } from "../../access/gate.ts";
import { mounted } from "../../http/operation.ts";
import { backfillOperations, type BackfillParts } from "./backfill_operations.ts";
import { exportOperations, type ExportParts } from "./export_operations.ts";
import { logOperations } from "./log_operations.ts";
import { runOperations } from "./run_operations.ts";

export type BatchExportParts = ExportParts & BackfillParts;

export function batchExportRoutes({ gate, ...parts }: BatchExportParts & { gate: Gate }) {
  return mounted(gate, "Batch exports", [
    ...exportOperations(parts),
    ...runOperations(parts),
    ...backfillOperations(parts),
    ...logOperations(parts),
  ]);
}
