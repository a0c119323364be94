// One project's recordings as a user of it sees them: without deleted ones, with their persons, seen or not.

import { type Clock, yieldToEventLoop } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { sessionRecordingLimits } from "./limits.ts";
import { isoOfStored } from "../http/fields/field_time.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { findDeleted, findViewed, listLeftOut } from "./mark/store.ts";
import { findPersonsOfPage } from "../persons/reading/page.ts";
import type { Person } from "../persons/reading/store.ts";
import type { CountCache } from "../work/count_cache.ts";
import { countRecordings, listRecordings, type RecordingFilter } from "./listing/store.ts";
import type { Recording } from "./model.ts";
import { personOf } from "./person.ts";
import { findRecordings, type RecordingRow } from "./store.ts";

export interface RecordingReaderOptions {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

export interface Viewer {
  project_id: number;
  user_id: number;
}

export function recordingNotFound(): Fault {
  return new Fault("not_found", "Recording not found");
}

/** @throws Fault not_found for an id that no recorder can have given. */
function readSessionId(id: string): string {
  if (id === "" || id.length > limits.sessionIdCharsMax || id.includes("\0") || !id.isWellFormed())
    throw recordingNotFound();
  return id;
}

/** The recordings of these sessions, without deleted ones. */
export async function existing(
  { sql, clickhouse }: RecordingReaderOptions,
  project_id: number,
  session_ids: readonly string[],
): Promise<RecordingRow[]> {
  const [rows, deleted] = await Promise.all([
    findRecordings(clickhouse, project_id, session_ids),
    findDeleted(sql, project_id, session_ids),
  ]);
  return rows.filter(({ session_id }) => !deleted.has(session_id));
}

/** The recording's row. @throws Fault not_found when it does not exist or is deleted. */
export async function getRow(
  options: RecordingReaderOptions,
  project_id: number,
  id: string,
): Promise<RecordingRow> {
  const [row] = await existing(options, project_id, [readSessionId(id)]);
  if (!row) throw recordingNotFound();
  return row;
}

/**
 * The recording's row; undefined for a session without pieces, since they may be on their way.
 * @throws Fault not_found when it is deleted or the id is invalid.
 */
export async function findRow(
  { sql, clickhouse }: RecordingReaderOptions,
  project_id: number,
  id: string,
): Promise<RecordingRow | undefined> {
  const session_ids = [readSessionId(id)];
  const [[row], deleted] = await Promise.all([
    findRecordings(clickhouse, project_id, session_ids),
    findDeleted(sql, project_id, session_ids),
  ]);
  if (deleted.size > 0) throw recordingNotFound();
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
  const [recording] = await shownRecordings(options, viewer, [row]);
  if (!recording) throw recordingNotFound();
  return recording;
}

/** A filter with its times resolved; `written` has the dates as in the query, a key under which counts are cached. */
export interface WantedRecordings extends Omit<RecordingFilter, "project_id" | "without"> {
  written: string;
}

export async function listPage(
  options: RecordingReaderOptions & { counts: CountCache },
  viewer: Viewer,
  { written, ...wanted }: WantedRecordings,
  page: { limit: number; offset: number },
): Promise<{ count: number; recordings: Recording[] }> {
  const { sql, clickhouse, clock, counts } = options;
  const { project_id } = viewer;
  const without = await listLeftOut(sql, project_id, {
    since: new Date(clock.now() - sessionRecordingLimits.recordingLateMsMax),
    unhidden: sessionRecordingLimits.recordingsUnhiddenMax,
    late: sessionRecordingLimits.recordingsLateLeftOutMax,
  });
  const filter = { ...wanted, project_id, without };
  const shown = async () => {
    const persons = new PersonPrefetch(clickhouse, project_id);
    const rows = await listRecordings(clickhouse, filter, page, (ids) => persons.ask(ids));
    return await shownRecordings(options, viewer, rows, persons);
  };
  const { distinct_ids, person_main_id, session_ids } = wanted;
  const question = JSON.stringify([written, distinct_ids, person_main_id, session_ids, without]);
  const [count, recordings] = await Promise.all([
    counts.count(project_id, question, () => countRecordings(clickhouse, filter)),
    shown(),
  ]);
  return { count, recordings };
}

/** Starts reading persons before it is known exactly which are needed. */
class PersonPrefetch {
  readonly #clickhouse: ClickHouse;
  readonly #project_id: number;
  #asked = new Set<string>();
  #found: Promise<Map<string, Person>> = Promise.resolve(new Map());

  constructor(clickhouse: ClickHouse, project_id: number) {
    this.#clickhouse = clickhouse;
    this.#project_id = project_id;
  }

  ask(distinct_ids: readonly string[]): void {
    this.#asked = new Set(distinct_ids);
    this.#found = findPersonsOfPage(this.#clickhouse, this.#project_id, distinct_ids);
    // A rejection reaches whoever calls `of`. If nobody does, it must not count as unhandled.
    this.#found.catch(() => {});
  }

  async of(distinct_ids: readonly string[]): Promise<Map<string, Person>> {
    const others = distinct_ids.filter((id) => !this.#asked.has(id));
    const more = findPersonsOfPage(this.#clickhouse, this.#project_id, others);
    const [ahead, behind] = await Promise.all([this.#found, more]);
    return new Map([...ahead, ...behind]);
  }
}

/**
 * Rows as replies show them, without recordings deleted in the meantime.
 * @throws Fault max_value when their persons exceed the size of a page; it names a limit that fits.
 */
async function shownRecordings(
  { sql, clickhouse, clock }: RecordingReaderOptions,
  { project_id, user_id }: Viewer,
  rows: readonly RecordingRow[],
  ahead = new PersonPrefetch(clickhouse, project_id),
): Promise<Recording[]> {
  const ids = rows.map(({ session_id }) => session_id);
  const [viewed, deleted, persons] = await Promise.all([
    findViewed(sql, project_id, user_id, ids),
    findDeleted(sql, project_id, ids),
    ahead.of([...new Set(rows.map(({ distinct_id }) => distinct_id))]),
  ]);
  refuseLarge(rows, persons);
  const ongoingSince = clock.now() - sessionRecordingLimits.recordingOngoingMs;
  const shown: Recording[] = [];
  let charsRead = 0;
  for (const row of rows) {
    const { session_id, last_received_at, start_time, end_time, ...rest } = row;
    if (deleted.has(session_id)) continue;
    const person = persons.get(rest.distinct_id);
    charsRead += person?.properties.length ?? 0;
    if (charsRead > limits.replySliceBytes) {
      charsRead = 0;
      await yieldToEventLoop();
    }
    const seen_at = isoOfStored(start_time);
    shown.push({
      id: session_id,
      distinct_id: rest.distinct_id,
      viewed: viewed.has(session_id),
      recording_duration: rest.recording_duration,
      active_seconds: rest.active_seconds,
      inactive_seconds: rest.inactive_seconds,
      start_time: seen_at,
      end_time: isoOfStored(end_time),
      click_count: rest.click_count,
      keypress_count: rest.keypress_count,
      mouse_activity_count: rest.mouse_activity_count,
      console_log_count: rest.console_log_count,
      console_warn_count: rest.console_warn_count,
      console_error_count: rest.console_error_count,
      start_url: rest.start_url,
      person: personOf(project_id, rest.distinct_id, seen_at, person),
      storage: rest.storage,
      snapshot_source: rest.snapshot_source,
      ongoing: Date.parse(isoOfStored(last_received_at)) >= ongoingSince,
      activity_score: rest.activity_score,
    });
  }
  return shown;
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
