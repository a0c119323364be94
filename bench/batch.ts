// What does a GB of /batch cost from socket to ClickHouse, in bodies of 18 MB? Beside it the engine alone on the
// same events as JSON (E) and as Native (N), a bare server that only parses (J) or receives (B), a naive one (X).
//
//   bun bench/batch.ts [tiny|quick|long]

import { type Answer, type Scale, interleaved, linesOf, median, scales } from "./answer.ts";
import { load } from "./load.ts";
import { type Bodies, insertLines, linesPathOf, writeBodies, writeNative } from "./material.ts";
import { cpuSeconds, ownCpuSeconds } from "./process_tree.ts";
import {
  type EngineStand,
  type SluiceStand,
  type Stand,
  type Stored,
  emptyTables,
  makeFolder,
  removeFolder,
  startBare,
  startEngine,
  startSluice,
  storedIn,
} from "./stand.ts";

interface Run {
  /** MB of bodies a second until everything was where it rests. */
  mb_per_s: number;
  /** The same until everything was acknowledged. */
  acknowledged_mb_per_s: number;
  cpu_s_per_gb: number;
  /** Of that, the server's own process. */
  server_cpu_s_per_gb: number;
  /** The sender's, which is in none of the others. */
  sender_cpu_s_per_gb: number;
  stored: Stored | undefined;
}

const connections = 2;

export async function batchBench({ rounds, bytes }: Scale): Promise<Answer> {
  const folder = makeFolder();
  const each = Math.min(bytes, 18_000_000);
  const bodies = writeBodies(folder, { count: Math.max(1, Math.floor(bytes / each)), bytes: each });
  const engine = await startEngine();
  const sluice = await startSluice({ environment: { FLUSH_INTERVAL_MS: "100" } });
  const bare = await Promise.all([
    startBare("json"),
    startBare("bytes"),
    startBare("naive", engine.clickhouseUrl),
  ]);
  try {
    const native = await writeNative(engine, bodies);
    const [json, plain, naive] = bare;
    const contestants: Record<string, () => Promise<Run>> = {
      Sluice: () => sluiceRun(sluice, bodies),
      "E engine, JSON": () =>
        engineRun(engine, bodies, 1, (i) => insertLines(engine, linesPathOf(bodies.paths[i]!), i)),
      "E2 the same, two at once": () =>
        engineRun(engine, bodies, 2, (i) => insertLines(engine, linesPathOf(bodies.paths[i]!), i)),
      "N engine, Native": () =>
        engineRun(engine, bodies, 1, (i) =>
          engine.stores.clickhouse.insertNative("event_rows", { path: native[i]! }),
        ),
      "J bare req.json()": () => bareRun(json, bodies, [json.pid]),
      "B bare req.bytes()": () => bareRun(plain, bodies, [plain.pid]),
      "X naive": () => bareRun(naive, bodies, [naive.pid, engine.pid], engine),
    };
    // Compiled code, faulted pages and open files are what lasts; the first round pays for them and is not counted.
    await interleaved(1, contestants);
    const runs = await interleaved(rounds, contestants);
    agree(runs, bodies.events);
    return answerOf(runs);
  } finally {
    for (const one of [...bare, sluice, engine]) await one.stop();
    removeFolder(folder);
  }
}

async function sluiceRun(sluice: SluiceStand, bodies: Bodies): Promise<Run> {
  await emptyTables(sluice.stores);
  const run = await measured([sluice.pid], sluice.pid, bodies, async () => {
    const report = await sent(sluice, bodies);
    await sluice.rested();
    return report;
  });
  return { ...run, stored: await storedIn(sluice.stores) };
}

/** `atOnce` statements side by side; the engine spreads each over its threads by itself. */
async function engineRun(
  engine: EngineStand,
  bodies: Bodies,
  atOnce: number,
  insert: (i: number) => Promise<void>,
): Promise<Run> {
  await emptyTables(engine.stores);
  const run = await measured([engine.pid], engine.pid, bodies, async () => {
    const started = performance.now();
    let next = 0;
    const worker = async () => {
      while (next < bodies.paths.length) await insert(next++);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    const seconds = (performance.now() - started) / 1000;
    return { started_ms: performance.timeOrigin + started, seconds, cpu_s: 0 };
  });
  return { ...run, stored: await storedIn(engine.stores) };
}

async function bareRun(server: Stand, bodies: Bodies, pids: number[], engine?: EngineStand): Promise<Run> {
  if (engine) await emptyTables(engine.stores);
  const run = await measured(pids, server.pid, bodies, () => sent(server, bodies));
  return { ...run, stored: engine && (await storedIn(engine.stores)) };
}

async function sent({ url }: Stand, bodies: Bodies) {
  const requests = bodies.paths.length;
  const report = await load({ url, path: "/batch/", bodies: bodies.paths, requests, connections });
  if (report.failed > 0) throw new Error(`${report.failed} bodies were not taken`);
  return report;
}

async function measured(
  roots: number[],
  server: number,
  { bytes }: Bodies,
  run: () => Promise<{ started_ms: number; seconds: number; cpu_s: number }>,
): Promise<Omit<Run, "stored">> {
  const [cpu, own] = [cpuSeconds(roots), ownCpuSeconds([server])];
  const { started_ms, seconds, cpu_s } = await run();
  const ended = performance.timeOrigin + performance.now();
  const gb = bytes / 1e9;
  return {
    mb_per_s: bytes / 1e3 / (ended - started_ms),
    acknowledged_mb_per_s: bytes / 1e6 / seconds,
    cpu_s_per_gb: (cpuSeconds(roots) - cpu) / gb,
    server_cpu_s_per_gb: (ownCpuSeconds([server]) - own) / gb,
    sender_cpu_s_per_gb: cpu_s / gb,
  };
}

/** @throws unless every contestant that stores has stored the same. */
function agree(runs: Record<string, Run[]>, events: number): void {
  const seen = Object.entries(runs).flatMap(([name, all]) =>
    all.flatMap(({ stored }) => (stored ? [{ name, ...stored }] : [])),
  );
  for (const { name, count, uuids, properties } of seen) {
    if (count !== String(events) || uuids !== count || properties !== seen[0]!.properties) {
      throw new Error(
        `${name} stored ${count} events, ${uuids} uuids, properties ${properties}: not what it got`,
      );
    }
  }
}

function answerOf(runs: Record<string, Run[]>): Answer {
  const figures = Object.entries(runs).map(([name, all]) => {
    const of = (figure: (run: Run) => number) => median(all.map(figure));
    return {
      name,
      "MB/s": of((run) => run.mb_per_s),
      "MB/s acked": of((run) => run.acknowledged_mb_per_s),
      "CPU-s/GB": of((run) => run.cpu_s_per_gb),
      "of it server": of((run) => run.server_cpu_s_per_gb),
      "sender beside": of((run) => run.sender_cpu_s_per_gb),
    };
  });
  const at = (letter: string) => figures.find(({ name }) => name.startsWith(letter))!;
  const sluice = at("Sluice");
  const speed = (letter: string) => sluice["MB/s"] / at(letter)["MB/s"];
  const cost = (letter: string) => sluice["CPU-s/GB"] / at(letter)["CPU-s/GB"];
  return {
    question: "/batch in bodies of 18 MB, from socket to ClickHouse",
    figures,
    ratios: [
      { name: "throughput ÷ E", value: speed("E "), goal: 1.5, stretch: 2.2, above: true },
      { name: "CPU-s/GB ÷ E", value: cost("E "), goal: 0.75, stretch: 0.6 },
      { name: "CPU-s/GB ÷ N", value: cost("N "), goal: 1.5, stretch: 1.25 },
      { name: "throughput ÷ J", value: speed("J "), goal: 1.3, stretch: 2, above: true },
      { name: "throughput ÷ X", value: speed("X "), goal: 8, stretch: 12, above: true },
      { name: "acknowledged throughput ÷ E", value: sluice["MB/s acked"] / at("E ")["MB/s"] },
      { name: "acknowledged throughput ÷ J", value: sluice["MB/s acked"] / at("J ")["MB/s"] },
    ],
  };
}

if (import.meta.main) {
  const scale = scales[(process.argv[2] ?? "quick") as keyof typeof scales];
  process.stdout.write(linesOf(await batchBench(scale)));
}
