// A ClickHouse that cannot be trusted, and one that is away for a while and then has to be caught up with.

import { addressOf } from "./kills.ts";
import type { ProofLedger } from "./ledger.ts";
import { metricOf, type Place } from "./place.ts";
import type { Progress } from "./progress.ts";
import type { Proxy } from "./proxy.ts";
import { type SenderOptions, sendOn, sendOnce } from "./sender.ts";

/** So many INSERTs go wrong. Resolves to how many did. */
export async function answerWrongly(
  place: Place,
  ledger: ProofLedger,
  proxy: Proxy,
  strikes: number,
  progress: Progress,
): Promise<number> {
  const server = place.start({ environment: { FLUSH_INTERVAL_MS: "20" } });
  const url = await addressOf(server);
  proxy.strikes = strikes;
  let isGone = false;
  void server.exited.then(() => (isGone = true));
  const isOver = () => proxy.strikes === 0 || isGone || progress.isOver();
  const send = async (options: SenderOptions): Promise<void> => {
    // A request that takes too long ends a sender.
    while (!isOver()) await sendOn(url, ledger, { ...options, isOver, pauseMs: 10 });
  };
  const watch = async (): Promise<void> => {
    for (; !isOver(); await Bun.sleep(50)) progress.tell(`${strikes - proxy.strikes} INSERTs went wrong`);
  };
  await Promise.all([
    send({ batch: 20 }),
    send({ batch: 10, historical: true }),
    send({ batch: 1 }),
    watch(),
  ]);
  const struck = strikes - proxy.strikes;
  proxy.strikes = 0;
  await server.finish();
  return struck;
}

export interface Outage {
  seconds: number;
  eventsPerSecond: number;
}

/** Events of one request during an outage. */
const batch = 250;

/** Resolves to what is to be told: the backlog, and how fast it went. */
export async function outlast(
  place: Place,
  ledger: ProofLedger,
  proxy: Proxy,
  { seconds, eventsPerSecond }: Outage,
): Promise<string> {
  const server = place.start({ environment: { FLUSH_INTERVAL_MS: "1000" } });
  const url = await addressOf(server);
  const pace = (1000 * batch) / eventsPerSecond;
  let isOver = false;
  let refused = 0;
  const sending = (async () => {
    for (let next = performance.now(); !isOver; next += pace) {
      const waitMs = next - performance.now();
      if (waitMs > 0) await Bun.sleep(waitMs);
      void sendOnce(url, ledger, { batch }).then((isTaken) => {
        if (!isTaken) refused++;
      });
    }
  })();
  await Bun.sleep(500);
  proxy.isAway = true;
  await Bun.sleep(seconds * 1000);
  proxy.isAway = false;
  const [began, backlog] = [performance.now(), await metricOf(url, "sluice_journal_pending_events")];
  const before = ledger.acknowledged;
  // Caught up: no more waits than a second brings.
  while ((await metricOf(url, "sluice_journal_pending_events")) > eventsPerSecond * 2) await Bun.sleep(50);
  const took = (performance.now() - began) / 1000;
  const arrived = ledger.acknowledged - before;
  isOver = true;
  await sending;
  await server.finish();
  const left = Math.min(backlog, eventsPerSecond * 2);
  const rate = (backlog - left + arrived) / took;
  const times = (rate / Math.max(1, arrived / took)).toFixed(1);
  return (
    `away ${seconds} s at ${eventsPerSecond} events/s: ${backlog} waited, caught up in ${took.toFixed(1)} s at ` +
    `${Math.round(rate)} events/s, ${times} times the rate of arrival; ${refused} requests refused`
  );
}
