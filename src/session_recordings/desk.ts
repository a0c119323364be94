// One project's recordings as a user of it sees them: without deleted ones, with their persons, seen or not. Never
// shows another project's.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import type { Postgres } from "../storage/postgres.ts";
import { findDeleted, findViewed, listUnhidden } from "./mark/store.ts";
import { findPersons, type Person } from "../persons/reading/store.ts";
import type { KeptCounts } from "../work/kept_counts.ts";
import { countRecordings, listRecordings, type RecordingFilter } from "./listing/store.ts";
import type { Recording } from "./model.ts";
import { isoOf, personOf } from "./person.ts";
import { findRecordings, type RecordingRow } from "./store.ts";

export interface DeskOptions {
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

/** The id in a path; Elysia's types do not know it there. */
export function idOf(params: Record<string, string>): string {
  return params["id"] ?? "";
}

/** @throws Fault not_found for an id that no recorder can have given. */
function readSessionId(id: string): string {
  if (id === "" || id.length > limits.sessionIdCharsMax || id.includes("\0") || !id.isWellFormed())
    throw recordingNotFound();
  return id;
}

/** Those of these sessions that were recorded and not deleted since. */
export async function existing(
  { sql, clickhouse }: DeskOptions,
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
export async function getRow(options: DeskOptions, project_id: number, id: string): Promise<RecordingRow> {
  const [row] = await existing(options, project_id, [readSessionId(id)]);
  if (!row) throw recordingNotFound();
  return row;
}

/** @throws Fault not_found, as getRow. */
export async function getRecording(options: DeskOptions, viewer: Viewer, id: string): Promise<Recording> {
  const row = await getRow(options, viewer.project_id, id);
  const [recording] = await present(options, viewer, [row]);
  if (!recording) throw recordingNotFound();
  return recording;
}

/** What is asked for: resolved, and as it was written, where "-3d" is the same question again and again. */
export interface WantedRecordings extends Omit<RecordingFilter, "project_id" | "without"> {
  written: string;
}

export async function listPage(
  options: DeskOptions & { counts: KeptCounts },
  viewer: Viewer,
  { written, ...wanted }: WantedRecordings,
  page: { limit: number; offset: number },
): Promise<{ count: number; recordings: Recording[] }> {
  const { sql, clickhouse, counts } = options;
  const { project_id } = viewer;
  const without = await listUnhidden(sql, project_id, limits.recordingsUnhiddenMax);
  const filter = { ...wanted, project_id, without };
  const shown = async () => {
    const persons = new PersonsAhead(clickhouse, project_id);
    const rows = await listRecordings(clickhouse, filter, page, (ids) => persons.ask(ids));
    return await present(options, viewer, rows, persons);
  };
  const question = JSON.stringify([written, wanted.distinct_ids, wanted.session_ids, without]);
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
    this.#found = findPersons(this.#clickhouse, this.#project_id, distinct_ids);
    // Whoever reads them hears of it; nobody does, when something else fails first.
    this.#found.catch(() => {});
  }

  async of(distinct_ids: readonly string[]): Promise<Map<string, Person>> {
    const others = distinct_ids.filter((id) => !this.#asked.has(id));
    const more = findPersons(this.#clickhouse, this.#project_id, others);
    const [ahead, behind] = await Promise.all([this.#found, more]);
    return new Map([...ahead, ...behind]);
  }
}

/** Rows as replies show them; what was deleted a moment ago is left out. */
async function present(
  { sql, clickhouse, clock }: DeskOptions,
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
  const ongoingSince = clock.now() - limits.recordingOngoingMs;
  return rows.flatMap((row) => {
    const { session_id, last_received_at, start_time, end_time, ...rest } = row;
    if (deleted.has(session_id)) return [];
    const seen_at = isoOf(start_time);
    return {
      id: session_id,
      distinct_id: rest.distinct_id,
      viewed: viewed.has(session_id),
      recording_duration: rest.recording_duration,
      active_seconds: rest.active_seconds,
      inactive_seconds: rest.inactive_seconds,
      start_time: seen_at,
      end_time: isoOf(end_time),
      click_count: rest.click_count,
      keypress_count: rest.keypress_count,
      mouse_activity_count: rest.mouse_activity_count,
      console_log_count: rest.console_log_count,
      console_warn_count: rest.console_warn_count,
      console_error_count: rest.console_error_count,
      start_url: rest.start_url,
      person: personOf(project_id, rest.distinct_id, seen_at, persons.get(rest.distinct_id)),
      storage: rest.storage,
      snapshot_source: rest.snapshot_source,
      ongoing: Date.parse(isoOf(last_received_at)) >= ongoingSince,
      activity_score: rest.activity_score,
    };
  });
}
