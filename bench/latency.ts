// How long does a live capture take while 20 MB bodies stream beside it? The same load on a bare server that only
// receives bytes (B), and on one that writes and syncs them (S). Both loads keep their pace whatever the server does,
// and count from when a request was due. A process beside them writes and syncs a row now and then: what it waits for
// is the disk, and no server can be faster. In the long form a turn takes a minute.

import { dirname } from "node:path";
import { type Answer, interleaved, median, type Scale, scales } from "./answer.ts";
import { type LoadReport, startLoad } from "./load.ts";
import { type Bodies, writeBodies } from "./material.ts";
import {
  emptyTables,
  type SluiceStand,
  type Stand,
  startBare,
  storedIn,
  usualFlush,
  withSluice,
} from "./stand.ts";
import { besideSyncs, type SyncWaits } from "./sync_watch.ts";

interface Run {
  live: LoadReport;
  bulk: LoadReport | undefined;
  disk: SyncWaits;
}

/** Bodies that are sent in turn, so many times. */
type Repeated = Bodies & { requests?: number };

/** The sender has all of them in memory. */
const bodiesMost = 40;
const livePerSecond = 500;
const bodyBytes = 19_800_000;
/** 80 MB/s: less than either server's most, so that both have the same load. */
const bodiesPerSecond = 4;

export async function latencyBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  return await withSluice(async (sluice, folder) => {
    const plain = await startBare("bytes");
    const synced = await startBare("synced");
    try {
      const size = Math.min(bodyBytes, bytes);
      const usual = Math.max(0.3, Math.min(8, bytes / bodyBytes / bodiesPerSecond) * 3);
      const seconds = bytes > scales.quick.bytes ? 60 : usual;
      const live = writeBodies(folder, {
        count: Math.ceil(seconds * livePerSecond),
        bytes: 1000,
        single: true,
        noteLetters: 430,
      });
      const requests = Math.max(1, Math.round(seconds * bodiesPerSecond));
      const bulk = writeBodies(folder, {
        count: Math.min(requests, bodiesMost),
        bytes: size,
        first: live.events,
      });
      const contestants = {
        "Sluice, bodies beside": () => mixed(sluice, live, { ...bulk, requests }),
        "B, bodies beside": () => both(plain, live, { ...bulk, requests }),
        "S, bodies beside": () => both(synced, live, { ...bulk, requests }),
        "Sluice, nothing beside": () => mixed(sluice, live),
        "B, nothing beside": () => both(plain, live),
      };
      return answerOf(await interleaved(scale, contestants));
    } finally {
      await plain.stop();
      await synced.stop();
    }
  }, usualFlush);
}

async function mixed(sluice: SluiceStand, live: Bodies, bulk?: Repeated): Promise<Run> {
  await emptyTables(sluice.stores);
  const run = await both(sluice, live, bulk);
  await sluice.rested();
  // Bodies that were sent again are more rows, which only reading them makes one.
  const { uuids } = await storedIn(sluice.stores);
  const sent = live.events + (bulk?.events ?? 0);
  if (uuids !== String(sent)) throw new Error(`${sent} were sent, ${uuids} are stored`);
  return run;
}

async function both({ url }: Stand, live: Bodies, bulk?: Repeated): Promise<Run> {
  const order = (
    { pack, requests = pack.ends.length }: Repeated,
    path: string,
    connections: number,
    perSecond: number,
  ) => startLoad({ url, path, bodies: pack, requests, connections, perSecond }).report;
  const loads = () =>
    Promise.all([
      order(live, "/capture/", 64, livePerSecond),
      bulk && order(bulk, "/batch/", 4, bodiesPerSecond),
    ]);
  const { result, disk } = await besideSyncs(dirname(live.pack.path), loads);
  const [liveReport, bulkReport] = result;
  const failed = liveReport.failed + (bulkReport?.failed ?? 0);
  if (failed > 0) throw new Error(`${failed} requests were refused`);
  return { live: liveReport, bulk: bulkReport, disk };
}

function answerOf(runs: Record<string, Run[]>): Answer {
  const figures = Object.entries(runs).map(([name, all]) => ({
    name,
    "p50 ms": median(all.map(({ live }) => live.p50_ms)),
    "p99 ms": median(all.map(({ live }) => live.p99_ms)),
    "max ms": median(all.map(({ live }) => live.max_ms)),
    "body p50 ms": median(all.map(({ bulk }) => bulk?.p50_ms ?? 0)),
    "disk p99 ms": median(all.map(({ disk }) => disk.p99_ms)),
    "disk max ms": median(all.map(({ disk }) => disk.max_ms)),
  }));
  type Figures = (typeof figures)[0];
  const [sluice, bare, synced] = figures as [Figures, Figures, Figures];
  return {
    question: `/capture at ${livePerSecond}/s while ${bodiesPerSecond} bodies of 20 MB a second stream`,
    figures,
    ratios: [
      {
        name: "live p99 ÷ B's under the same load",
        value: sluice["p99 ms"] / bare["p99 ms"],
        goal: 1.5,
        stretch: 0.7,
      },
      {
        name: "live p99 ÷ S's under the same load",
        value: sluice["p99 ms"] / synced["p99 ms"],
        goal: 1.2,
      },
      {
        name: "live max ÷ that of a bare sync beside",
        value: sluice["max ms"] / sluice["disk max ms"],
        goal: 2,
      },
    ],
  };
}
