import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import packageJson from "../../../package.json" with { type: "json" };
import { Registry } from "../../../src/http/metrics/metrics.ts";
import { followProcess, followServer } from "../../../src/http/metrics/process_metrics.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { startServer } from "../../support/server.ts";

afterAll(cleanUp);

function valueOf(text: string, name: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`));
  return Number(line?.slice(line.lastIndexOf(" ") + 1));
}

test("a process reports its CPU time, memory and open files under Prometheus' own names", () => {
  const registry = new Registry();
  followProcess(registry);
  const text = registry.render();
  expect(text).toContain("# TYPE process_cpu_seconds_total counter\n");
  expect(text).toContain("# TYPE process_resident_memory_bytes gauge\n");
  expect(valueOf(text, "process_cpu_seconds_total")).toBeGreaterThan(0);
  // A test runner takes between ten megabytes and a hundred gigabytes.
  expect(valueOf(text, "process_resident_memory_bytes")).toBeWithin(1e7, 1e11);
  if (process.platform !== "linux") return;
  const open = readdirSync("/proc/self/fd").length;
  expect(valueOf(text, "process_open_fds")).toBeWithin(3, open + 10);
  expect(valueOf(text, "process_max_fds")).toBeGreaterThan(open);
});

test("CPU time grows while a process works, at every reading", () => {
  const registry = new Registry();
  followProcess(registry);
  const first = valueOf(registry.render(), "process_cpu_seconds_total");
  while (valueOf(registry.render(), "process_cpu_seconds_total") === first);
  expect(valueOf(registry.render(), "process_cpu_seconds_total")).toBeGreaterThan(first);
});

test("where the system does not report open files, none are shown", () => {
  const registry = new Registry();
  followProcess(registry, "/nowhere/at/all");
  expect(registry.render()).not.toContain("_fds");
});

test("the server says which version it is, on which Bun, and since when", () => {
  const registry = new Registry();
  followServer(registry, { now: () => 1_700_000_000_000, elapsed: () => 0 });
  const { version } = packageJson;
  expect(registry.render()).toContain(`sluice_build_info{version="${version}",bun="${Bun.version}"} 1\n`);
  const uptime = 1_700_000_000 - valueOf(registry.render(), "process_start_time_seconds");
  expect(uptime).toBeWithin(0.01, process.uptime() + 1);
});

test("metrics are named by what they are, and those of several processes are added up where that makes sense", async () => {
  const server = await startServer({ WORKERS: "2" });
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [name!, kind!] as const);
  expect(types.length).toBeGreaterThan(20);
  // A counter is a total, and nothing else is.
  expect(types.filter(([name, kind]) => name.endsWith("_total") !== (kind === "counter"))).toEqual([]);
  expect(valueOf(text, "sluice_build_info")).toBe(1);
  const started = valueOf(text, "process_start_time_seconds");
  expect(Math.abs(started - Date.now() / 1000)).toBeLessThan(3600);
  if (process.platform !== "linux") return;
  // Two processes of the runtime, of 30 MB and more each.
  const status = await Bun.file(`/proc/${server.pid}/status`).text();
  const own = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  expect(valueOf(text, "process_resident_memory_bytes")).toBeGreaterThan(own + 2e7);
});
