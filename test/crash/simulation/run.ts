// Simulates seeds: `bun test/crash/simulation/run.ts --seeds 10000 [--from 1] [--plant NAME] [--until-found] [--log]`, in as
// many processes as there are cores. Prints one line of figures, and seeds that do not hold; ends with 1 when there
// was one.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { openLog, silentLog } from "../../../src/core/log.ts";
import { takeGlobals } from "./machine.ts";
import { plants } from "./plants.ts";
import { simulate } from "./world.ts";

const { values } = parseArgs({
  args: Bun.argv.slice(2),
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    plant: { type: "string" },
    log: { type: "boolean", default: false },
    "until-found": { type: "boolean", default: false },
    /** Set in the processes that share the seeds: each takes every so many-th. */
    every: { type: "string" },
  },
});

const [from, count] = [Number(values.from), Number(values.seeds)];
const started = performance.now();
const sums: Record<string, number> = {
  seeds: 0,
  broken: 0,
  lives: 0,
  acknowledged: 0,
  stored: 0,
  lost: 0,
  doubled: 0,
  invented: 0,
  collapsed: 0,
  quarantined: 0,
};
/** Seeds that are printed. */
const shownMax = 20;

function simulateHere(every: number): void {
  const planted = values.plant === undefined ? undefined : plants[values.plant];
  if (values.plant !== undefined && !planted) {
    throw new Error(`no bug is called ${values.plant}: ${Object.keys(plants).join(", ")}`);
  }
  takeGlobals();
  const write = (line: string): void => console.log(line);
  const clock = { now: () => 0, elapsed: () => 0 };
  const log = values.log ? openLog({ level: "debug", format: "json", write, clock }) : silentLog;
  for (let seed = from; seed < from + count; seed += every) {
    const { problems, ...result } = simulate(seed, log, planted);
    const figures: Record<string, number> = { ...result, seeds: 1, broken: problems.length > 0 ? 1 : 0 };
    for (const name of Object.keys(sums)) sums[name]! += figures[name]!;
    if (problems.length === 0) continue;
    if (sums["broken"]! <= shownMax) console.log(`seed ${seed}: ${problems.join("; ")}`);
    if (values["until-found"]) break;
  }
}

async function simulateShared(processes: number): Promise<void> {
  const outputs = Array.from({ length: processes }, async (_, i) => {
    const own = ["--from", String(from + i), "--seeds", String(count - i), "--every", String(processes)];
    const more = values.plant === undefined ? [] : ["--plant", values.plant];
    const child = Bun.spawn([process.execPath, import.meta.path, ...own, ...more], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const lines = (await new Response(child.stdout).text()).trimEnd().split("\n");
    const figures = JSON.parse(lines.pop()!) as Record<string, number>;
    for (const name of Object.keys(sums)) sums[name]! += figures[name]!;
    for (const line of lines) console.log(line);
  });
  await Promise.all(outputs);
}

if (values.every !== undefined) {
  simulateHere(Number(values.every));
  console.log(JSON.stringify(sums));
} else {
  const processes = values["until-found"] || values.log ? 1 : Math.min(count, availableParallelism());
  if (processes > 1) await simulateShared(processes);
  else simulateHere(1);
  const figures = Object.entries(sums).map(([name, sum]) => `${name} ${sum}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log([...figures, `${seconds} s`].join(" · "));
}
process.exit(sums["broken"]! > 0 ? 1 : 0);
