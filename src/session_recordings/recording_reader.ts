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

/** Those of these sessions that were recorded and not deleted since. */
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

/** @throws Fault not_found when there is no such recording, or none any more. */
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
 * The recording, or undefined for a session without pieces: they may be on their way.
 * @throws Fault not_found when it is deleted, or its id is none.
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

/** `known`: its row, if that was read already. @throws Fault not_found, as getRow. */
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

/** What is asked for: resolved, and as it was written, where "-3d" is the same question again and again. */
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
    const persons = new PersonsAhead(clickhouse, project_id);
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

/** Persons, asked for before it is known of whom exactly they are wanted. */
class PersonsAhead {
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
    // Whoever reads them hears of it; nobody does, when something else fails first.
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
 * Rows as replies show them; what was deleted a moment ago is left out.
 * @throws Fault max_value when they are too large together, naming how many are not.
 */
async function shownRecordings(
  { sql, clickhouse, clock }: RecordingReaderOptions,
  { project_id, user_id }: Viewer,
  rows: readonly RecordingRow[],
  ahead = new PersonsAhead(clickhouse, project_id),
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

/** Each recording shows all properties of its person: of somebody's many sessions, the same ones again and again. */
function refuseLarge(rows: readonly RecordingRow[], persons: ReadonlyMap<string, Person>): void {
  let chars = 0;
  for (const [i, { distinct_id }] of rows.entries()) {
    chars += persons.get(distinct_id)?.properties.length ?? 0;
    if (chars <= sessionRecordingLimits.recordingsPageCharsMax || i === 0) continue;
    const detail = `The page is too large with the properties of its persons. Ask for at most limit=${i}.`;
    throw new Fault("max_value", detail, { attr: "limit" });
  }
}
