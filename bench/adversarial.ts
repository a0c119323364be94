// What does the worst body cost beside a normal one, and for how long does it keep everybody else waiting? Nothing
// is asserted about what is stored: most of these events are refused, cut or made the same.

import { join } from "node:path";
import { type Answer, type Scale, interleaved, median } from "./answer.ts";
import { costOf } from "./cost.ts";
import { hostileBodies } from "./hostile.ts";
import { load } from "./load.ts";
import { writePack } from "./material.ts";
import type { Stall } from "./stall_watch.ts";
import { type SluiceStand, emptyTables, makeFolder, removeFolder, withSluice } from "./stand.ts";

interface Run extends Stall {
  cpu_s_per_gb: number;
  /** Of that, the server's own process; the rest is the engine's. */
  server_cpu_s_per_gb: number;
}

const bodyBytesMax = 18_000_000;

export async function adversarialBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const sockets = makeFolder();
  const socket = join(sockets, "stall");
  const options = { preload: join(import.meta.dir, "stall_watch.ts"), environment: { STALL_SOCKET: socket } };
  try {
    return await withSluice(async (sluice, folder) => {
      const each = Math.min(bodyBytesMax, bytes);
      const requests = Math.max(1, Math.min(4, Math.floor(bytes / each / 3)));
      const contestants = Object.entries(hostileBodies(each)).map(([name, body]) => {
        const { pack } = writePack(folder, [body]);
        return [name, () => sent(sluice, socket, pack, requests, body.length * requests)] as const;
      });
      return answerOf(await interleaved(scale, Object.fromEntries(contestants)));
    }, options);
  } finally {
    removeFolder(sockets);
  }
}

async function sent(
  sluice: SluiceStand,
  socket: string,
  bodies: { path: string; ends: number[] },
  requests: number,
  bytes: number,
): Promise<Run> {
  await emptyTables(sluice.stores);
  await stallOf(socket);
  const order = { url: sluice.url, path: "/batch/", bodies, requests, connections: 1, quiet: true };
  let stall: Stall = { wall_ms: 0, cpu_ms: 0 };
  const pids = { roots: [sluice.pid], server: sluice.pid };
  const { cpu_s_per_gb, server_cpu_s_per_gb } = await costOf(pids, bytes, async () => {
    const report = await load(order);
    await sluice.rested();
    stall = await stallOf(socket);
    return report;
  });
  return { cpu_s_per_gb, server_cpu_s_per_gb, ...stall };
}

async function stallOf(unix: string): Promise<Stall> {
  return (await (await fetch("http://stall/", { unix })).json()) as Stall;
}

function answerOf(runs: Record<string, Run[]>): Answer {
  const least = (all: number[]) => Math.min(...all);
  const figures = Object.entries(runs).map(([name, all]) => ({
    name,
    "CPU-s/GB": median(all.map(({ cpu_s_per_gb }) => cpu_s_per_gb)),
    server: median(all.map(({ server_cpu_s_per_gb }) => server_cpu_s_per_gb)),
    // What a body does, it does in every round; what the machine does, it does in some.
    "stall, ms": least(all.map(({ wall_ms }) => wall_ms)),
    "of CPU, ms": least(all.map(({ cpu_ms }) => cpu_ms)),
  }));
  const [normal, ...odd] = figures as [(typeof figures)[0], ...typeof figures];
  const most = (head: "CPU-s/GB" | "server" | "stall, ms" | "of CPU, ms") =>
    odd.reduce((highest, one) => (one[head] > highest[head] ? one : highest));
  const [worst, worstForServer, longest, busiest] = [
    most("CPU-s/GB"),
    most("server"),
    most("stall, ms"),
    most("of CPU, ms"),
  ];
  return {
    question: "bodies built to hurt, 18 MB each",
    figures,
    ratios: [
      {
        name: `CPU-s/GB of the worst (${worst.name}) ÷ normal`,
        value: worst["CPU-s/GB"] / normal["CPU-s/GB"],
        goal: 3,
        stretch: 2,
      },
      {
        name: `the same of the server alone (${worstForServer.name})`,
        value: worstForServer.server / normal.server,
      },
      { name: `longest stall, ms (${longest.name})`, value: longest["stall, ms"], goal: 10, stretch: 5 },
      { name: `most CPU in one turn of the loop, ms (${busiest.name})`, value: busiest["of CPU, ms"] },
    ],
  };
}
