// How many live requests of 1 kB does a second of CPU serve? Beside it a bare server that only parses them (J). The
// server is held to one core; sender and stores have the other.

import { spawnSync } from "node:child_process";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { load } from "./load.ts";
import { type Bodies, writeBodies } from "./material.ts";
import { cpuSeconds, ownCpuSeconds, threadsOf } from "./process_tree.ts";
import {
  emptyTables,
  type SluiceStand,
  type Stand,
  startBare,
  storedIn,
  usualFlush,
  withSluice,
} from "./stand.ts";

interface Run {
  per_s: number;
  /** CPU-seconds of the server's own process, and of all processes below it, for each second. */
  per_cpu_s: number;
  per_tree_cpu_s: number;
  /** The latter until what is derived behind the flush, such as sessions, is stored as well. */
  per_derived_cpu_s?: number;
  p50_ms: number;
  p99_ms: number;
}

const requestBytes = 1000;
const connections = 64;
/** How often the metrics are asked whether all is stored: each answer is CPU of the server that is measured. */
const pollMs = 200;

export async function captureBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  return await withSluice(async (sluice, folder) => {
    const json = await startBare("json");
    const plain = await startBare("bytes");
    try {
      for (const { pid } of [sluice, json, plain]) holdToCore(pid, 0);
      holdToCore(sluice.enginePid, 1);
      const count = Math.max(100, Math.min(60_000, Math.floor(bytes / 3 / requestBytes)));
      const bodies = writeBodies(folder, { count, bytes: requestBytes, single: true, noteLetters: 430 });
      const contestants = {
        Sluice: () => captured(sluice, bodies),
        "J bare req.json()": () => asked(json, bodies),
        "B bare req.bytes()": () => asked(plain, bodies),
      };
      return answerOf(await interleaved(scale, contestants), bodies.bytes / count);
    } finally {
      await json.stop();
      await plain.stop();
    }
  }, usualFlush);
}

async function captured(sluice: SluiceStand, bodies: Bodies): Promise<Run> {
  await emptyTables(sluice.stores);
  const before = cpuSeconds([sluice.pid]);
  const run = await asked(sluice, bodies, () => sluice.rested(pollMs));
  await sluice.derived(pollMs);
  run.per_derived_cpu_s = bodies.events / (cpuSeconds([sluice.pid]) - before);
  const { count, uuids } = await storedIn(sluice.stores);
  if (count !== String(bodies.events) || uuids !== count) {
    throw new Error(`${bodies.events} events were sent, ${count} are stored`);
  }
  return run;
}

async function asked({ url, pid }: Stand, { pack }: Bodies, rested?: () => Promise<void>): Promise<Run> {
  const requests = pack.ends.length;
  const [own, tree] = [ownCpuSeconds([pid]), cpuSeconds([pid])];
  const report = await load({ url, path: "/capture/", bodies: pack, requests, connections });
  if (report.failed > 0) throw new Error(`${report.failed} requests were refused`);
  await rested?.();
  return {
    per_s: requests / report.seconds,
    per_cpu_s: requests / (ownCpuSeconds([pid]) - own),
    per_tree_cpu_s: requests / (cpuSeconds([pid]) - tree),
    p50_ms: report.p50_ms,
    p99_ms: report.p99_ms,
  };
}

/** All threads of a process on one core; children it has already stay where they are. */
function holdToCore(pid: number, core: number): void {
  for (const thread of threadsOf(pid)) spawnSync("taskset", ["-p", "-c", String(core), String(thread)]);
}

function answerOf(runs: Record<string, Run[]>, bytes: number): Answer {
  const figures = Object.entries(runs).map(([name, all]) => {
    const of = (figure: (run: Run) => number) => median(all.map(figure));
    return {
      name,
      "requests/s": of((run) => run.per_s),
      "per CPU-s of the server": of((run) => run.per_cpu_s),
      "of the tree": of((run) => run.per_tree_cpu_s),
      ...(all.every((run) => run.per_derived_cpu_s !== undefined) && {
        "of the tree, all derived": of((run) => run.per_derived_cpu_s!),
      }),
      "p50 ms": of((run) => run.p50_ms),
      "p99 ms": of((run) => run.p99_ms),
    };
  });
  const question = `/capture, requests of ${Math.round(bytes)} bytes, ${connections} connections, server on one core`;
  const [sluice, json] = figures;
  if (!sluice || !json) return { question, figures, ratios: [] };
  const ratio = (head: "requests/s" | "per CPU-s of the server" | "of the tree") => sluice[head] / json[head];
  return {
    question,
    figures,
    ratios: [
      {
        name: "requests/s on one core ÷ J",
        value: ratio("requests/s"),
        goal: 0.9,
        stretch: 1.1,
        above: true,
      },
      { name: "requests for a CPU-second of the server ÷ J", value: ratio("per CPU-s of the server") },
      { name: "requests for a CPU-second of the tree ÷ J", value: ratio("of the tree") },
    ],
  };
}
