// Sends events to a server as fast as it takes them, or at a rate, until its standard input ends. A process of
// its own, so that building requests does not disturb who measures beside it.
//
//   bun bench/capture_load.ts URL KEY [EVENTS_PER_SECOND]      prints {"events":n,"seconds":s}

import { batchBody } from "./events.ts";

const [url, key, rate] = process.argv.slice(2);
const eventsEach = 500;
const bodies = Array.from({ length: 20 }, (_, i) => liveBody(i));
const perSecond = rate === undefined ? Number.POSITIVE_INFINITY : Number(rate);

let stopped = false;
let events = 0;
let next = 0;
const started = performance.now();
void Bun.stdin.text().then(() => {
  stopped = true;
});
await Promise.all(Array.from({ length: 4 }, send));
process.stdout.write(`${JSON.stringify({ events, seconds: (performance.now() - started) / 1000 })}\n`);
process.exit(0);

async function send(): Promise<void> {
  while (!stopped) {
    const i = next++;
    const due = started + (i * eventsEach * 1000) / perSecond;
    if (due > performance.now()) await Bun.sleep(due - performance.now());
    const body = bodies[i % bodies.length] as Uint8Array<ArrayBuffer>;
    const reply = await fetch(`${url}/batch/`, { method: "POST", body });
    if (!reply.ok) throw new Error(`/batch/ answered ${reply.status}: ${await reply.text()}`);
    await reply.arrayBuffer();
    events += eventsEach;
  }
}

/** Other uuids in every body, and no timestamps: these happen now. */
function liveBody(i: number): Uint8Array {
  const text = new TextDecoder()
    .decode(batchBody(eventsEach, 1, key))
    .replace('"historical_migration":true', '"historical_migration":false')
    .replaceAll("-774b-", `-7${i.toString(16).padStart(3, "0")}-`)
    .replaceAll(/"timestamp":"[^"]+",/g, "");
  return new TextEncoder().encode(text);
}
