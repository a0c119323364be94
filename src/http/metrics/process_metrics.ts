// Standard Prometheus metrics of a process, summed over the first process and its capture workers; without the
// embedded stores. They are read on request.

import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { readVersion } from "../../core/version.ts";
import type { Registry } from "./metrics.ts";

/**
 * Registers CPU time, memory and open files of this process.
 * @param proc Linux's /proc folder of the process; without it there are no metrics of open files.
 */
export function followProcess(registry: Registry, proc = "/proc/self"): void {
  const readSeconds = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  const gauge = (name: string, help: string, read: () => number) =>
    registry.followed("gauge", name, help, read);
  registry.followed(
    "counter",
    "process_cpu_seconds_total",
    "CPU time of the server's processes.",
    readSeconds,
  );
  gauge("process_resident_memory_bytes", "Memory of the server's processes.", () =>
    process.memoryUsage.rss(),
  );
  if (openFiles(proc) === undefined) return;
  const help = "Open file descriptors of the server's processes.";
  gauge("process_open_fds", help, () => openFiles(proc) ?? 0);
  gauge("process_max_fds", "Limit of open file descriptors of a process.", () => openFilesMax(proc) ?? 0);
}

/** Registers metrics of the server as a whole, which must not be summed over workers. */
export function followServer(registry: Registry, clock: Clock): void {
  const built = { version: readVersion(), bun: Bun.version };
  registry.constant("sluice_build_info", "The version that runs, and the Bun it runs on; always 1.", built);
  const started = clock.now() / 1000 - process.uptime();
  const help = "When the server started, in seconds since 1970.";
  registry.followed("gauge", "process_start_time_seconds", help, () => started);
}

/** Undefined where the system does not report it. */
function openFiles(proc: string): number | undefined {
  try {
    // Reading the folder opens one file itself.
    return readdirSync(`${proc}/fd`).length - 1;
  } catch {
    return undefined;
  }
}

/** The soft limit, the first number of the line "Max open files  1024  524288  files". */
function openFilesMax(proc: string): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync(`${proc}/limits`, "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
