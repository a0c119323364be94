// What does an INSERT cost by its size? Native files, read by name by the embedded ClickHouse, as the flush does it.

import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { type Cost, costOf } from "./cost.ts";
import { type Bodies, writeBodies, writeNative } from "./material.ts";
import { emptyTables, type EngineStand, makeFolder, removeFolder, startEngine, storedIn } from "./stand.ts";

export async function insertBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const folder = makeFolder();
  const engine = await startEngine();
  try {
    const each = Math.min(3_600_000, Math.floor(bytes / 2));
    const count = Math.floor(bytes / each);
    const bodies = writeBodies(folder, { count, bytes: each, lines: true });
    const native = await writeNative(engine, bodies);
    const contestants: [string, () => Promise<Cost>][] = [];
    for (const joined of [1, 5, 25]) {
      if (joined > count) continue;
      const paths = joinedBy(joined, native, engine);
      const name = `${((joined * each) / 1e6).toFixed(1)} MB of JSON, ${paths.length} INSERTs`;
      contestants.push([name, () => inserted(engine, bodies, paths)]);
    }
    const sorted = joinedBy(5, await writeNative(engine, bodies, "rest"), engine);
    contestants.push(["18 MB, each block sorted before", () => inserted(engine, bodies, sorted)]);
    const runs = await interleaved(scale, Object.fromEntries(contestants));
    const figures = Object.entries(runs).map(([name, all]) => ({
      name,
      "MB/s": median(all.map(({ mb_per_s }) => mb_per_s)),
      "CPU-s/GB": median(all.map(({ cpu_s_per_gb }) => cpu_s_per_gb)),
    }));
    return { question: "Native files → ClickHouse, by size of an INSERT", figures, ratios: [] };
  } finally {
    await engine.stop();
    removeFolder(folder);
  }
}

/** Files of `joined` blocks each. */
function joinedBy(joined: number, native: string[], { dataDir }: EngineStand): string[] {
  const paths: string[] = [];
  for (let i = 0; i < native.length; i += joined) {
    const path = join(dataDir, `${crypto.randomUUID()}.native`);
    for (const block of native.slice(i, i + joined)) appendFileSync(path, readFileSync(block));
    paths.push(path);
  }
  return paths;
}

async function inserted(engine: EngineStand, { bytes, events }: Bodies, paths: string[]): Promise<Cost> {
  await emptyTables(engine.stores);
  const cost = await costOf({ roots: [engine.pid] }, bytes, async () => {
    const started = performance.now();
    for (const path of paths) await engine.stores.clickhouse.insertNative("event_rows", { path });
    const seconds = (performance.now() - started) / 1000;
    return { started_ms: performance.timeOrigin + started, seconds, cpu_s: 0 };
  });
  const { count, uuids } = await storedIn(engine.stores);
  if (count !== String(events) || uuids !== count) throw new Error(`${count} of ${events} events are stored`);
  return cost;
}
