// What a piece of work costs: seconds, and CPU-seconds of whole process trees. Most questions measure the same work:
// bodies sent to a Sluice server, until they are in ClickHouse.

import type { Stores } from "../src/storage/stores.ts";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { load, type LoadOrder, type LoadReport } from "./load.ts";
import type { Bodies } from "./material.ts";
import { cpuSeconds, ownCpuSeconds, systemCpuSeconds } from "./process_tree.ts";
import { emptyTables, type SluiceStand, type Stored, storedIn } from "./stand.ts";

export interface Cost {
  /** MB of bodies a second until all is stored. */
  mb_per_s: number;
  /** MB a second until all is acknowledged. */
  acknowledged_mb_per_s: number;
  cpu_s_per_gb: number;
  /** Of that, the server's own process, its time in the kernel, and the engine's process. */
  server_cpu_s_per_gb: number;
  server_system_cpu_s_per_gb: number;
  engine_cpu_s_per_gb: number;
  /** The sender's, which the others do not include. */
  sender_cpu_s_per_gb: number;
  /** Of what is derived behind the flush, after all is stored. */
  later_cpu_s_per_gb?: number;
  /** All of it, and the cost of merges afterwards, where measured. */
  settled_cpu_s_per_gb?: number;
}

export interface Measured {
  /** In ms since 1970. */
  started_ms: number;
  /** Seconds until the last answer. */
  seconds: number;
  /** The sender's. */
  cpu_s: number;
}

/** Runs the work; returns what all processes below `roots` used meanwhile, for each GB of `bytes`. */
export async function costOf(
  { roots, server, engine }: { roots: number[]; server?: number; engine?: number },
  bytes: number,
  run: () => Promise<Measured>,
): Promise<Cost> {
  const own = (pid: number | undefined) => (pid === undefined ? 0 : ownCpuSeconds([pid]));
  const system = () => (server === undefined ? 0 : systemCpuSeconds(server));
  const before = [cpuSeconds(roots), own(server), own(engine), system()] as const;
  const { started_ms, seconds, cpu_s } = await run();
  const ended = performance.timeOrigin + performance.now();
  const gb = bytes / 1e9;
  return {
    mb_per_s: bytes / 1e3 / (ended - started_ms),
    acknowledged_mb_per_s: bytes / 1e6 / seconds,
    cpu_s_per_gb: (cpuSeconds(roots) - before[0]) / gb,
    server_cpu_s_per_gb: (own(server) - before[1]) / gb,
    server_system_cpu_s_per_gb: (system() - before[3]) / gb,
    engine_cpu_s_per_gb: (own(engine) - before[2]) / gb,
    sender_cpu_s_per_gb: cpu_s / gb,
  };
}

/**
 * Lets the engine merge what was stored until it rests, and adds what that costs the trees below `roots`.
 * @throws Error when it merges on for two minutes.
 */
export async function settled<Run extends Cost>(
  run: Run,
  { clickhouse }: Stores,
  roots: number[],
  bytes: number,
): Promise<Run> {
  const before = cpuSeconds(roots);
  await clickhouse.command("SYSTEM START MERGES");
  const began = performance.now();
  for (let found = 0; found < settledLooks;) {
    if (performance.now() - began > settleMsMax) throw new Error("merges did not come to rest");
    const from = cpuSeconds(roots);
    await Bun.sleep(settledPollMs);
    const share = ((cpuSeconds(roots) - from) * 1000) / settledPollMs;
    const merges = await clickhouse.query("SELECT 1 FROM system.merges LIMIT 1");
    found = share < restingShare && merges.length === 0 ? found + 1 : 0;
  }
  const cpu = cpuSeconds(roots) - before;
  await clickhouse.command("SYSTEM STOP MERGES");
  return {
    ...run,
    settled_cpu_s_per_gb: run.cpu_s_per_gb + (run.later_cpu_s_per_gb ?? 0) + cpu / (bytes / 1e9),
  };
}

const settledPollMs = 500;
/** Looks in a row that must find no merge: the engine starts one every second or so. */
const settledLooks = 6;
const settleMsMax = 120_000;
/** Share of a core: watching costs this much. */
const restingShare = 0.15;

export interface SluiceRun extends Cost {
  stored: Stored;
  report: LoadReport;
}

export type Sending = Partial<Pick<LoadOrder, "path" | "connections" | "headers" | "requests">>;

/**
 * Sends all bodies to an emptied server and waits until they rest. With `merges` set, its engine merges meanwhile or it
 * does not, and merges until it rests afterwards.
 * @throws when one was refused, or not every event is stored once.
 */
export async function sluiceRun(
  sluice: SluiceStand,
  bodies: Pick<Bodies, "pack" | "bytes" | "events">,
  sending: Sending = {},
  { merges }: { merges?: boolean } = {},
): Promise<SluiceRun> {
  await emptyTables(sluice.stores);
  if (merges) await sluice.stores.clickhouse.command("SYSTEM START MERGES");
  let report: LoadReport | undefined;
  const pids = { roots: [sluice.pid], server: sluice.pid, engine: sluice.enginePid };
  const cost = await costOf(pids, bodies.bytes, async () => {
    const requests = bodies.pack.ends.length;
    const order = { url: sluice.url, path: "/batch/", requests, connections: 2, ...sending };
    report = await load({ ...order, bodies: bodies.pack });
    await sluice.rested();
    return report;
  });
  const before = cpuSeconds(pids.roots);
  await sluice.derived();
  const later_cpu_s_per_gb = (cpuSeconds(pids.roots) - before) / (bodies.bytes / 1e9);
  const derived: Cost = { ...cost, later_cpu_s_per_gb };
  const whole =
    merges === undefined ? derived : await settled(derived, sluice.stores, pids.roots, bodies.bytes);
  if (report!.failed > 0) throw new Error(`${report!.failed} bodies were refused`);
  const stored = await storedIn(sluice.stores);
  if (stored.count !== String(bodies.events) || stored.uuids !== stored.count) {
    throw new Error(
      `${bodies.events} events were sent, ${stored.count} with ${stored.uuids} uuids are stored`,
    );
  }
  return { ...whole, stored, report: report! };
}

/** Figures of each contestant: medians, but the mean of what is settled, since one large merge decides a round. */
export function figuresOf(runs: Record<string, Cost[]>) {
  return Object.entries(runs).map(([name, all]) => {
    const of = (figure: (run: Cost) => number) => median(all.map(figure));
    return {
      name,
      "MB/s": of((run) => run.mb_per_s),
      "MB/s acked": of((run) => run.acknowledged_mb_per_s),
      "CPU-s/GB": of((run) => run.cpu_s_per_gb),
      server: of((run) => run.server_cpu_s_per_gb),
      "of it kernel": of((run) => run.server_system_cpu_s_per_gb),
      engine: of((run) => run.engine_cpu_s_per_gb),
      "(sender)": of((run) => run.sender_cpu_s_per_gb),
      ...(all.every((run) => run.later_cpu_s_per_gb !== undefined) && {
        "CPU-s/GB later": of((run) => run.later_cpu_s_per_gb!),
      }),
      ...(all.every((run) => run.settled_cpu_s_per_gb !== undefined) && {
        "CPU-s/GB settled": all.reduce((sum, run) => sum + run.settled_cpu_s_per_gb!, 0) / all.length,
      }),
    };
  });
}

/** One server, several kinds of bodies: what each costs, beside the first. */
export async function compareBodies(
  scale: Scale,
  question: string,
  contestants: Record<string, () => Promise<SluiceRun>>,
  goal: { name: string; goal: number; stretch: number; of?: string; to?: string },
): Promise<Answer> {
  const figures = figuresOf(await interleaved(scale, contestants));
  const at = (name: string | undefined, otherwise: number) =>
    figures.find((one) => one.name === name) ?? figures.at(otherwise)!;
  const [of, to] = [at(goal.of, -1), at(goal.to, 0)];
  const value = of["CPU-s/GB"] / to["CPU-s/GB"];
  return { question, figures, ratios: [{ name: goal.name, value, goal: goal.goal, stretch: goal.stretch }] };
}
