// What does `sluice import` cost for a file of events as sites send them: the importer, and the server until all is
// stored?

import { resolve } from "node:path";
import { type Answer, interleaved, type Scale } from "./answer.ts";
import { type Cost, costOf, figuresOf } from "./cost.ts";
import { type Bodies, writeBodies } from "./material.ts";
import { emptyTables, projectKey, type SluiceStand, storedIn, usualFlush, withSluice } from "./stand.ts";

/** `sender` is the importer, which "CPU-s/GB" leaves out; "both" has it. */
export async function importBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const bodies = writeBodies(folder, {
      count: 1,
      bytes: scale.bytes,
      lines: true,
      site: "mix",
      months: 12,
    });
    const runs = await interleaved(scale, { Sluice: () => importFile(sluice, bodies) });
    const figures = figuresOf(runs).map((row) => ({ ...row, both: row["CPU-s/GB"] + row["(sender)"] }));
    return { question: "sluice import, from a file to ClickHouse", figures, ratios: [] };
  }, usualFlush);
}

/** @throws when not every event is stored once. */
async function importFile(sluice: SluiceStand, { lines, bytes, events }: Bodies): Promise<Cost> {
  await emptyTables(sluice.stores);
  const pids = { roots: [sluice.pid], server: sluice.pid, engine: sluice.enginePid };
  const cost = await costOf(pids, bytes, async () => {
    const started_ms = performance.timeOrigin + performance.now();
    const main = resolve(import.meta.dir, "../src/main.ts");
    const child = Bun.spawn(
      [process.execPath, main, "import", ...lines, "--host", sluice.url, "--api-key", projectKey],
      { stdout: "ignore", stderr: "ignore" },
    );
    const exitCode = await child.exited;
    const seconds = (performance.timeOrigin + performance.now() - started_ms) / 1000;
    if (exitCode !== 0) throw new Error(`the importer ended with ${exitCode}`);
    await sluice.rested(40);
    return { started_ms, seconds, cpu_s: Number(child.resourceUsage()!.cpuTime.total) / 1e6 };
  });
  const { count, uuids } = await storedIn(sluice.stores);
  if (count === String(events) && uuids === count) return cost;
  throw new Error(`${events} events were sent, ${count} with ${uuids} uuids are stored`);
}
