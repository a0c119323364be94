// What does a GB of /batch cost from socket to ClickHouse, in bodies of 18 MB? Beside it the engine alone on the
// same events as JSON (E; E0: into the table alone; E2: the same, two at once) and as Native (N), a bare server that only parses (J) or
// receives (B), a naive one (X). `visits` has events of 1.1 kB in visits of twelve, `batch` the mix that sites send; both have the
// settings that users have, and merges, which each pays for until its engine rests. `short_batch`: short events, no merges
// before all is stored.

import { type Answer, interleaved, type Ratio, type Scale } from "./answer.ts";
import { type Cost, costOf, figuresOf, settled, sluiceRun } from "./cost.ts";
import type { EventPlan } from "./events.ts";
import { load } from "./load.ts";
import { type Bodies, insertLines, writeBodies, writeNative } from "./material.ts";
import {
  emptyTables,
  type EngineStand,
  makeFolder,
  removeFolder,
  type Stand,
  startBare,
  startEngine,
  startSluice,
  type Stored,
  storedIn,
  tableAlone,
  usualFlush,
} from "./stand.ts";

interface Run extends Cost {
  stored?: Stored;
}

export const visitsBench = (scale: Scale): Promise<Answer> =>
  askBatch(scale, { site: "short", merges: true });
export const batchBench = (scale: Scale): Promise<Answer> => askBatch(scale, { site: "mix", merges: true });
export const shortBatchBench = (scale: Scale): Promise<Answer> => askBatch(scale, { merges: false });

type Kind = Pick<EventPlan, "site"> & { merges: boolean };

async function askBatch(scale: Scale, { merges, ...plan }: Kind): Promise<Answer> {
  const { bytes } = scale;
  const folder = makeFolder();
  const each = Math.min(bytes, 18_000_000);
  // Twice what the others send, so that the last segment's way into ClickHouse counts for less.
  const count = Math.max(1, Math.floor((2 * bytes) / each));
  const bodies = writeBodies(folder, { count, bytes: each, lines: true, ...plan });
  const engine = await startEngine();
  const sluice = await startSluice(merges ? usualFlush : {});
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
    const { clickhouse } = engine.stores;
    const readNative = (i: number) => clickhouse.insertNative("event_rows", { path: native[i]! });
    const contestants: Record<string, () => Promise<Run>> = {
      Sluice: () => sluiceRun(sluice, bodies, {}, { merges }),
      "E engine, JSON": () => engineRun(engine, bodies, { merges, insert: readJson }),
      "E0, its table has no views": () =>
        engineRun(engine, bodies, { merges, insert: readAlone, table: tableAlone }),
      "E2, E0 two at once": () =>
        engineRun(engine, bodies, { merges, insert: readAlone, table: tableAlone, atOnce: 2 }),
      "N engine, Native": () => engineRun(engine, bodies, { merges, insert: readNative }),
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

interface EngineWork {
  merges: boolean;
  insert(this: void, i: number): Promise<void>;
  table?: string;
  /** Statements side by side; the engine spreads each over its threads by itself. */
  atOnce?: number;
}

async function engineRun(
  engine: EngineStand,
  bodies: Bodies,
  { merges, insert, table = "event_rows", atOnce = 1 }: EngineWork,
): Promise<Run> {
  await emptyTables(engine.stores);
  if (merges) await engine.stores.clickhouse.command("SYSTEM START MERGES");
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
  const whole = await settled(cost, engine.stores, [engine.pid], bodies.bytes);
  return { ...whole, stored: await storedIn(engine.stores, table) };
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
    { name: "throughput ÷ E0", value: speed("E0"), goal: 1.8, above: true },
    { name: "CPU-s/GB ÷ E0", value: cost("E0"), goal: 0.75 },
    { name: "throughput ÷ E2", value: speed("E2"), goal: 1.3, above: true },
    {
      name: "CPU-s/GB settled ÷ E0's",
      value: sluice["CPU-s/GB settled"]! / at("E0")["CPU-s/GB settled"]!,
      goal: 0.95,
    },
    { name: "CPU-s/GB ÷ N", value: cost("N "), goal: 1.5, stretch: 1.25 },
    { name: "throughput ÷ J", value: speed("J "), goal: 1.3, stretch: 1.5, above: true },
    { name: "throughput ÷ X", value: speed("X "), goal: 8, stretch: 12, above: true },
    { name: "acknowledged throughput ÷ E", value: sluice["MB/s acked"] / at("E ")["MB/s"] },
    { name: "acknowledged throughput ÷ J", value: sluice["MB/s acked"] / at("J ")["MB/s"] },
  ];
  return { question, figures, ratios };
}
