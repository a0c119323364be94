// What does a GB of /batch cost from socket to ClickHouse, in bodies of 18 MB? Beside it the engine alone on the
// same events as JSON (E; E0: into the table alone) and as Native (N), a bare server that only parses (J) or receives (B), a naive one (X).

import { type Answer, type Ratio, type Scale, interleaved } from "./answer.ts";
import { type Cost, costOf, figuresOf, settled, sluiceRun } from "./cost.ts";
import { load } from "./load.ts";
import { type Bodies, insertLines, writeBodies, writeNative } from "./material.ts";
import {
  type EngineStand,
  type Stand,
  type Stored,
  emptyTables,
  makeFolder,
  removeFolder,
  startBare,
  startEngine,
  startSluice,
  storedIn,
  tableAlone,
} from "./stand.ts";

interface Run extends Cost {
  stored?: Stored;
}

export async function batchBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const folder = makeFolder();
  const each = Math.min(bytes, 18_000_000);
  // Twice what the others send, so that the last segment's way into ClickHouse counts for less.
  const count = Math.max(1, Math.floor((2 * bytes) / each));
  const bodies = writeBodies(folder, { count, bytes: each, lines: true });
  const engine = await startEngine();
  const sluice = await startSluice();
  const bare = await Promise.all([
    startBare("json"),
    startBare("bytes"),
    startBare("naive", engine.clickhouseUrl),
  ]);
  try {
    const native = await writeNative(engine, bodies);
    const [json, plain, naive] = bare;
    const readJson = (i: number) => insertLines(engine, bodies.lines[i]!, i);
    const readAlone = (i: number) => insertLines(engine, bodies.lines[i]!, i, tableAlone);
    const settling = async (run: Promise<Run>) =>
      await settled(await run, engine.stores, [engine.pid], bodies.bytes);
    const { clickhouse } = engine.stores;
    const contestants: Record<string, () => Promise<Run>> = {
      Sluice: async () =>
        await settled(await sluiceRun(sluice, bodies), sluice.stores, [sluice.pid], bodies.bytes),
      "E engine, JSON": () => settling(engineRun(engine, bodies, 1, readJson)),
      "E0 the same without views": () => settling(engineRun(engine, bodies, 1, readAlone, tableAlone)),
      "E2 the same, two at once": () => engineRun(engine, bodies, 2, readJson),
      "N engine, Native": () =>
        engineRun(engine, bodies, 1, (i) => clickhouse.insertNative("event_rows", { path: native[i]! })),
      "J bare req.json()": () => bareRun(json, bodies),
      "B bare req.bytes()": () => bareRun(plain, bodies),
      "X naive": () => bareRun(naive, bodies, engine),
    };
    const runs = await interleaved(scale, contestants);
    agree(runs, bodies.events);
    return answerOf(runs);
  } finally {
    for (const one of [...bare, sluice, engine]) await one.stop();
    removeFolder(folder);
  }
}

/** `atOnce` statements side by side; the engine spreads each over its threads by itself. */
async function engineRun(
  engine: EngineStand,
  bodies: Bodies,
  atOnce: number,
  insert: (i: number) => Promise<void>,
  table = "event_rows",
): Promise<Run> {
  await emptyTables(engine.stores);
  const cost = await costOf({ roots: [engine.pid], engine: engine.pid }, bodies.bytes, async () => {
    const started = performance.now();
    let next = 0;
    const worker = async () => {
      while (next < bodies.lines.length) await insert(next++);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    const seconds = (performance.now() - started) / 1000;
    return { started_ms: performance.timeOrigin + started, seconds, cpu_s: 0 };
  });
  return { ...cost, stored: await storedIn(engine.stores, table) };
}

async function bareRun({ url, pid }: Stand, bodies: Bodies, engine?: EngineStand): Promise<Run> {
  if (engine) await emptyTables(engine.stores);
  const pids = engine
    ? { roots: [pid, engine.pid], server: pid, engine: engine.pid }
    : { roots: [pid], server: pid };
  const cost = await costOf(pids, bodies.bytes, async () => {
    const requests = bodies.pack.ends.length;
    const report = await load({ url, path: "/batch/", bodies: bodies.pack, requests, connections: 2 });
    if (report.failed > 0) throw new Error(`${report.failed} bodies were not taken`);
    return report;
  });
  return engine ? { ...cost, stored: await storedIn(engine.stores) } : cost;
}

/** @throws unless every contestant that stores has stored the same. */
function agree(runs: Record<string, Run[]>, events: number): void {
  const seen = Object.entries(runs).flatMap(([name, all]) =>
    all.flatMap(({ stored }) => (stored ? [{ name, ...stored }] : [])),
  );
  for (const { name, count, uuids, properties } of seen) {
    if (count === String(events) && uuids === count && properties === seen[0]!.properties) continue;
    throw new Error(
      `${name} stored ${count} events, ${uuids} uuids, properties ${properties}: not what it got`,
    );
  }
}

function answerOf(runs: Record<string, Run[]>): Answer {
  const figures = figuresOf(runs);
  const question = "/batch in bodies of 18 MB, from socket to ClickHouse";
  if (figures.length === 1) return { question, figures, ratios: [] };
  const at = (letter: string) => figures.find(({ name }) => name.startsWith(letter))!;
  const sluice = at("Sluice");
  const speed = (letter: string) => sluice["MB/s"] / at(letter)["MB/s"];
  const cost = (letter: string) => sluice["CPU-s/GB"] / at(letter)["CPU-s/GB"];
  const ratios: Ratio[] = [
    { name: "throughput ÷ E", value: speed("E "), goal: 1.5, stretch: 2.2, above: true },
    { name: "CPU-s/GB ÷ E", value: cost("E "), goal: 0.75, stretch: 0.6 },
    { name: "throughput ÷ E0", value: speed("E0 "), goal: 2.2, above: true },
    { name: "CPU-s/GB ÷ E0", value: cost("E0 "), goal: 0.75 },
    {
      name: "CPU-s/GB settled ÷ E0's",
      value: sluice["CPU-s/GB settled"]! / at("E0 ")["CPU-s/GB settled"]!,
      goal: 1,
    },
    { name: "CPU-s/GB ÷ N", value: cost("N "), goal: 1.5, stretch: 1.25 },
    { name: "throughput ÷ J", value: speed("J "), goal: 1.5, stretch: 2, above: true },
    { name: "throughput ÷ X", value: speed("X "), goal: 8, stretch: 12, above: true },
    { name: "acknowledged throughput ÷ E", value: sluice["MB/s acked"] / at("E ")["MB/s"] },
    { name: "acknowledged throughput ÷ J", value: sluice["MB/s acked"] / at("J ")["MB/s"] },
  ];
  return { question, figures, ratios };
}
