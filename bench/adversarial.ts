// What does the worst body cost beside a normal one, and for how long does it delay other requests? What is stored is
// not checked: most of these events are refused, cut or made equal.

import { join } from "node:path";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { costOf } from "./cost.ts";
import { hostileBodies } from "./hostile.ts";
import { load } from "./load.ts";
import { writePack } from "./material.ts";
import type { Stall } from "./stall_watch.ts";
import { emptyTables, makeFolder, personalKey, removeFolder, type SluiceStand, withSluice } from "./stand.ts";

interface Run extends Stall {
  /** CPU-seconds for each GB that is read: inflated, where it was compressed. */
  cpu_s_per_gb: number;
  /** Of these, the server's own process; the others are the engine's. */
  server_cpu_s_per_gb: number;
}

const bodyBytesMax = 18_000_000;
/** CPU-seconds that each body may cost in a round: the worst one would take as long as all others together. */
const costMax = 3;
/** How long the server may take to come to rest before the next body is sent, in ms. */
const restPollMs = 100;

export async function adversarialBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const sockets = makeFolder();
  const socket = join(sockets, "stall");
  // Flushed as users have it: small inserts would add a cost that the body does not cause.
  const environment = { STALL_SOCKET: socket, FLUSH_INTERVAL_MS: "1000" };
  const options = { preload: join(import.meta.dir, "stall_watch.ts"), environment };
  try {
    return await withSluice(async (sluice, folder) => {
      await wantRecordings(sluice);
      const each = Math.min(bodyBytesMax, bytes);
      const requestsMax = Math.max(1, Math.min(4, Math.floor(bytes / each / 2)));
      const seen = new Map<string, number>();
      const contestants = Object.entries(hostileBodies(each)).map(([name, body]) => {
        const { pack } = writePack(folder, [body]);
        const run = async () => {
          // The first turn, which warms up, shows how many more can be afforded.
          const cost = seen.get(name);
          const requests =
            cost === undefined ? 1 : Math.max(1, Math.min(requestsMax, Math.floor(costMax / cost)));
          const inflated =
            body[0] === 0x1f ? Bun.gunzipSync(body as Uint8Array<ArrayBuffer>).length : body.length;
          const ran = await sent(sluice, socket, pack, requests, inflated * requests);
          seen.set(name, (ran.cpu_s_per_gb * inflated) / 1e9);
          return ran;
        };
        return [name, run] as const;
      });
      return answerOf(await interleaved({ ...scale, warm: true }, Object.fromEntries(contestants)));
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
  let stall: Stall = { wall_ms: 0, cpu_ms: 0, long_turns: 0 };
  const pids = { roots: [sluice.pid], server: sluice.pid };
  const { cpu_s_per_gb, server_cpu_s_per_gb } = await costOf(pids, bytes, async () => {
    const report = await load(order);
    await sluice.rested(restPollMs);
    await sluice.derived();
    stall = await stallOf(socket);
    return report;
  });
  return { cpu_s_per_gb, server_cpu_s_per_gb, ...stall };
}

/** Otherwise pieces of recordings would be ignored unread. */
async function wantRecordings({ url }: SluiceStand): Promise<void> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${personalKey}` };
  const body = JSON.stringify({ session_recording_opt_in: true });
  const reply = await fetch(`${url}/api/projects/@current/`, { method: "PATCH", headers, body });
  if (!reply.ok) throw new Error(`recordings could not be turned on: ${reply.status}`);
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
    // A body causes the same in every round, the machine's pauses only in some.
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
