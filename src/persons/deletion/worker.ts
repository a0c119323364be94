// The worker that finishes deletions of persons and projects, and splits, once the journals have passed them. No queue
// of leases: the orders of one request are carried out together, and every step may be repeated by any process.

import { personLimits } from "../limits.ts";
import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { tickingWorker } from "../../work/tick.ts";
import type { Worker } from "../../work/worker.ts";
import { finishSplits } from "../split/store.ts";
import { removeGoneProjects } from "./project_store.ts";
import { finishDeletions } from "./store.ts";

interface DeletionParts {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Log;
}

export function openDeletions({ sql, clickhouse, clock, log }: DeletionParts): Worker {
  const look = async () => {
    await finishSplits(sql, clickhouse, clock.now() * 1000);
    const persons = await finishDeletions(sql, clickhouse);
    if (persons > 0) log.info("deleted persons for good", { persons });
    const projects = await removeGoneProjects(sql, clickhouse);
    if (projects.length > 0) log.info("deleted the data of deleted projects", { projects });
  };
  return tickingWorker(personLimits.deletionLookMs, "finishing deletions", look, log);
}
