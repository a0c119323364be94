// Runs questions and prints tables for people, or JSON.
//
//   bun bench/run.ts [--question NAME] [--long | --tiny] [--json]

import { parseArgs } from "node:util";
import { type Answer, type Scale, linesOf, scales } from "./answer.ts";
import { batchBench } from "./batch.ts";
import { captureBench } from "./capture.ts";
import { distinctIdsBench } from "./distinct_ids.ts";
import { gzipBench } from "./gzip.ts";
import { latencyBench } from "./latency.ts";
import { monthsBench } from "./months.ts";
import { projectsBench } from "./projects.ts";
import { sizesBench } from "./sizes.ts";

/** Each by its name; in the order of the way that bytes go. */
export const questions: Record<string, (scale: Scale) => Promise<Answer>> = {
  batch: batchBench,
  capture: captureBench,
  latency: latencyBench,
  sizes: sizesBench,
  months: monthsBench,
  projects: projectsBench,
  distinct_ids: distinctIdsBench,
  gzip: gzipBench,
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      question: { type: "string", multiple: true },
      long: { type: "boolean", default: false },
      tiny: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const scale = values.long ? scales.long : values.tiny ? scales.tiny : scales.quick;
  const answers: Answer[] = [];
  for (const name of values.question ?? Object.keys(questions)) {
    const question = questions[name];
    if (!question) throw new Error(`no question is called ${name}: ${Object.keys(questions).join(", ")}`);
    const answer = await question(scale);
    answers.push(answer);
    if (!values.json) process.stdout.write(linesOf(answer));
  }
  if (values.json) process.stdout.write(`${JSON.stringify(answers)}\n`);
}
