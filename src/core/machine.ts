// What the machine gives this process. Never more than a container's quota allows.

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Cores that may be kept busy, at least one: those of the machine, or what the quota of a container comes to. */
export function coresHere(quotaPath = "/sys/fs/cgroup/cpu.max"): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(quotaOf(quotaPath))));
}

/** "200000 100000" are two cores, "max 100000" are as many as there are; so is no such file. */
function quotaOf(path: string): number {
  try {
    const [quota, period] = readFileSync(path, "utf8").trim().split(" ").map(Number);
    return quota && period ? quota / period : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
