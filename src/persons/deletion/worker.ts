// The worker that finishes deletions of persons and projects, and splits, once the journals have passed them. One
// process at a time makes them all, since the orders of one request are carried out together.

import { openPass } from "../../storage/postgres/passes.ts";
import type { Uses } from "../../storage/services.ts";
import { intervalWorker } from "../../work/interval.ts";
import { personLimits } from "../limits.ts";
import { finishSplits } from "../split/store.ts";
import { finishDeletions, hideOrdered, isAnyDue, removeGoneProjects } from "./store.ts";

export function openDeletions(
  parts: Uses<"sql" | "clickhouse" | "clock" | "log"> & { isArchived?: boolean },
) {
  const { sql, clickhouse, clock, log, isArchived } = parts;
  const deletions = openPass({
    ...parts,
    id: "deletions of persons",
    name: "finishing deletions",
    pollMs: personLimits.deletionPollMs,
    due: () => isAnyDue(sql),
    pass: async (_, stopping) => {
      await finishSplits(sql, clickhouse, clock.now() * 1000);
      const persons = await finishDeletions(sql, clickhouse, stopping, isArchived);
      if (persons > 0) log.info("deleted persons permanently", { persons });
      const projects = await removeGoneProjects(sql, clickhouse);
      if (projects.length > 0) log.info("deleted the data of deleted projects", { projects });
      return true;
    },
  });
  const hide = async () => void (await hideOrdered(sql, clickhouse));
  return [deletions, intervalWorker(personLimits.hiddenPollMs, "hiding deleted persons", hide, log)] as const;
}
