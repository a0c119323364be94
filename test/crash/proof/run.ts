// The proof: `bun run proof` in its short form, `bun run proof:long` in its long one, either with the names of parts;
// `--share=0.1` does a tenth of the long one.
// Prints one line for each part; ends with 1 when an event was lost, doubled, invented or altered.

import { resolve } from "node:path";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { answerWrongly, outlast } from "./answers.ts";
import { type CallsResult, failCalls, hasStrace, killAtCalls } from "./calls.ts";
import { damageEverywhere } from "./damage.ts";
import { type Verdict, judge } from "./judge.ts";
import { ProofLedger } from "./ledger.ts";
import { type Place, openPlace } from "./place.ts";
import { openProxy } from "./proxy.ts";
import { addressOf, killAtRandom } from "./kills.ts";
import { corpusCount, hold, smuggle } from "./sockets.ts";

interface Part {
  /** Resolves to what is printed of it. */
  run(size: Size): Promise<Outcome>;
}

interface Size {
  isLong: boolean;
  /** Of the long form. */
  share: number;
}

interface Outcome {
  cycles: number | string;
  verdict: Partial<Verdict> & Pick<Verdict, "isSound">;
  /** What else was found out. */
  notes?: string[];
}

const parts: Record<string, Part> = {
  kills: {
    run: async ({ isLong, share }) => {
      const place = await openPlace();
      const ledger = new ProofLedger(makeFolder());
      const options = isLong
        ? { cycles: 1000 * share, events: 10_000_000 * share }
        : { cycles: 12, events: 60_000 };
      const cycles = await killAtRandom(place, ledger, options);
      return { cycles, verdict: await judge(place, ledger) };
    },
  },
  calls: {
    run: ({ isLong }) => underStrace((place, ledger) => killAtCalls(place, ledger, isLong ? 60 : 4)),
  },
  disk: {
    run: ({ isLong }) => underStrace((place, ledger) => failCalls(place, ledger, isLong)),
  },
  answers: {
    run: async ({ isLong, share }) => {
      const proxy = await openProxy();
      const place = await openPlace({}, proxy.url);
      const ledger = new ProofLedger(makeFolder());
      const strikes = isLong ? 2000 * share : 60;
      await answerWrongly(place, ledger, proxy, strikes);
      const notes = [[...proxy.struck].map(([way, times]) => `${way} ${times}`).join(" · ")];
      return { cycles: strikes, verdict: await judge(place, ledger), notes };
    },
  },
  outage: {
    run: async ({ isLong, share }) => {
      const proxy = await openProxy();
      const place = await openPlace({}, proxy.url);
      const ledger = new ProofLedger(makeFolder());
      const length = isLong
        ? { seconds: 1800 * share, eventsPerSecond: 10_000 }
        : { seconds: 10, eventsPerSecond: 2000 };
      const note = await outlast(place, ledger, proxy, length);
      return { cycles: 1, verdict: await judge(place, ledger), notes: [note] };
    },
  },
  damage: {
    run: async () => {
      const { cases, told, problems, ...verdict } = await damageEverywhere();
      return {
        cycles: cases,
        verdict,
        notes: [`${told} rows could not be read and were told`, ...problems.slice(0, 20)],
      };
    },
  },
  sockets: { run: bySockets },
  simulation: { run: bySimulation },
};

/** How much more memory the server may hold at the end than once it was warm. */
const growthMax = 1.1;

async function bySockets({ isLong, share }: Size): Promise<Outcome> {
  const place = await openPlace();
  const ledger = new ProofLedger(makeFolder());
  const size = isLong
    ? { idle: 2000, slow: 200, seconds: 3600 * share }
    : { idle: 2000, slow: 100, seconds: 24 };
  const { server, ...held } = await hold(place, ledger, size);
  const smuggled = await smuggle(await addressOf(server), ledger);
  await server.finish();
  const verdict = await judge(place, ledger);
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  const notes = [
    `${corpusCount} requests that readers part differently, ${smuggled.length} with a hidden one answered`,
    ...smuggled,
    `${size.idle} idle and ${size.slow} slow connections; the server closed ${held.idleClosed} and ${held.slowClosed}, which were opened again`,
    `RSS ${megabytes(held.warmBytes)} warm, ${megabytes(held.endBytes)} after ${size.seconds} s`,
  ];
  // Of a few seconds little can be said: the heap of a start is still growing.
  const isFlat = !isLong || held.endBytes <= held.warmBytes * growthMax;
  const isSound = verdict.isSound && smuggled.length === 0 && isFlat;
  return { cycles: corpusCount, verdict: { ...verdict, isSound }, notes };
}

/** The seeds of simulation/run.ts, in a process of their own: nothing else may live on its clock. */
async function bySimulation({ isLong, share }: Size): Promise<Outcome> {
  const seeds = isLong ? 1_000_000 * share : 10_000;
  const child = Bun.spawn(
    [process.execPath, resolve(import.meta.dir, "../simulation/run.ts"), "--seeds", String(seeds)],
    { stdout: "pipe", stderr: "inherit" },
  );
  const notes = (await new Response(child.stdout).text()).trimEnd().split("\n");
  const isSound = (await child.exited) === 0;
  const figure = (name: string): number => Number(new RegExp(` ${name} (\\d+)`).exec(notes.at(-1)!)?.[1]);
  const [acknowledged, stored, lost] = [figure("acknowledged"), figure("stored"), figure("lost")];
  const verdict = {
    acknowledged,
    stored,
    lost,
    doubled: figure("doubled"),
    invented: figure("invented"),
    isSound,
  };
  return { cycles: `${seeds} seeds`, verdict, notes: notes.slice(0, -1) };
}

async function underStrace(
  strike: (place: Place, ledger: ProofLedger) => Promise<CallsResult>,
): Promise<Outcome> {
  if (!hasStrace()) return { cycles: "skipped: strace is not installed", verdict: { isSound: true } };
  const place = await openPlace();
  const ledger = new ProofLedger(makeFolder());
  const { cycles, struck } = await strike(place, ledger);
  const notes = [...struck].map(([call, times]) => `${call} ${times}`).toSorted();
  return { cycles, verdict: await judge(place, ledger), notes: [notes.join(", ")] };
}

const columns = [
  "acknowledged",
  "stored",
  "lost",
  "doubled",
  "invented",
  "altered",
  "persons",
  "exports",
] as const;

async function main(args: string[]): Promise<boolean> {
  const share = Number(args.find((one) => one.startsWith("--share="))?.slice("--share=".length) ?? 1);
  const size: Size = { isLong: args.includes("--long"), share };
  const named = args.filter((one) => !one.startsWith("--"));
  const unknown = named.filter((name) => !(name in parts));
  if (unknown.length > 0) throw new Error(`no part ${unknown.join(", ")}: ${Object.keys(parts).join(", ")}`);
  let isSound = true;
  for (const [name, part] of Object.entries(parts)) {
    if (named.length > 0 && !named.includes(name)) continue;
    const started = performance.now();
    try {
      const { cycles, verdict, notes = [] } = await part.run(size);
      isSound &&= verdict.isSound;
      const figures = columns.flatMap((column) => {
        const value = verdict[column];
        return value === undefined ? [] : [`${column} ${value}`];
      });
      const seconds = Math.round((performance.now() - started) / 1000);
      const end = verdict.isSound ? "holds" : "DOES NOT HOLD";
      console.log([`${name}: ${end}`, `cycles ${cycles}`, ...figures, `${seconds} s`].join(" · "));
      for (const note of notes) console.log(`  ${note}`);
    } catch (thrown) {
      isSound = false;
      console.log(`${name}: FAILED · ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
    }
    await cleanUp();
  }
  return isSound;
}

process.exit((await main(Bun.argv.slice(2))) ? 0 : 1);
