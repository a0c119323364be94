// One project's recordings for a user: without deleted ones, with their persons, and whether they were viewed.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { formatStored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import { ownPersonId } from "../persons/identity.ts";
import { choosePersonName } from "../persons/model.ts";
import type { Person } from "../persons/reading/fold.ts";
import { findPagePersons } from "../persons/reading/store.ts";
import { type ProjectReads, toReads } from "../storage/clickhouse/query_options.ts";
import type { Uses } from "../storage/services.ts";
import type { CountCache } from "../work/count_cache.ts";
import { mapInSlices } from "../work/slices.ts";
import { sessionRecordingLimits } from "./limits.ts";
import { countRecordings, listRecordings, type RecordingFilter } from "./listing/store.ts";
import type { Recording, RecordingPerson } from "./model.ts";
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
  { written, unviewedBy = "false", ...wanted }: WantedRecordings,
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
  const filter = { ...wanted, without, now: clock.now() };
  const shown = async () => {
    const persons = prefetchPersons(reads);
    const rows = await listRecordings(reads, filter, page, persons.request);
    const recordings = await shownRecordings(options, viewer, rows, persons);
    const { session_ids, order } = wanted;
    // Named ones of one page keep the order of their names, as at PostHog.
    if (!session_ids || order || page.offset > 0 || session_ids.length > page.limit) return recordings;
    return recordings.toSorted((a, b) => session_ids.indexOf(a.id) - session_ids.indexOf(b.id));
  };
  const { distinct_ids, person_main_id, session_ids, conditions } = wanted;
  const counted = JSON.stringify([written, distinct_ids, person_main_id, session_ids, conditions, without]);
  const [count, recordings] = await Promise.all([
    counts.count(project_id, counted, () => countRecordings(reads, filter)),
    shown(),
  ]);
  return { count, recordings };
}

/** Reads persons before it is certain which are needed. */
function prefetchPersons(reads: ProjectReads) {
  let requested = new Set<string>();
  let found = Promise.resolve(new Map<string, Person>());
  return {
    request: (distinct_ids: readonly string[]) => {
      requested = new Set(distinct_ids);
      found = findPagePersons(reads, distinct_ids);
      // A rejection reaches the caller of `of`. Without a caller it must not count as unhandled.
      found.catch(() => {});
    },
    of: async (distinct_ids: readonly string[]) => {
      const others = distinct_ids.filter((id) => !requested.has(id));
      const [ahead, behind] = await Promise.all([found, findPagePersons(reads, others)]);
      return new Map([...ahead, ...behind]);
    },
  };
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

/** @throws Fault max_value: every recording carries all properties of its person, often the same person's. */
function refuseLarge(rows: readonly RecordingRow[], persons: ReadonlyMap<string, Person>): void {
  let chars = 0;
  for (const [i, { distinct_id }] of rows.entries()) {
    chars += persons.get(distinct_id)?.properties.length ?? 0;
    if (chars <= sessionRecordingLimits.recordingsPageCharsMax || i === 0) continue;
    const detail = `The page is too large with the properties of its persons. Ask for at most limit=${i}.`;
    throw new Fault("max_value", detail, { attr: "limit" });
  }
}

/**
 * @param seen_at start of the recording, ISO 8601: the creation time of a person without events.
 * @param known the person of the distinct id; undefined when no event has it.
 */
function toPerson(project_id: number, distinct_id: string, seen_at: string, known?: Person): RecordingPerson {
  const uuid = known?.uuid ?? ownPersonId(project_id, distinct_id);
  const distinct_ids = (known?.distinct_ids ?? []).slice(0, distinctIdsShownMax);
  const properties = JSON.parse(known?.properties ?? "{}") as Record<string, unknown>;
  return {
    // The first 48 bits of the uuid: a numeric id that fits a double.
    id: Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16),
    name: choosePersonName(properties, [...distinct_ids, distinct_id]),
    distinct_ids: (distinct_ids.length > 0 ? distinct_ids : [distinct_id]).join(","),
    properties,
    created_at: known ? formatStored(known.created_at) : seen_at,
    uuid,
  };
}

const distinctIdsShownMax = 10;
