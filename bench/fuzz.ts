// Does any body, however broken, get a 5xx, hang, or lose or invent an event? `bun bench/fuzz.ts [BODIES] [SEED]`
// mutates as many bodies (100,000 by default) and prints the seed; a body that breaks a promise is reduced and printed.

import fc from "fast-check";
import { openDesk } from "../test/support/capture.ts";
import { cleanUp } from "../test/support/cleanup.ts";
import { mutated } from "../test/support/mutation.ts";

export interface Fuzzed {
  seed: number;
  bodies: number;
  /** How many, by status. */
  answered: Record<string, number>;
  received: number;
  accepted: number;
  ignored: number;
  /** Rows found in the journal's files. */
  kept: number;
  slowest_cpu_ms: number;
}

/** Processor time of a body, in ms for each begun MB. */
const msPerMb = 200;

/** @throws with the seed and the smallest body that breaks a promise. */
export async function fuzz({
  bodies,
  seed = Date.now(),
}: {
  bodies: number;
  seed?: number;
}): Promise<Fuzzed> {
  const desk = openDesk({ ack: "memory" });
  const { counts } = desk;
  const answered: Record<string, number> = {};
  let slowest = 0;
  const property = fc.asyncProperty(mutated, async ({ path, headers, body, items }) => {
    const before = { ...counts };
    const took = async () => {
      const started = process.cpuUsage();
      const reply = await desk.send(path, body, headers);
      const { user, system } = process.cpuUsage(started);
      return [reply, (user + system) / 1000] as const;
    };
    let [reply, ms] = await took();
    answered[reply.status] = (answered[reply.status] ?? 0) + 1;
    if (reply.status >= 500) throw new Error(`${reply.status}: ${await reply.text()}`);
    const [received, accepted, ignored] = (["received", "accepted", "ignored"] as const).map(
      (name) => counts[name]! - before[name]!,
    ) as [number, number, number];
    if (received !== accepted + ignored) throw new Error(`received ${received} = ${accepted} + ${ignored}?`);
    // Arrays without a key are refused; all events of other bodies that were sent whole are counted.
    if (items !== undefined && reply.status === 200 && received !== items)
      throw new Error(`${received} of ${items} events were counted`);
    if (items && reply.status === 400) throw new Error(`a sound body was refused: ${await reply.text()}`);
    if (reply.status !== 200 && received > 0)
      throw new Error(`${reply.status}, but ${received} were counted`);
    // A collection of garbage is no slow body: that must be slow again.
    const msMax = msPerMb * Math.max(1, Math.ceil(body.length / 1e6));
    for (let again = 0; again < 2 && ms > msMax; again++) [, ms] = await took();
    if (ms > msMax) throw new Error(`it took ${ms} ms of processor time`);
    slowest = Math.max(slowest, ms);
  });
  await fc.assert(property, { numRuns: bodies, seed });
  const rows = await desk.kept();
  return {
    seed,
    bodies,
    answered,
    received: counts["received"]!,
    accepted: counts["accepted"]!,
    ignored: counts["ignored"]!,
    kept: rows["live"]! + rows["historical"]!,
    slowest_cpu_ms: Math.round(slowest),
  };
}

if (import.meta.main) {
  const [bodies = 100_000, seed] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await fuzz({ bodies, ...(seed !== undefined && { seed }) }))}\n`);
  await cleanUp();
}
