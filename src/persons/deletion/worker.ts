// The worker that finishes deletions of persons and projects, and splits, once the journals have passed them. No queue
// of leases: the orders of one request are carried out together, and every step may be repeated by any process.

import type { Uses } from "../../storage/services.ts";
import { intervalWorker } from "../../work/interval.ts";
import type { Worker } from "../../work/worker.ts";
import { personLimits } from "../limits.ts";
import { finishSplits } from "../split/store.ts";
import { hideOrdered } from "./hidden_store.ts";
import { finishDeletions, removeGoneProjects } from "./store.ts";

type DeletionParts = Uses<"sql" | "clickhouse" | "clock" | "log">;

export function openDeletions({ sql, clickhouse, clock, log }: DeletionParts): Worker[] {
  const poll = async () => {
    await finishSplits(sql, clickhouse, clock.now() * 1000);
    const persons = await finishDeletions(sql, clickhouse);
    if (persons > 0) log.info("deleted persons permanently", { persons });
    const projects = await removeGoneProjects(sql, clickhouse);
    if (projects.length > 0) log.info("deleted the data of deleted projects", { projects });
  };
  const hide = async () => void (await hideOrdered(sql, clickhouse));
  return [
    intervalWorker(personLimits.deletionPollMs, "finishing deletions", poll, log),
    intervalWorker(personLimits.hiddenPollMs, "hiding deleted persons", hide, log),
  ];
}
