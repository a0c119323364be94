// Requests at a steady rate, and how long each took from the moment it was due: a server that falls behind shows
// it, instead of slowing the one who asks.

export interface Paced {
  asked: number;
  /** Not answered with a 2xx. */
  failed: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

/**
 * Asks `perSecond` times a second for `seconds`, or until `isOver`, without waiting for answers in between.
 */
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
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  return { asked: took.length, failed, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}
