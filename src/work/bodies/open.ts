// Opens the budget of a process.

import { limits } from "../../core/limits.ts";
import { uploadLimits } from "./limits.ts";
import { MemoryBudget } from "./memory_budget.ts";

/**
 * The budget of one of `workers` workers. One body of the largest size always fits: `bodyBytesMax` on the wire,
 * inflated to the limit, with its index.
 */
export function openBodyMemory(bodyBytesMax: number, workers: number): MemoryBudget {
  const largest = bodyBytesMax + limits.inflatedBytesMax + limits.indexBytesMax;
  const bytesMax = Math.max(uploadLimits.memoryBytes / workers, largest * uploadLimits.memoryLargestMin);
  return new MemoryBudget({
    bytesMax,
    shareBytesMax: Math.max(largest, bytesMax * uploadLimits.memoryFraction),
  });
}
