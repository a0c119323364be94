// What processes and all their children have used, as Linux counts it.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Linux counts in hundredths of a second. */
const ticksPerSecond = 100;

interface Process {
  pid: number;
  parent: number;
  seconds: number;
  /** Of these, in the kernel. */
  systemSeconds: number;
}

function readProcess(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Behind the name, which may hold anything: state, parent, …, utime, stime, and those of children waited for.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    const systemSeconds = Number(fields[12]) / ticksPerSecond;
    return { pid, parent: Number(fields[1]), seconds: ticks / ticksPerSecond, systemSeconds };
  } catch {
    return undefined;
  }
}

/** `roots` and all processes below them. */
export function treeOf(roots: number[]): number[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
  const found = new Set(roots);
  for (const pid of found) for (const one of all) if (one.parent === pid) found.add(one.pid);
  return [...found];
}

/** CPU-seconds of `roots` and all processes below them, ended children included. */
export function cpuSeconds(roots: number[]): number {
  return treeOf(roots).reduce((sum, pid) => sum + (readProcess(pid)?.seconds ?? 0), 0);
}

/** CPU-seconds of single processes. */
export function ownCpuSeconds(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + (readProcess(pid)?.seconds ?? 0), 0);
}

/** CPU-seconds one process has spent in the kernel. */
export function systemCpuSeconds(pid: number): number {
  return readProcess(pid)?.systemSeconds ?? 0;
}

/** The pid of our child whose command holds all `words`. */
export function childOf(parent: number, ...words: string[]): number {
  const found = treeOf([parent]).find((pid) => {
    if (pid === parent) return false;
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return words.every((word) => command.includes(word));
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`no child runs ${words.join(" ")}`);
  return found;
}

export function threadsOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/** Memory of one process in bytes: now, and the most since `forgetPeak`. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** Proportional memory of a process in bytes: pages that several processes share are divided among them. */
export function shareOfMemory(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024;
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
