// The worker that removes deleted recordings: hidden from every query within seconds, gone from ClickHouse's files
// within a day.

import type { Clock } from "../core/clock.ts";
import { sessionRecordingLimits } from "./limits.ts";
import type { Log } from "../core/log.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type Ticking, every } from "../work/tick.ts";
import { type Deletion, listDeletions, noteHidden, noteRemoved, oldestHidden } from "./mark/store.ts";
import { findRemains, hideSessions, removeHidden } from "./store.ts";

export interface RemovalOptions {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Log;
}

export interface Removal {
  start(): void;
  /** Resolves when the running pass has ended. */
  close(): Promise<void>;
}

export function openRemoval(options: RemovalOptions): Removal {
  let ticking: Ticking | undefined;
  return {
    start: () => {
      const tick = async () => {
        await hideDeleted(options);
        await removeOld(options);
      };
      ticking = every(
        sessionRecordingLimits.recordingHideMs,
        "removing deleted recordings",
        tick,
        options.log,
      );
    },
    close: async () => await ticking?.close(),
  };
}

/** Hides deleted recordings and their late pieces. Resolves to the number of sessions that had any. */
export async function hideDeleted({ sql, clickhouse, clock, log }: RemovalOptions): Promise<number> {
  const deletions = await listDeletions(sql, {
    since: new Date(clock.now() - sessionRecordingLimits.recordingLateMsMax),
    checked: new Date(clock.now() - sessionRecordingLimits.recordingLateLookMs),
    limit: sessionRecordingLimits.recordingsHiddenAtOnceMax,
  });
  let hidden = 0;
  for (const [project_id, session_ids] of byProject(deletions)) {
    const remains = await findRemains(clickhouse, project_id, session_ids);
    if (remains.length > 0) {
      await hideSessions(clickhouse, project_id, remains);
      log.info("hid deleted recordings", { project_id, recordings: remains.length });
    }
    hidden += remains.length;
    // A recording without rows is recorded as hidden too, without a rewrite of files.
    await noteHidden(sql, project_id, session_ids, remains, new Date(clock.now()));
  }
  return hidden;
}

/** Rewrites files when the oldest hidden rows are old enough. Resolves to the number of deletions completed. */
export async function removeOld({ sql, clickhouse, clock, log }: RemovalOptions): Promise<number> {
  const oldest = await oldestHidden(sql);
  if (!oldest || oldest.getTime() > clock.now() - sessionRecordingLimits.recordingRemovalAgeMs) return 0;
  const before = new Date(clock.now());
  await removeHidden(clickhouse);
  const removed = await noteRemoved(sql, before, new Date(clock.now()));
  log.info("removed deleted recordings from the disk", { recordings: removed });
  return removed;
}

function byProject(deletions: readonly Deletion[]): Map<number, string[]> {
  const projects = new Map<number, string[]>();
  for (const { project_id, session_id } of deletions) {
    projects.set(project_id, [...(projects.get(project_id) ?? []), session_id]);
  }
  return projects;
}
