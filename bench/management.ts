// How fast are management calls while capture runs at half load, and does a heavy one slow capture down? A real
// server on embedded stores; every latency counts from the moment its request was due.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { batchBody } from "./events.ts";
import { pace, type Paced } from "./pace.ts";

const projectKey = "phc_bench_project_key_0123456789";
const personalKey = "phx_bench_personal_key_0123456789";
const authorization = `Bearer ${personalKey}`;
const json = { "content-type": "application/json" };
/** Events in the store before anything is measured, so that reading them is work. */
const storedEvents = 320_000;
const perSecond = 200;

export interface ManagementFigures {
  question: string;
  /** Events a second the server took from four connections, with the sender on the same machine. */
  capture_peak_per_second: number;
  reads: Paced;
  writes: Paced;
  capture_idle: Paced;
  capture_beside_heavy: Paced;
  heavy_calls: { asked: number; failed: number; p50_ms: number };
}

/** @param seconds how long each part is measured. */
export async function managementBench(seconds = 15): Promise<ManagementFigures> {
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const server = await startServer(dataDir);
  try {
    await fill(server.url);
    const capture_idle = await pace(100, seconds, () => captureOne(server.url));
    const heavy = besideHeavy(server.url);
    const capture_beside_heavy = await pace(100, seconds, () => captureOne(server.url));
    const heavy_calls = await heavy.stop();
    const peak = await loadFor(server.url, 3);
    const half = startLoad(server.url, peak / 2);
    await Bun.sleep(1000);
    const reads = await pace(perSecond, seconds, (i) => read(server.url, i));
    const writes = await pace(perSecond, seconds, (i) => write(server.url, i));
    await half.stop();
    return {
      question: "management beside capture",
      capture_peak_per_second: Math.round(peak),
      reads,
      writes,
      capture_idle,
      capture_beside_heavy,
      heavy_calls,
    };
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The figures as lines for people. */
export function managementLines(figures: ManagementFigures): string {
  const { reads, writes, capture_idle, capture_beside_heavy, heavy_calls } = figures;
  const bound = Math.max(10, 2 * capture_idle.p99_ms);
  const line = (name: string, { p50_ms, p99_ms, max_ms, failed }: Paced, goal: number) =>
    `  ${name}: p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms (goal < ${goal.toFixed(0)} ms), ` +
    `max ${max_ms.toFixed(0)} ms, ${failed} failed\n`;
  return (
    `${figures.question}: ${perSecond} requests/s, capture at half of ` +
    `${figures.capture_peak_per_second.toLocaleString("en")} events/s\n` +
    line("reads", reads, 20) +
    line("writes", writes, 40) +
    line("capture, nothing beside", capture_idle, bound) +
    line("capture beside heavy calls", capture_beside_heavy, bound) +
    `  heavy calls meanwhile: ${heavy_calls.asked}, p50 ${heavy_calls.p50_ms.toFixed(0)} ms, ` +
    `${heavy_calls.failed} failed\n`
  );
}

async function startServer(dataDir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const child = Bun.spawn(["bun", resolve(import.meta.dir, "../src/main.ts"), "serve"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      PORT: "0",
      DATA_DIR: dataDir,
      LOG_LEVEL: "warn",
      LOG_FORMAT: "json",
      BOOTSTRAP_PROJECT_API_KEY: projectKey,
      BOOTSTRAP_PERSONAL_API_KEY: personalKey,
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  let printed = "";
  for await (const chunk of child.stdout.values({ preventCancel: true })) {
    printed += new TextDecoder().decode(chunk);
    const url = /^Sluice is listening on (http\S+)$/m.exec(printed)?.[1];
    if (url === undefined) continue;
    const stop = async () => {
      child.kill("SIGTERM");
      await child.exited;
    };
    return { url, stop };
  }
  throw new Error(`the server did not start: ${printed}`);
}

/** Stores events of twelve months, and waits until they are in ClickHouse. */
async function fill(url: string): Promise<void> {
  const each = 32_000;
  const text = new TextDecoder().decode(batchBody(each, 12, projectKey));
  for (let i = 0; i < storedEvents / each; i++) {
    const body = text.replaceAll("-774b-", `-7${(i + 256).toString(16)}-`);
    const reply = await fetch(`${url}/batch/`, { method: "POST", headers: json, body });
    if (!reply.ok) throw new Error(`/batch/ answered ${reply.status}`);
  }
  const pending = /^sluice_journal_pending_events 0$/m;
  while (!pending.test(await (await fetch(`${url}/metrics`)).text())) await Bun.sleep(100);
}

function captureOne(url: string): Promise<Response> {
  const body = `{"api_key":"${projectKey}","event":"probe","distinct_id":"bench","properties":{"a":1}}`;
  return fetch(`${url}/capture/`, { method: "POST", headers: json, body });
}

const readPaths = [
  "/api/projects/",
  "/api/projects/1/",
  "/api/organizations/",
  "/api/organizations/@current/",
  "/api/personal_api_keys/@current/",
];

function read(url: string, i: number): Promise<Response> {
  return fetch(`${url}${readPaths[i % readPaths.length]}`, { headers: { authorization } });
}

function write(url: string, i: number): Promise<Response> {
  const path = i % 2 === 0 ? "/api/projects/1/" : "/api/organizations/@current/";
  const body = JSON.stringify({ name: `Name ${i}` });
  return fetch(`${url}${path}`, { method: "PATCH", headers: { authorization, ...json }, body });
}

const heavyPaths = [
  "/api/projects/1/events/?limit=1000",
  "/api/projects/1/events/?limit=1000&offset=200000",
  "/api/projects/1/events/?event=bought&limit=1000&after=2020-01-01",
  "/api/projects/1/events/?distinct_id=user_7&limit=1000&after=2020-01-01",
];

/** Two clients that ask for the heaviest pages without a pause. */
function besideHeavy(url: string) {
  let stopped = false;
  let failed = 0;
  const took: number[] = [];
  const client = async (place: number) => {
    for (let i = place; !stopped; i++) {
      const started = performance.now();
      const path = heavyPaths[i % heavyPaths.length];
      const reply = await fetch(`${url}${path}`, { headers: { authorization } });
      await reply.arrayBuffer();
      if (!reply.ok) failed++;
      took.push(performance.now() - started);
    }
  };
  const clients = [client(0), client(2)];
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
      const p50_ms = took.toSorted((a, b) => a - b)[took.length >> 1] ?? 0;
      return { asked: took.length, failed, p50_ms };
    },
  };
}

function startLoad(url: string, eventsPerSecond: number | undefined) {
  const rate = eventsPerSecond === undefined ? [] : [String(Math.round(eventsPerSecond))];
  const command = ["bun", resolve(import.meta.dir, "capture_load.ts"), url, projectKey, ...rate];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  return {
    stop: async () => {
      child.stdin.end();
      return JSON.parse(await child.stdout.text()) as { events: number; seconds: number };
    },
  };
}

/** Events a second, as fast as the server takes them. */
async function loadFor(url: string, seconds: number): Promise<number> {
  const load = startLoad(url, undefined);
  await Bun.sleep(seconds * 1000);
  const { events, seconds: took } = await load.stop();
  return events / took;
}

if (import.meta.main) process.stdout.write(managementLines(await managementBench()));
