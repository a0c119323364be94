// The worker that finishes deletions of persons and projects, once the journals have passed them.

import { personLimits } from "../limits.ts";
import type { Log } from "../../core/log.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { type Ticking, every } from "../../work/tick.ts";
import { removeGoneProjects } from "./project_store.ts";
import { finishDeletions } from "./store.ts";

export function openDeletions({ sql, clickhouse, log }: { sql: Postgres; clickhouse: ClickHouse; log: Log }) {
  let ticking: Ticking | undefined;
  const look = async () => {
    const persons = await finishDeletions(sql, clickhouse);
    if (persons > 0) log.info("deleted persons for good", { persons });
    const projects = await removeGoneProjects(sql, clickhouse);
    if (projects.length > 0) log.info("deleted the data of deleted projects", { projects });
  };
  return {
    start: () => void (ticking = every(personLimits.deletionLookMs, "finishing deletions", look, log)),
    close: async () => await ticking?.close(),
  };
}
