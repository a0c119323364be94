// Is one commit faster than another? Both get a worktree of their own with this folder's bench in it, and take turns.
//
//   bun bench/compare.ts REF_A REF_B [--question NAME]… [--rounds N] [--own-bench] [--alone] [--long] [--json]
//
// --alone: batch and capture ask Sluice only, and none of the servers beside it.
// --own-bench: each ref is asked by its own bench folder, for a ref whose src has its files elsewhere. Its questions must
// mean the same.

import { cpSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Answer, linesOf, median } from "./answer.ts";
import { makeFolder, removeFolder } from "./stand.ts";

const root = resolve(import.meta.dir, "..");

interface Comparison {
  refs: [string, string];
  questions: string[];
  rounds: number;
  /** Each ref keeps its own bench folder. */
  ownBench: boolean;
  /** Passed on to `run.ts`, e.g. --long. */
  flags: string[];
}

/** Every figure of both refs, as medians of the rounds, and their quotients. */
export async function compare({ refs, questions, rounds, ownBench, flags }: Comparison): Promise<Answer[]> {
  const folder = makeFolder();
  const trees = refs.map((_, i) => join(folder, String(i)));
  try {
    for (const [i, tree] of trees.entries()) await plant(refs[i]!, tree, ownBench);
    const answers: Answer[][][] = trees.map(() => []);
    const asked = questions.flatMap((question) => ["--question", question]);
    for (let round = 0; round < rounds; round++) {
      // Whoever comes second pays for what the first left to the disk: the two change places every round.
      for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const command = [process.execPath, "bench/run.ts", "--json", "--rounds", "1", ...asked, ...flags];
        answers[i]!.push(JSON.parse(await output(command, trees[i]!)) as Answer[]);
      }
    }
    return questions.map((_, at) =>
      merged(
        refs,
        answers.map((all) => all.map((one) => one[at]!)),
      ),
    );
  } finally {
    for (const tree of trees)
      await output(["git", "worktree", "remove", "--force", tree], root).catch(() => {});
    removeFolder(folder);
  }
}

async function plant(ref: string, tree: string, ownBench: boolean): Promise<void> {
  await output(["git", "worktree", "add", "--detach", tree, ref], root);
  if (!ownBench) {
    rmSync(join(tree, "bench"), { recursive: true, force: true });
    cpSync(import.meta.dir, join(tree, "bench"), { recursive: true });
  }
  await output([process.execPath, "install", "--frozen-lockfile"], tree);
}

async function output(command: string[], cwd: string): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [text, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${complaint}`);
  return text;
}

/** `answers`: those of each ref, round by round, to one question. Rows that only one ref's bench has are left out. */
function merged(refs: [string, string], answers: Answer[][]): Answer {
  const first = answers[0]![0]!;
  const rows = first.figures.flatMap(({ name, ...row }) =>
    Object.keys(row)
      .filter((head) => typeof row[head] === "number")
      .map((head) => {
        const [a, b] = answers.map((all) =>
          median(all.map(({ figures }) => Number(figures.find((other) => other.name === name)?.[head]))),
        ) as [number, number];
        return { name: `${name}: ${head}`, [`A ${refs[0]}`]: a, [`B ${refs[1]}`]: b, "B ÷ A": b / a };
      })
      .filter((compared) => !Number.isNaN(compared["B ÷ A"])),
  );
  return { question: first.question, figures: rows, ratios: [] };
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      question: { type: "string", multiple: true, default: ["batch"] },
      rounds: { type: "string", default: "3" },
      "own-bench": { type: "boolean", default: false },
      long: { type: "boolean", default: false },
      tiny: { type: "boolean", default: false },
      alone: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const [a, b, ...more] = positionals;
  if (a === undefined || b === undefined || more.length > 0) throw new Error("expected two refs");
  const answers = await compare({
    refs: [a, b],
    questions: values.question,
    rounds: Number(values.rounds),
    ownBench: values["own-bench"],
    flags: (["long", "tiny", "alone"] as const).filter((flag) => values[flag]).map((flag) => `--${flag}`),
  });
  process.stdout.write(values.json ? `${JSON.stringify(answers)}\n` : answers.map(linesOf).join(""));
}
