// A process that captures every 20 ms and notes the longest time to an answer, counted from when the request was due.
// For each line that it reads it reports and starts again; a bench that sends attacks cannot delay it.

import { createInterface } from "node:readline";

const [url, key] = process.argv.slice(2);
const everyMs = 20;

interface Seen {
  asked: number;
  /** Answers that were no 200; a connection that broke counts too. */
  refused: number;
  max_ms: number;
  p50_ms: number;
  /** The longest time in which this process itself did not run: pauses of the machine, and busy cores. */
  pause_ms: number;
}

let took: number[] = [];
let refused = 0;
let pause = 0;
const open = new Map<number, number>();

function tell(): void {
  const now = performance.now();
  // A request that still waits has waited at least so long.
  const waits = [...took, ...[...open.values()].map((due) => now - due)].toSorted((a, b) => a - b);
  const seen: Seen = {
    asked: waits.length,
    refused,
    max_ms: waits.at(-1) ?? 0,
    p50_ms: waits[waits.length >> 1] ?? 0,
    pause_ms: pause,
  };
  process.stdout.write(`${JSON.stringify(seen)}\n`);
  [took, refused, pause] = [[], 0, 0];
}

async function ask(i: number, due: number): Promise<void> {
  open.set(i, due);
  const body = `{"api_key":"${key}","event":"probe","distinct_id":"probe","properties":{"i":${i}}}`;
  try {
    const reply = await fetch(`${url}/capture/`, { method: "POST", body });
    await reply.arrayBuffer();
    if (reply.status !== 200) refused++;
  } catch {
    refused++;
  }
  took.push(performance.now() - due);
  open.delete(i);
}

createInterface({ input: process.stdin })
  .on("line", tell)
  .on("close", () => process.exit(0));

let due = performance.now();
for (let i = 0; ; i++) {
  due += everyMs;
  const asleep = performance.now();
  await Bun.sleep(Math.max(0, due - performance.now()));
  const late = performance.now() - Math.max(due, asleep);
  if (late > pause) pause = late;
  // After a pause the missed requests are not sent all at once: each of them would count the pause again.
  if (late > everyMs) due = performance.now();
  void ask(i, due);
}

export type { Seen };
