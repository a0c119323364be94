// How much memory does the server take while ClickHouse answers nothing and imports go on? The engine's process is
// stopped by a signal, so that what was accepted stays in the journal.

import { type Answer, type Scale, median } from "./answer.ts";
import { load } from "./load.ts";
import { type Bodies, writeBodies } from "./material.ts";
import { forgetPeak, memoryOf } from "./process_tree.ts";
import { type SluiceStand, emptyTables, storedIn, withSluice } from "./stand.ts";

interface Run {
  before: number;
  peak: number;
  unflushed: number;
}

const connections = 4;

export async function memoryBench({ rounds, bytes }: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const each = Math.min(bytes, 19_800_000);
    const bodies = writeBodies(folder, { count: Math.max(1, Math.floor((2 * bytes) / each)), bytes: each });
    const runs: Run[] = [];
    for (let round = 0; round < rounds; round++) runs.push(await withoutEngine(sluice, bodies));
    const allowed = (run: Run) => run.unflushed + connections * each;
    const of = (figure: (run: Run) => number) => median(runs.map(figure));
    const mb = (run: Run) => ({
      "RSS before, MB": run.before / 1e6,
      "most, MB": run.peak / 1e6,
      "unflushed, MB": run.unflushed / 1e6,
    });
    return {
      question: `memory of the server while ClickHouse stands still, ${connections} uploads in flight`,
      figures: runs.map((run, i) => ({ name: i === 0 ? "cold" : `warm ${i}`, ...mb(run) })),
      ratios: [
        {
          name: "growth ÷ (unflushed + one body per upload), cold",
          value: (runs[0]!.peak - runs[0]!.before) / allowed(runs[0]!),
          goal: 1.6,
          stretch: 1.3,
        },
        { name: "the same, median", value: of((run) => (run.peak - run.before) / allowed(run)) },
      ],
    };
  });
}

async function withoutEngine(sluice: SluiceStand, { pack, events }: Bodies): Promise<Run> {
  await emptyTables(sluice.stores);
  await Bun.sleep(300);
  forgetPeak(sluice.pid);
  const before = memoryOf(sluice.pid).now;
  process.kill(sluice.enginePid, "SIGSTOP");
  try {
    const order = { url: sluice.url, path: "/batch/", bodies: pack, requests: pack.ends.length, connections };
    const { failed } = await load(order);
    if (failed > 0) throw new Error(`${failed} bodies were refused`);
    const unflushed = await sluice.metric("sluice_journal_pending_bytes");
    return { before, peak: memoryOf(sluice.pid).peak, unflushed };
  } finally {
    process.kill(sluice.enginePid, "SIGCONT");
    await sluice.rested();
    const { count } = await storedIn(sluice.stores);
    if (count !== String(events)) process.stderr.write(`${events} events were sent, ${count} are stored\n`);
  }
}
