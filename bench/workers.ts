// What do further capture workers bring on this machine, and what does one cost? The same bodies to a server of one
// and to one of two, each with its own stores.

import { readFileSync } from "node:fs";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { type SluiceRun, sluiceRun } from "./cost.ts";
import { type Bodies, writeBodies } from "./material.ts";
import { treeOf } from "./process_tree.ts";
import { makeFolder, removeFolder, type SluiceStand, startSluice, usualFlush } from "./stand.ts";

interface Run extends SluiceRun {
  /** Of the server's own process and its workers', after the run. */
  pss_mb: number;
}

const requestBytes = 1000;

export async function workersBench(scale: Scale): Promise<Answer> {
  const folder = makeFolder();
  const [one, two] = await Promise.all(
    [1, 2].map((workers) =>
      startSluice({ environment: { ...usualFlush.environment, WORKERS: String(workers) } }),
    ),
  );
  try {
    const { bytes } = scale;
    const count = Math.max(100, Math.min(60_000, Math.floor(bytes / 3 / requestBytes)));
    const live = writeBodies(folder, { count, bytes: requestBytes, single: true, noteLetters: 430 });
    const each = Math.min(bytes, 18_000_000);
    const long = writeBodies(folder, { count: Math.max(4, Math.floor((2 * bytes) / each)), bytes: each });
    const runs = await interleaved(scale, {
      "1 kB, one worker": () => captured(one!, live),
      "1 kB, two": () => captured(two!, live),
      "18 MB, one worker": () => imported(one!, long),
      "18 MB, two": () => imported(two!, long),
    });
    return answerOf(runs);
  } finally {
    for (const stand of [one, two]) await stand?.stop();
    removeFolder(folder);
  }
}

function captured(sluice: SluiceStand, bodies: Bodies): Promise<Run> {
  return weighed(sluice, sluiceRun(sluice, bodies, { path: "/capture/", connections: 64 }));
}

/** So many connections that both workers have some. */
function imported(sluice: SluiceStand, bodies: Bodies): Promise<Run> {
  return weighed(sluice, sluiceRun(sluice, bodies, { connections: 6 }));
}

async function weighed(sluice: SluiceStand, running: Promise<SluiceRun>): Promise<Run> {
  const run = await running;
  const capturing = treeOf([sluice.pid]).filter((pid) => pid === sluice.pid || isWorker(pid));
  return { ...run, pss_mb: capturing.reduce((sum, pid) => sum + pssOf(pid), 0) / 1e6 };
}

function isWorker(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("workers/worker.ts");
}

/** In bytes; pages that several processes share are divided among them. */
function pssOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) * 1024;
}

function answerOf(runs: Record<string, Run[]>): Answer {
  const figures = Object.entries(runs).map(([name, all]) => {
    const of = (figure: (run: Run) => number) => median(all.map(figure));
    return {
      name,
      "requests/s": of(({ report }) => report.requests / report.seconds),
      "p50 ms": of(({ report }) => report.p50_ms),
      "p99 ms": of(({ report }) => report.p99_ms),
      "MB/s acked": of((run) => run.acknowledged_mb_per_s),
      "MB/s stored": of((run) => run.mb_per_s),
      "CPU-s/GB": of((run) => run.cpu_s_per_gb),
      "of capture": of((run) => run.cpu_s_per_gb - run.engine_cpu_s_per_gb),
      "PSS MB": of((run) => run.pss_mb),
    };
  });
  const [live, liveOfTwo, long, longOfTwo] = figures as (typeof figures)[0][];
  const head = "MB/s acked";
  return {
    question: "two workers beside one: live requests of 1 kB, and imports in bodies of 18 MB",
    figures,
    ratios: [
      { name: "live requests acknowledged, two ÷ one", value: liveOfTwo![head] / live![head] },
      { name: "imports acknowledged, two ÷ one", value: longOfTwo![head] / long![head] },
      { name: "imports stored, two ÷ one", value: longOfTwo!["MB/s stored"] / long!["MB/s stored"] },
      { name: "CPU of live requests, two ÷ one", value: liveOfTwo!["CPU-s/GB"] / live!["CPU-s/GB"] },
      { name: "CPU of imports, two ÷ one", value: longOfTwo!["CPU-s/GB"] / long!["CPU-s/GB"] },
    ],
  };
}
