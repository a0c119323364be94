// How much memory does the server take while ClickHouse answers nothing and imports go on, and how much the whole tree
// while 64 uploads come at once? For the first, the engine's process is stopped by a signal, so that what was accepted
// stays in the journal.

import { type Answer, median, type Scale } from "./answer.ts";
import { load } from "./load.ts";
import { type Bodies, writeBodies } from "./material.ts";
import { forgetPeak, memoryOf, shareOfMemory, treeOf } from "./process_tree.ts";
import { emptyTables, type SluiceStand, storedIn, withSluice } from "./stand.ts";

interface Run {
  before: number;
  peak: number;
  unflushed: number;
}

const connections = 4;
/** Uploads at once in the second part, and how often memory is looked at, in ms. */
const uploadsAtOnce = 64;
const pollMs = 100;
/** What the whole tree may take then, in bytes. */
const treeBytesMax = 1_200_000_000;

export async function memoryBench(scale: Scale): Promise<Answer> {
  const alone = await stoppedEngine(scale);
  const uploads = await manyUploads(scale);
  return {
    ...alone,
    figures: [...alone.figures, ...uploads.figures],
    ratios: [...alone.ratios, ...uploads.ratios],
  };
}

/** Processes of the tree by what they are, and what each took, in bytes. */
type Taken = Record<"server" | "engine" | "postgres", number>;

/** All uploads begin at once; what is refused for lack of memory is sent again, as SDKs do, until all is stored. */
async function manyUploads({ rounds, bytes }: Scale): Promise<Pick<Answer, "figures" | "ratios">> {
  const options = { environment: { FLUSH_INTERVAL_MS: "1000" }, merges: true };
  const most = await withSluice(async (sluice, folder) => {
    const each = Math.min(bytes / 4, 19_800_000);
    const { pack } = writeBodies(folder, { count: 4, bytes: each });
    const runs: Taken[] = [];
    for (let round = 0; round < rounds; round++) runs.push(await peakOf(sluice, pack));
    return runs.toSorted((a, b) => sumOf(a) - sumOf(b)).at(-1)!;
  }, options);
  const mb = Object.entries(most).map(([name, taken]) => [`${name}, MB`, taken / 1e6] as const);
  return {
    figures: [{ name: `${uploadsAtOnce} uploads, Pss`, ...Object.fromEntries(mb) }],
    ratios: [
      {
        name: `most memory of the tree with ${uploadsAtOnce} uploads at once, MB`,
        value: sumOf(most) / 1e6,
        goal: treeBytesMax / 1e6,
      },
    ],
  };
}

async function peakOf(sluice: SluiceStand, bodies: Bodies["pack"]): Promise<Taken> {
  let most = takenBy(sluice);
  const watch = setInterval(() => {
    const taken = takenBy(sluice);
    if (sumOf(taken) > sumOf(most)) most = taken;
  }, pollMs);
  const sending = { path: "/batch/", bodies, requests: uploadsAtOnce, connections: uploadsAtOnce };
  const { failed } = await load({ url: sluice.url, ...sending, again: true });
  await sluice.rested(pollMs);
  await sluice.derived();
  clearInterval(watch);
  if (failed > 0) throw new Error(`${failed} bodies were refused`);
  return most;
}

function takenBy({ pid, enginePid }: SluiceStand): Taken {
  const taken: Taken = { server: 0, engine: 0, postgres: 0 };
  for (const one of treeOf([pid])) {
    const name = one === pid ? "server" : one === enginePid ? "engine" : "postgres";
    try {
      taken[name] += shareOfMemory(one);
    } catch {
      // The process has ended meanwhile.
    }
  }
  return taken;
}

function sumOf({ server, engine, postgres }: Taken): number {
  return server + engine + postgres;
}

async function stoppedEngine({ rounds, bytes }: Scale): Promise<Answer> {
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
