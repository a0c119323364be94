// The cores and memory that this process may use, with the limits of its container.

import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";

/** Cores for this process, at least one: those of the machine, or the quota of the container. */
export function coresHere(quotaPath = "/sys/fs/cgroup/cpu.max"): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(readQuota(quotaPath))));
}

/** "200000 100000" means two cores; "max 100000", or no file, means no quota. */
function readQuota(path: string): number {
  const [quota, period] = readText(path).trim().split(" ").map(Number);
  return quota && period ? quota / period : Number.POSITIVE_INFINITY;
}

/** The files with the memory limit, one for each version of control groups, below `root`. */
const memoryFiles = ["memory.max", "memory/memory.limit_in_bytes"];

/**
 * Memory that may be used, in bytes: the machine's, or the lower limit of a container or service.
 * @param root where control groups are mounted; `groupFile` names this process's group, whose parents limit it too.
 */
export function memoryHere(root = "/sys/fs/cgroup", groupFile = "/proc/self/cgroup"): number {
  const groups = ["", ...listGroups(groupFile)];
  const paths = groups.flatMap((group) => memoryFiles.map((file) => `${root}${group}/${file}`));
  return Math.min(totalmem(), ...paths.map(readLimit));
}

/** "0::/system.slice/sluice.service" names that group and its parent. */
function listGroups(path: string): string[] {
  const line = readText(path)
    .split("\n")
    .find((name) => name.startsWith("0::/"));
  const names = (line ?? "").slice("0::".length).split("/").filter(Boolean);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}

/** "max", or no file, means no limit. */
function readLimit(path: string): number {
  const text = readText(path).trim();
  return /^\d{1,20}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The CPU-seconds of a thread, by the system's id; 0 where there is no such thread, and not on Linux. */
export function readThreadSeconds(thread: string): number {
  return Number(readText(`/proc/${thread}/task/${thread}/schedstat`).split(" ")[0]) / 1e9;
}

/** The id of the running system since its last boot; undefined where it has none. */
export function bootId(path = "/proc/sys/kernel/random/boot_id"): string | undefined {
  return readText(path).trim().slice(0, 36) || undefined;
}
