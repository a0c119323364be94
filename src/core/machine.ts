// What the machine gives this process. Never more than a container's quota allows.

import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";

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

/** Where the system says what memory may be used: a file of each version of control groups, below `root`. */
const memoryFiles = ["memory.max", "memory/memory.limit_in_bytes"];

/**
 * Memory that may be used, in bytes: the machine's, or less where a container's or a service's limit says so.
 * @param root where control groups are mounted; `own` names this process's, whose parents bound it as well.
 */
export function memoryHere(root = "/sys/fs/cgroup", own = "/proc/self/cgroup"): number {
  const groups = ["", ...groupsOf(own)];
  const paths = groups.flatMap((group) => memoryFiles.map((file) => `${root}${group}/${file}`));
  return Math.min(totalmem(), ...paths.map(limitOf));
}

/** "0::/system.slice/sluice.service" are that group and its parent. */
function groupsOf(path: string): string[] {
  const line = textOf(path)
    .split("\n")
    .find((one) => one.startsWith("0::/"));
  const names = (line ?? "").slice("0::".length).split("/").filter(Boolean);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}

/** "max" is no limit; so is no such file. */
function limitOf(path: string): number {
  const text = textOf(path).trim();
  return /^\d{1,20}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** What the system is called since it was started; undefined where it does not say. */
export function bootId(path = "/proc/sys/kernel/random/boot_id"): string | undefined {
  try {
    return readFileSync(path, "utf8").trim().slice(0, 36) || undefined;
  } catch {
    return undefined;
  }
}
