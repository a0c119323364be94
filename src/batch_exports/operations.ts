// Batch exports over HTTP, in projects and in organizations alike.

import type { Gate } from "../access/gate.ts";
import { mounted } from "../http/operation.ts";
import { backfillOperations, type BackfillParts } from "./backfills/operations.ts";
import { exportOperations, type ExportParts } from "./exports/operations.ts";
import { pauseOperations } from "./exports/pause.ts";
import { logOperations } from "./logs/operations.ts";
import { runOperations } from "./runs/operations.ts";

export type BatchExportParts = ExportParts & BackfillParts;

export function batchExportRoutes({ gate, ...parts }: BatchExportParts & { gate: Gate }) {
  return mounted(gate, "Batch exports", [
    ...exportOperations(parts),
    ...pauseOperations(parts),
    ...runOperations(parts),
    ...backfillOperations(parts),
    ...logOperations(parts),
  ]);
}
