// How fast are management calls while capture runs at half load, and does a heavy one slow capture down? A real
// server on embedded stores; every latency counts from the moment its request was due.

import { join, resolve } from "node:path";
import type { Answer, Scale } from "./answer.ts";
import { batchBody } from "./events.ts";
import { pace, type Paced } from "./pace.ts";
import { besideNothing, stallOf, stallWatch, turnsOf } from "./stall.ts";
import { makeFolder, personalKey, projectKey, removeFolder, usualFlush, withSluice } from "./stand.ts";

const authorization = `Bearer ${personalKey}`;
const json = { "content-type": "application/json" };
/** Events in the store before the measurement, so that reading them takes work. */
const storedEvents = 320_000;
const fillEach = 32_000;
const perSecond = 200;

/** Each part is measured for up to 15 seconds. */
export async function managementBench(scale: Scale): Promise<Answer> {
  const sockets = makeFolder();
  try {
    return await besideNothing(join(sockets, "nothing"), (nothing) =>
      measured(scale, join(sockets, "stall"), nothing),
    );
  } finally {
    removeFolder(sockets);
  }
}

async function measured({ rounds, warm }: Scale, socket: string, nothing: string): Promise<Answer> {
  const seconds = warm ? Math.max(4, Math.min(15, rounds * 2)) : 0.3;
  return await withSluice(
    async ({ url }) => {
      await fill(url, warm ? storedEvents : fillEach);
      const idle = await pace(100, seconds, () => captureOne(url));
      const heavy = besideHeavy(url);
      const beside = await pace(100, seconds, () => captureOne(url));
      const heavyCalls = await heavy.stop();
      const peak = await loadFor(url, Math.min(3, seconds));
      await rested(url);
      const half = startLoad(url, peak / 2);
      await Bun.sleep(Math.min(1000, seconds * 1000));
      await Promise.all([stallOf(socket), stallOf(nothing)]);
      const reads = await pace(perSecond, seconds, (i) => read(url, i));
      const [stall, machine] = await Promise.all([stallOf(socket), stallOf(nothing)]);
      const writes = await pace(perSecond, seconds, (i) => write(url, i));
      await half.stop();
      const shown = ({ p50_ms, p99_ms, max_ms, failed }: Paced) => ({
        "p50 ms": p50_ms,
        "p99 ms": p99_ms,
        "max ms": max_ms,
        failed,
      });
      return {
        question: `management at ${perSecond}/s, capture at half of ${Math.round(peak).toLocaleString("en")} events/s`,
        figures: [
          { name: "reads", ...shown(reads), ...turnsOf(stall) },
          { name: "a process that does nothing, beside", ...turnsOf(machine) },
          { name: "writes", ...shown(writes) },
          { name: "capture, nothing beside", ...shown(idle) },
          { name: `capture beside ${heavyCalls.asked} heavy calls`, ...shown(beside) },
          { name: "heavy calls", "p50 ms": heavyCalls.p50_ms, failed: heavyCalls.failed },
        ],
        ratios: [
          { name: "reads p99, ms", value: reads.p99_ms, goal: 20 },
          { name: "writes p99, ms", value: writes.p99_ms, goal: 40 },
          {
            name: "capture p99 beside heavy calls ÷ max(10 ms, 2 × idle)",
            value: beside.p99_ms / Math.max(10, 2 * idle.p99_ms),
            goal: 1,
          },
        ],
      };
    },
    {
      environment: { ...usualFlush.environment, STALL_SOCKET: socket },
      preload: stallWatch,
      merges: true,
    },
  );
}

/** Stores events of twelve months, and waits until they are in ClickHouse. */
async function fill(url: string, events: number): Promise<void> {
  const text = new TextDecoder().decode(batchBody(fillEach, 12, projectKey));
  for (let i = 0; i < events / fillEach; i++) {
    const body = text.replaceAll("-774b-", `-7${(i + 256).toString(16)}-`);
    const reply = await fetch(`${url}/batch/`, { method: "POST", headers: json, body });
    if (!reply.ok) throw new Error(`/batch/ answered ${reply.status}`);
  }
  await rested(url);
}

async function rested(url: string): Promise<void> {
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
