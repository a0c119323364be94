// Deletes recordings, and the worker that removes them: they are hidden from every query at once, and gone from
// ClickHouse's files within a day. One process at a time makes a pass. It also lists recordings of no page.

import { toReads } from "../storage/clickhouse/query_options.ts";
import { openPass } from "../storage/postgres/passes.ts";
import type { Uses } from "../storage/services.ts";
import { sessionRecordingLimits } from "./limits.ts";
import { excludeSessions, findRemains, hideSessions, removeHidden } from "./removal_store.ts";
import { warnOfBlank } from "./store.ts";
import {
  hasOldHidden,
  isRemovalDue,
  listDeletions,
  markDeleted,
  recordHidden,
  recordRemoved,
} from "./view_store.ts";

export type RemovalOptions = Uses<"sql" | "clickhouse" | "clock" | "log">;

export function openRemoval(options: RemovalOptions) {
  return openPass({
    ...options,
    id: "deletions of recordings",
    name: "removing deleted recordings",
    pollMs: sessionRecordingLimits.recordingHideMs,
    due: (now) => isRemovalDue(options.sql, now),
    pass: async () => {
      await warnOfBlank(options.clickhouse, options.clock.now());
      await hideDeleted(options);
      await removeOld(options);
      return true;
    },
  });
}

/** Resolves, to the ids that were not deleted before, when no reader shows these recordings any more. */
export async function deleteRecordings(
  { sql, clickhouse, clock }: Omit<RemovalOptions, "log">,
  project_id: number,
  user_id: number,
  ids: readonly string[],
): Promise<string[]> {
  const deleted = await markDeleted(sql, project_id, ids, { user_id, at: new Date(clock.now()) });
  // A pass does it again: an engine that does not answer only delays it.
  if (deleted.length > 0) await excludeSessions(toReads(clickhouse, project_id), deleted).catch(() => {});
  return deleted;
}

/** Hides deleted recordings and their late pieces. Resolves to the number of sessions that had any. */
export async function hideDeleted({ sql, clickhouse, clock, log }: RemovalOptions): Promise<number> {
  let hidden = 0;
  const deletions = await listDeletions(sql, clock.now());
  for (const [project_id, projectDeletions] of Map.groupBy(deletions, (deletion) => deletion.project_id)) {
    const reads = toReads(clickhouse, project_id);
    const session_ids = projectDeletions.map(({ session_id }) => session_id);
    await excludeSessions(reads, session_ids);
    const remains = await findRemains(reads, session_ids);
    if (remains.length > 0) {
      await hideSessions(reads, remains);
      log.info("hid deleted recordings", { project_id, recordings: remains.length });
    }
    hidden += remains.length;
    // A recording without rows counts as hidden, too, without a rewrite of files.
    await recordHidden(sql, project_id, session_ids, remains, new Date(clock.now()));
  }
  return hidden;
}

/** Rewrites files when the oldest hidden rows are old enough. Resolves to the number of deletions completed. */
export async function removeOld({ sql, clickhouse, clock, log }: RemovalOptions): Promise<number> {
  if (!(await hasOldHidden(sql, clock.now()))) return 0;
  const before = new Date(clock.now());
  await removeHidden(clickhouse);
  const removed = await recordRemoved(sql, before, new Date(clock.now()));
  log.info("removed deleted recordings from the disk", { recordings: removed });
  return removed;
}
