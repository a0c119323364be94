// Runs questions and prints tables for people, or JSON.
//
//   bun bench/run.ts [--question NAME]… [--long | --tiny] [--rounds N] [--json]
//   bun bench/run.ts --question year [--events N] [--folder KEPT]
//   bun bench/run.ts --question hostile [--only REGEX_OF_NAMES_OF_ATTACKS]

import { parseArgs } from "node:util";
import { type Answer, linesOf, type Scale, scales } from "./answer.ts";

/**
 * The questions by name, in the order of the stages that they measure. Each loads its own files only, so that `compare.ts` asks
 * a ref whose `src` lacks what another question needs.
 */
export const questions: Record<string, (scale: Scale) => Promise<Answer>> = {
  scan: async (scale) => await (await import("./scan.ts")).scanBench(scale),
  block: async (scale) => await (await import("./block.ts")).blockBench(scale),
  journal: async (scale) => await (await import("./journal.ts")).journalBench(scale),
  insert: async (scale) => await (await import("./insert.ts")).insertBench(scale),
  visits: async (scale) => await (await import("./batch.ts")).visitsBench(scale),
  batch: async (scale) => await (await import("./batch.ts")).batchBench(scale),
  short_batch: async (scale) => await (await import("./batch.ts")).shortBatchBench(scale),
  import: async (scale) => await (await import("./import.ts")).importBench(scale),
  passes: async (scale) => await (await import("./passes.ts")).passesBench(scale),
  capture: async (scale) => await (await import("./capture.ts")).captureBench(scale),
  latency: async (scale) => await (await import("./latency.ts")).latencyBench(scale),
  sizes: async (scale) => await (await import("./sizes.ts")).sizesBench(scale),
  months: async (scale) => await (await import("./months.ts")).monthsBench(scale),
  projects: async (scale) => await (await import("./projects.ts")).projectsBench(scale),
  distinct_ids: async (scale) => await (await import("./distinct_ids.ts")).distinctIdsBench(scale),
  gzip: async (scale) => await (await import("./gzip.ts")).gzipBench(scale),
  adversarial: async (scale) => await (await import("./adversarial.ts")).adversarialBench(scale),
  hostile: async (scale) => await (await import("./attacked.ts")).attackedBench(scale),
  memory: async (scale) => await (await import("./memory.ts")).memoryBench(scale),
  persons: async (scale) => await (await import("./persons.ts")).personsBench(scale),
  management: async (scale) => await (await import("./management.ts")).managementBench(scale),
  consoles: async (scale) => await (await import("./consoles.ts")).consolesBench(scale),
  people: async (scale) => await (await import("./people.ts")).peopleBench(scale),
  trends: async (scale) => await (await import("./trends.ts")).trendsBench(scale),
  recordings: async (scale) => await (await import("./recordings.ts")).recordingsBench(scale),
  deliveries: async (scale) => await (await import("./deliveries.ts")).deliveriesBench(scale),
  exports: async (scale) => await (await import("./exports.ts")).exportsBench(scale),
  workers: async (scale) => await (await import("./workers.ts")).workersBench(scale),
  year: async (scale) => await (await import("./year.ts")).yearBench(scale),
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
      only: { type: "string" },
    },
  });
  const sized = values.long ? scales.long : values.tiny ? scales.tiny : scales.quick;
  const { alone, folder, only } = values;
  const events = values.events === undefined ? undefined : Number(values.events);
  const scale = { ...sized, rounds: Number(values.rounds ?? sized.rounds), alone, events, folder, only };
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
