// Runs questions and prints tables for people, or JSON.
//
//   bun bench/run.ts [--question NAME]… [--long | --tiny] [--rounds N] [--json]
//   bun bench/run.ts --question year [--events N] [--folder KEPT]

import { parseArgs } from "node:util";
import { type Answer, type Scale, linesOf, scales } from "./answer.ts";
import { adversarialBench } from "./adversarial.ts";
import { attackedBench } from "./attacked.ts";
import { batchBench } from "./batch.ts";
import { blockBench } from "./block.ts";
import { captureBench } from "./capture.ts";
import { consolesBench } from "./consoles.ts";
import { deliveriesBench } from "./deliveries.ts";
import { distinctIdsBench } from "./distinct_ids.ts";
import { exportsBench } from "./exports.ts";
import { gzipBench } from "./gzip.ts";
import { insertBench } from "./insert.ts";
import { journalBench } from "./journal.ts";
import { latencyBench } from "./latency.ts";
import { managementBench } from "./management.ts";
import { memoryBench } from "./memory.ts";
import { monthsBench } from "./months.ts";
import { personsBench } from "./persons.ts";
import { recordingsBench } from "./recordings.ts";
import { projectsBench } from "./projects.ts";
import { scanBench } from "./scan.ts";
import { sizesBench } from "./sizes.ts";
import { trendsBench } from "./trends.ts";
import { workersBench } from "./workers.ts";
import { yearBench } from "./year.ts";

/** The questions by name, in the order of the stages that they measure. */
export const questions: Record<string, (scale: Scale) => Promise<Answer>> = {
  scan: scanBench,
  block: blockBench,
  journal: journalBench,
  insert: insertBench,
  batch: batchBench,
  capture: captureBench,
  latency: latencyBench,
  sizes: sizesBench,
  months: monthsBench,
  projects: projectsBench,
  distinct_ids: distinctIdsBench,
  gzip: gzipBench,
  adversarial: adversarialBench,
  hostile: attackedBench,
  memory: memoryBench,
  persons: personsBench,
  management: managementBench,
  consoles: consolesBench,
  trends: trendsBench,
  recordings: recordingsBench,
  deliveries: deliveriesBench,
  exports: exportsBench,
  workers: workersBench,
  year: yearBench,
};

/** Asked only by name: making its events takes a quarter of an hour. */
const byName = new Set(["year"]);

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      question: { type: "string", multiple: true },
      long: { type: "boolean", default: false },
      tiny: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      alone: { type: "boolean", default: false },
      rounds: { type: "string" },
      events: { type: "string" },
      folder: { type: "string" },
    },
  });
  const sized = values.long ? scales.long : values.tiny ? scales.tiny : scales.quick;
  const { alone, folder } = values;
  const events = values.events === undefined ? undefined : Number(values.events);
  const scale = { ...sized, rounds: Number(values.rounds ?? sized.rounds), alone, events, folder };
  const answers: Answer[] = [];
  for (const name of values.question ?? Object.keys(questions).filter((one) => !byName.has(one))) {
    const question = questions[name];
    if (!question) throw new Error(`no question is called ${name}: ${Object.keys(questions).join(", ")}`);
    const answer = await question(scale);
    answers.push(answer);
    if (!values.json) process.stdout.write(linesOf(answer));
  }
  if (values.json) process.stdout.write(`${JSON.stringify(answers)}\n`);
}
