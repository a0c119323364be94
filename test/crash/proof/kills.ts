// kill -9 at random moments: under load, while segments are flushed, and during the recovery of the kill before.

import type { ProofLedger } from "./ledger.ts";
import { metricOf, type Place, type Running } from "./place.ts";
import { type Progress } from "./progress.ts";
import { sendOn } from "./sender.ts";

export interface KillsOptions {
  cycles: number;
  /** Events that the cycles are to acknowledge together. */
  events: number;
  progress: Progress;
}

/** From segments of a few requests to ones that live as long as most cycles, in ms. */
const flushIntervals = [50, 200, 1000];

/** Part of the starts that are killed before they listen. */
const duringRecovery = 0.25;
/** About how long a start takes, in ms. */
const startMs = 700;

/**
 * One life in so many sends no more and is killed when little waits. Lives of a few seconds store no imports, which give
 * way to live events: each start would read more than the one before.
 */
const storesEvery = 10;
const waitingMax = 20_000;

export async function killAtRandom(
  place: Place,
  ledger: ProofLedger,
  options: KillsOptions,
): Promise<number> {
  const { cycles, events, progress } = options;
  const first = ledger.acknowledged;
  let cycle = 0;
  for (; cycle < cycles && !progress.isOver(); cycle++) {
    progress.tell(`${cycle} cycles, ${ledger.acknowledged - first} acknowledged`);
    const flushMs = flushIntervals[cycle % flushIntervals.length]!;
    const server = place.start({ environment: { FLUSH_INTERVAL_MS: String(flushMs) } });
    if (cycle > 0 && Math.random() < duringRecovery) {
      await Bun.sleep(Math.random() * startMs);
      server.kill();
      await server.exited;
      continue;
    }
    const url = await addressOf(server);
    await mustBeUndamaged(url);
    const goal = first + (events * (cycle + 1)) / cycles;
    let isOver = false;
    const sender = { isOver: () => isOver };
    const senders = [
      sendOn(url, ledger, { batch: 500, ...sender }),
      sendOn(url, ledger, { batch: 200, historical: true, ...sender }),
      sendOn(url, ledger, { batch: 1, ...sender }),
      sendOn(url, ledger, { batch: 1, ...sender }),
    ];
    await Bun.sleep(Math.random() * 150);
    while (ledger.acknowledged < goal) await Bun.sleep(1);
    if (cycle % storesEvery === storesEvery - 1) {
      isOver = true;
      while ((await metricOf(url, "sluice_journal_pending_events")) > waitingMax) await Bun.sleep(10);
    }
    server.kill();
    await Promise.all([server.exited, ...senders]);
  }
  await storeAll(place);
  return cycle;
}

export async function addressOf(server: Running): Promise<string> {
  const url = await server.url;
  if (url === undefined) throw new Error(`the server did not start: ${server.logged().slice(-2000)}`);
  return url;
}

/** A kill tears what nobody was told of: that is no damage. */
async function mustBeUndamaged(url: string): Promise<void> {
  const damaged = await metricOf(url, "sluice_journal_damaged_total");
  if (damaged !== 0) throw new Error(`a kill was taken for ${damaged} damaged files`);
}

/** Starts once more and lets everything be stored. */
export async function storeAll(place: Pick<Place, "start">): Promise<void> {
  const server = place.start();
  await mustBeUndamaged(await addressOf(server));
  await server.finish();
}
