// How long does a live capture take while 20 MB bodies stream beside it? The same load on a bare server that only
// receives bytes (B). Both loads keep their pace whatever the server does, and count from when a request was due.

import { type Answer, type Scale, interleaved, median } from "./answer.ts";
import { type LoadReport, startLoad } from "./load.ts";
import { type Bodies, writeBodies } from "./material.ts";
import {
  type SluiceStand,
  type Stand,
  emptyTables,
  startBare,
  storedIn,
  usualFlush,
  withSluice,
} from "./stand.ts";

interface Run {
  live: LoadReport;
  bulk: LoadReport | undefined;
}

const livePerSecond = 500;
const bodyBytes = 19_800_000;
/** 80 MB/s: less than either server's most, so that both have the same load. */
const bodiesPerSecond = 4;

export async function latencyBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  return await withSluice(async (sluice, folder) => {
    const plain = await startBare("bytes");
    try {
      const size = Math.min(bodyBytes, bytes);
      const seconds = Math.max(0.3, Math.min(8, bytes / bodyBytes / bodiesPerSecond) * 3);
      const live = writeBodies(folder, {
        count: Math.ceil(seconds * livePerSecond),
        bytes: 1000,
        single: true,
        noteLetters: 430,
      });
      const count = Math.max(1, Math.round(seconds * bodiesPerSecond));
      const bulk = writeBodies(folder, { count, bytes: size, first: live.events });
      const contestants = {
        "Sluice, bodies beside": () => mixed(sluice, live, bulk),
        "B, bodies beside": () => both(plain, live, bulk),
        "Sluice, nothing beside": () => mixed(sluice, live),
        "B, nothing beside": () => both(plain, live),
      };
      return answerOf(await interleaved(scale, contestants));
    } finally {
      await plain.stop();
    }
  }, usualFlush);
}

async function mixed(sluice: SluiceStand, live: Bodies, bulk?: Bodies): Promise<Run> {
  await emptyTables(sluice.stores);
  const run = await both(sluice, live, bulk);
  await sluice.rested();
  const { count, uuids } = await storedIn(sluice.stores);
  const sent = live.events + (bulk?.events ?? 0);
  if (count !== String(sent) || uuids !== count) throw new Error(`${sent} were sent, ${count} are stored`);
  return run;
}

async function both({ url }: Stand, live: Bodies, bulk?: Bodies): Promise<Run> {
  const order = (bodies: Bodies, path: string, connections: number, perSecond: number) =>
    startLoad({ url, path, bodies: bodies.pack, requests: bodies.pack.ends.length, connections, perSecond })
      .report;
  const [liveReport, bulkReport] = await Promise.all([
    order(live, "/capture/", 64, livePerSecond),
    bulk && order(bulk, "/batch/", 4, bodiesPerSecond),
  ]);
  const failed = liveReport.failed + (bulkReport?.failed ?? 0);
  if (failed > 0) throw new Error(`${failed} requests were refused`);
  return { live: liveReport, bulk: bulkReport };
}

function answerOf(runs: Record<string, Run[]>): Answer {
  const figures = Object.entries(runs).map(([name, all]) => ({
    name,
    "p50 ms": median(all.map(({ live }) => live.p50_ms)),
    "p99 ms": median(all.map(({ live }) => live.p99_ms)),
    "max ms": median(all.map(({ live }) => live.max_ms)),
    "body p50 ms": median(all.map(({ bulk }) => bulk?.p50_ms ?? 0)),
  }));
  const value = figures[0]!["p99 ms"] / figures[1]!["p99 ms"];
  return {
    question: `/capture at ${livePerSecond}/s while ${bodiesPerSecond} bodies of 20 MB a second stream`,
    figures,
    ratios: [{ name: "live p99 ÷ B's under the same load", value, goal: 1.5, stretch: 0.7 }],
  };
}
