// One project's recordings for a user: without deleted ones, with their persons, and whether they were viewed.

import { limits } from "../core/limits.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { formatStored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import type { Uses } from "../storage/services.ts";
import type { CountCache } from "../work/count_cache.ts";
import { mapInSlices } from "../work/slices.ts";
import { sessionRecordingLimits } from "./limits.ts";
import type { RecordingFilter } from "./listing/filter_store.ts";
import { countRecordings, listRecordings } from "./listing/store.ts";
import type { Recording } from "./model.ts";
import { prefetchPersons, refuseLarge, toPerson } from "./recording_persons.ts";
import { findRecordings, type RecordingRow } from "./store.ts";
import { findDeleted, findViewed, listLeftOut, listViewed } from "./view_store.ts";

export type RecordingReaderOptions = Uses<"sql" | "clickhouse" | "clock">;

interface Viewer {
  project_id: number;
  user_id: number;
}

export const nowhere = "Recording not found";

/** @throws Fault not_found for an id that no recorder assigns. */
function readSessionId(id: string): string {
  if (id === "" || id.length > limits.sessionIdCharsMax || id.includes("\0") || !id.isWellFormed())
    throw notFound(nowhere);
  return id;
}

async function findWithDeleted(
  { sql, clickhouse }: RecordingReaderOptions,
  project_id: number,
  session_ids: readonly string[],
): Promise<[RecordingRow[], Set<string>]> {
  return await Promise.all([
    findRecordings(toReads(clickhouse, project_id), session_ids),
    findDeleted(sql, project_id, session_ids),
  ]);
}

/** The recordings of these sessions, without deleted ones. */
export async function existing(
  options: RecordingReaderOptions,
  project_id: number,
  session_ids: readonly string[],
): Promise<RecordingRow[]> {
  const [rows, deleted] = await findWithDeleted(options, project_id, session_ids);
  return rows.filter(({ session_id }) => !deleted.has(session_id));
}

/** The recording's row. @throws Fault not_found when it does not exist or is deleted. */
export async function getRow(options: RecordingReaderOptions, project_id: number, id: string) {
  return present(await findRow(options, project_id, id), nowhere);
}

/**
 * The recording's row; undefined for a session without pieces, which may still arrive.
 * @throws Fault not_found when it is deleted or the id is invalid.
 */
export async function findRow(options: RecordingReaderOptions, project_id: number, id: string) {
  const [[row], deleted] = await findWithDeleted(options, project_id, [readSessionId(id)]);
  if (deleted.size > 0) throw notFound(nowhere);
  return row;
}

/** The recording as replies show it. `known` is its row, if already read. @throws Fault not_found as in getRow. */
export async function getRecording(
  options: RecordingReaderOptions,
  viewer: Viewer,
  id: string,
  known?: RecordingRow,
): Promise<Recording> {
  const row = known ?? (await getRow(options, viewer.project_id, id));
  return present((await shownRecordings(options, viewer, [row]))[0], nowhere);
}

/** A filter with its times resolved; `written` has the dates as in the query, a key under which counts are cached. */
interface WantedRecordings extends Omit<RecordingFilter, "without"> {
  written: string;
  /** Whose viewed recordings are left out; none by default. */
  unviewedBy?: (typeof viewers)[number] | undefined;
}

/** PostHog's words; `true` and `false` were its first ones. */
export const viewers = ["current-user", "any-user", "true", "false"] as const;

/** A page of the recordings that match, and how many there are. @throws Fault as shownRecordings(). */
export async function listPage(
  options: RecordingReaderOptions & { counts: CountCache },
  viewer: Viewer,
  { written, unviewedBy = "false", ...selection }: WantedRecordings,
  page: Page,
): Promise<{ count: number; recordings: Recording[] }> {
  const { sql, clickhouse, clock, counts } = options;
  const { project_id } = viewer;
  const reads = toReads(clickhouse, project_id);
  const viewed =
    unviewedBy === "false"
      ? []
      : await listViewed(sql, project_id, unviewedBy === "any-user" ? null : viewer.user_id);
  const without = [...(await listLeftOut(sql, project_id, clock.now())), ...viewed];
  const filter = { ...selection, without, now: clock.now() };
  const readRecordings = async () => {
    const persons = prefetchPersons(reads);
    const rows = await listRecordings(reads, filter, page, persons.request);
    const recordings = await shownRecordings(options, viewer, rows, persons);
    const { session_ids, order } = selection;
    // Named ones of one page keep the order of their names, as at PostHog.
    if (!session_ids || order || page.offset > 0 || session_ids.length > page.limit) return recordings;
    return recordings.toSorted((a, b) => session_ids.indexOf(a.id) - session_ids.indexOf(b.id));
  };
  const { distinct_ids, person_main_id, session_ids, conditions } = selection;
  const counted = JSON.stringify([written, distinct_ids, person_main_id, session_ids, conditions, without]);
  const [count, recordings] = await Promise.all([
    counts.count(project_id, counted, () => countRecordings(reads, filter)),
    readRecordings(),
  ]);
  return { count, recordings };
}

/**
 * Rows as replies show them, without recordings deleted in the meantime.
 * @throws Fault max_value when their persons exceed the size of a page; it names a limit that fits.
 */
async function shownRecordings(
  { sql, clickhouse, clock }: RecordingReaderOptions,
  { project_id, user_id }: Viewer,
  rows: readonly RecordingRow[],
  ahead = prefetchPersons(toReads(clickhouse, project_id)),
): Promise<Recording[]> {
  const ids = rows.map(({ session_id }) => session_id);
  const [viewed, deleted, persons] = await Promise.all([
    findViewed(sql, project_id, user_id, ids),
    findDeleted(sql, project_id, ids),
    ahead.of([...new Set(rows.map(({ distinct_id }) => distinct_id))]),
  ]);
  refuseLarge(rows, persons);
  const ongoingSince = clock.now() - sessionRecordingLimits.recordingOngoingMs;
  const show = (row: RecordingRow): Recording => {
    const { session_hash: _, session_id, last_received_at, start_url, storage, ...others } = row;
    const { distinct_id, snapshot_source, activity_score, ...stored } = others;
    const start_time = formatStored(stored.start_time);
    return {
      id: session_id,
      distinct_id,
      viewed: viewed.has(session_id),
      ...stored,
      start_time,
      end_time: formatStored(stored.end_time),
      start_url,
      person: toPerson(project_id, distinct_id, start_time, persons.get(distinct_id)),
      storage,
      snapshot_source,
      ongoing: Date.parse(formatStored(last_received_at)) >= ongoingSince,
      activity_score,
    };
  };
  const undeleted = rows.filter(({ session_id }) => !deleted.has(session_id));
  return await mapInSlices(
    undeleted,
    show,
    ({ distinct_id }) => persons.get(distinct_id)?.properties.length ?? 0,
  );
}
