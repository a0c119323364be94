// The proof: `bun run proof` in its short form, `bun run proof:long` in its long one, either with the names of parts;
// `--share=0.1` does a tenth of the long one, `--minutes=30` ends parts that count cycles after so long, to be judged,
// `--at-once=2` runs two parts at a time, each in a process of its own; `--package=FOLDER` proves the package that
// `npm install` has put there (damage and simulation are of the checkout's sources).
// Prints one line for each part; ends with 1 when an event was lost, doubled, invented or altered.

import { resolve } from "node:path";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { answerWrongly, outlast } from "./answers.ts";
import { type CallsResult, canTrace, failCalls, killAtCalls } from "./calls.ts";
import { damageEverywhere } from "./damage.ts";
import { hangEngine } from "./hangs.ts";
import { judge, type Verdict } from "./judge.ts";
import { addressOf, killAtRandom } from "./kills.ts";
import { ProofLedger } from "./ledger.ts";
import { openPlace, type Place, provePackage } from "./place.ts";
import { Progress } from "./progress.ts";
import { openProxy } from "./proxy.ts";
import { corpusCount, hold, smuggle } from "./sockets.ts";

interface Part {
  /** Resolves to what is printed of it. */
  run(size: Size): Promise<Outcome>;
}

interface Size {
  isLong: boolean;
  /** Of the long form. */
  share: number;
  progress: Progress;
}

interface Outcome {
  /** A text says why the part was skipped, or what was counted. */
  cycles: number | string;
  isSkipped?: boolean;
  verdict: Partial<Verdict> & Pick<Verdict, "isSound">;
  /** What else was found out. */
  notes?: string[];
}

/** The longest first: what is left alone at the end is short. */
const parts: Record<string, Part> = {
  hangs: {
    run: async ({ isLong, progress }) => {
      const ledger = new ProofLedger(makeFolder());
      const { restarts, verdict } = await hangEngine(ledger, isLong ? 10 : 2, progress);
      const isSound = verdict.isSound && restarts > 0;
      return { cycles: restarts, verdict: { ...verdict, isSound } };
    },
  },
  disk: {
    run: ({ isLong, progress }) => underStrace((place, ledger) => failCalls(place, ledger, isLong, progress)),
  },
  calls: {
    run: ({ isLong, progress }) =>
      underStrace((place, ledger) => killAtCalls(place, ledger, isLong ? 60 : 4, progress)),
  },
  simulation: { run: bySimulation },
  sockets: { run: bySockets },
  kills: {
    run: async ({ isLong, share, progress }) => {
      const place = await openPlace();
      const ledger = new ProofLedger(makeFolder());
      const size = isLong
        ? { cycles: 1000 * share, events: 10_000_000 * share }
        : { cycles: 12, events: 60_000 };
      const cycles = await killAtRandom(place, ledger, { ...size, progress });
      return { cycles, verdict: await judge(place, ledger) };
    },
  },
  answers: {
    run: async ({ isLong, share, progress }) => {
      const proxy = await openProxy();
      const place = await openPlace({}, proxy.url);
      const ledger = new ProofLedger(makeFolder());
      const strikes = isLong ? 2000 * share : 60;
      const cycles = await answerWrongly(place, ledger, proxy, strikes, progress);
      const notes = [[...proxy.struck].map(([way, times]) => `${way} ${times}`).join(" · ")];
      return { cycles, verdict: await judge(place, ledger), notes };
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
      // Printed before the judge, which may take longer.
      console.log(`  ${await outlast(place, ledger, proxy, length)}`);
      return { cycles: 1, verdict: await judge(place, ledger) };
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
};

/** How much more memory the server may hold at the end than once it was warm. */
const growthMax = 1.1;

async function bySockets({ isLong, share, progress }: Size): Promise<Outcome> {
  const place = await openPlace();
  const ledger = new ProofLedger(makeFolder());
  const size = isLong
    ? { idle: 2000, slow: 200, seconds: 3600 * share, pauseMs: 200 }
    : { idle: 2000, slow: 100, seconds: 24, pauseMs: 20 };
  const { server, ...held } = await hold(place, ledger, { ...size, progress });
  const smuggled = await smuggle(await addressOf(server), ledger);
  await server.finish();
  const verdict = await judge(place, ledger);
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  const notes = [
    `${corpusCount} requests that readers part differently, ${smuggled.length} with a hidden one answered`,
    ...smuggled,
    `${size.idle} idle and ${size.slow} slow connections; the server closed ${held.idleClosed} and ${held.slowClosed}, which were opened again`,
    `${held.reads} reads answered beside them`,
    `RSS ${megabytes(held.warmBytes)} warm, ${megabytes(held.endBytes)} after ${size.seconds} s, never above ${megabytes(held.mostBytes)}`,
  ];
  // Of a few seconds little can be said: the heap of a start is still growing.
  const isFlat = !isLong || held.endBytes <= held.warmBytes * growthMax;
  const isSound = verdict.isSound && smuggled.length === 0 && isFlat;
  return { cycles: corpusCount, verdict: { ...verdict, isSound }, notes };
}

/** The seeds of simulation/run.ts, in a process of their own: nothing else may live on its clock. */
async function bySimulation({ isLong, share }: Size): Promise<Outcome> {
  const seeds = isLong ? 1_000_000 * share : 2000;
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
  if (!canTrace()) {
    const cycles = "none: strace is not installed, or may not trace";
    return { cycles, isSkipped: true, verdict: { isSound: true } };
  }
  const place = await openPlace();
  const ledger = new ProofLedger(makeFolder());
  const { cycles, struck } = await strike(place, ledger);
  const notes = [...struck].map(([call, times]) => `${call} ${times}`).toSorted();
  const verdict = await judge(place, ledger);
  const isSound = verdict.isSound && struck.size > 0;
  return { cycles, verdict: { ...verdict, isSound }, notes: [notes.join(", ")] };
}

const columns = [
  "acknowledged",
  "stored",
  "lost",
  "doubled",
  "invented",
  "altered",
  "persons",
  "sessions",
  "exports",
] as const;

function textOf(args: string[], name: string): string | undefined {
  return args.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
}

function numberOf(args: string[], name: string): number | undefined {
  const text = textOf(args, name);
  if (text === undefined) return undefined;
  if (!(Number(text) > 0)) throw new Error(`--${name} is a number above 0, not ${text}`);
  return Number(text);
}

async function main(args: string[]): Promise<boolean> {
  const named = args.filter((one) => !one.startsWith("--"));
  const unknown = named.filter((name) => !(name in parts));
  if (unknown.length > 0) throw new Error(`no part ${unknown.join(", ")}: ${Object.keys(parts).join(", ")}`);
  const names = Object.keys(parts).filter((name) => named.length === 0 || named.includes(name));
  const folder = textOf(args, "package");
  if (folder !== undefined) provePackage(folder);
  const atOnce = numberOf(args, "at-once") ?? 1;
  if (atOnce > 1) return await runApart(names, atOnce, args);
  const sound: boolean[] = [];
  for (const name of names) {
    sound.push(await runPart(name, args));
    await cleanUp();
  }
  return sound.every(Boolean);
}

/** Each part in a process of its own, so many at a time. What a part says comes in one piece. */
async function runApart(names: string[], atOnce: number, args: string[]): Promise<boolean> {
  const options = args.filter((one) => one.startsWith("--") && !one.startsWith("--at-once"));
  const waiting = [...names];
  let isSound = true;
  const runNext = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const command = [process.execPath, import.meta.path, name, ...options];
      const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
      process.stdout.write(await new Response(child.stdout).text());
      if ((await child.exited) !== 0) isSound = false;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return isSound;
}

/** Prints what became of one part; resolves to whether it holds. */
async function runPart(name: string, args: string[]): Promise<boolean> {
  const started = performance.now();
  const progress = new Progress(name, numberOf(args, "minutes"));
  const size = { isLong: args.includes("--long"), share: numberOf(args, "share") ?? 1, progress };
  try {
    const { cycles, isSkipped = false, verdict, notes = [] } = await parts[name]!.run(size);
    const figures = columns.flatMap((column) => {
      const value = verdict[column];
      return value === undefined ? [] : [`${column} ${value}`];
    });
    const seconds = Math.round((performance.now() - started) / 1000);
    const end = isSkipped ? "skipped" : verdict.isSound ? "holds" : "DOES NOT HOLD";
    console.log([`${name}: ${end}`, `cycles ${cycles}`, ...figures, `${seconds} s`].join(" · "));
    for (const note of notes) console.log(`  ${note}`);
    return verdict.isSound;
  } catch (thrown) {
    console.log(`${name}: FAILED · ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
    return false;
  }
}

process.exit((await main(Bun.argv.slice(2))) ? 0 : 1);
