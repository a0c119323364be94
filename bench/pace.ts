// Requests at a steady rate, and how long each took from the moment it was due: a server that falls behind shows it,
// instead of slowing the sender down.

import { quantile } from "./answer.ts";

export interface Paced {
  asked: number;
  /** Answers that are not 2xx. */
  failed: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

/** Sends `perSecond` requests a second for `seconds`, or until `isOver`, without waiting for answers in between. */
export async function pace(
  perSecond: number,
  seconds: number,
  ask: (i: number) => Promise<Response>,
  isOver: () => boolean = () => false,
): Promise<Paced> {
  const took: number[] = [];
  const open = new Set<Promise<void>>();
  let failed = 0;
  const total = Math.round(perSecond * seconds);
  const started = performance.now();
  const one = async (i: number, due: number) => {
    try {
      const reply = await ask(i);
      await reply.arrayBuffer();
      if (!reply.ok) failed++;
    } catch {
      failed++;
    }
    took.push(performance.now() - due);
  };
  for (let i = 0; i < total && !isOver(); i++) {
    const due = started + (i * 1000) / perSecond;
    while (performance.now() < due) await Bun.sleep(Math.max(0, due - performance.now() - 0.5));
    const asking = one(i, due).finally(() => open.delete(asking));
    open.add(asking);
  }
  await Promise.all(open);
  return { asked: took.length, failed, ...quantilesOf(took) };
}

/** Sends `count` requests, each when the one before was answered. */
export async function oneByOne(count: number, ask: (i: number) => Promise<void>): Promise<Paced> {
  const took: number[] = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await ask(i);
    took.push(performance.now() - started);
  }
  return { asked: count, failed: 0, ...quantilesOf(took) };
}

function quantilesOf(took: number[]) {
  const sorted = took.toSorted((a, b) => a - b);
  return { p50_ms: quantile(sorted, 0.5), p99_ms: quantile(sorted, 0.99), max_ms: quantile(sorted, 1) };
}
