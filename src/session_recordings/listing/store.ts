// Queries in ClickHouse: which recordings are on a page of the list, and how many match.

import type { Page } from "../../http/pages/page.ts";
import { filteredOptions, type ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { sessionRecordingLimits } from "../limits.ts";
import { readRows, type RecordingRow } from "../store.ts";
import type { RecordingOrder } from "./conditions.ts";
import { buildClauses, type RecordingFilter } from "./filter_store.ts";

export async function countRecordings(reads: ProjectReads, filter: RecordingFilter): Promise<number> {
  const { from, to } = filter;
  // Every row has the distinct id, but the start of a recording is the minimum over all its rows.
  const { where, began, params } = buildClauses(filter, from === undefined && to === undefined);
  const [row] = await reads.query<{ count: string }>(
    `SELECT count() AS count FROM (
       SELECT 1 FROM session_recording_days WHERE ${where} GROUP BY session_hash ${began("HAVING min(start_time)")}
     )`,
    params,
    filteredOptions,
  );
  return Number(row?.count ?? 0);
}

/**
 * The page of `limit` recordings after the first `offset`, newest start first.
 * @param onCandidates is called with the distinct ids that may be on the page before their rows are read.
 */
export async function listRecordings(
  reads: ProjectReads,
  filter: RecordingFilter,
  page: Page,
  onCandidates: (distinct_ids: string[]) => void,
): Promise<RecordingRow[]> {
  if (filter.order) return await orderedPage(reads, filter, page, filter.order);
  const first = page.offset === 0 ? await firstPage(reads, filter, page.limit, onCandidates) : undefined;
  if (first) return first;
  const hashes = await findPage(reads, filter, page);
  return (await readRows(reads, hashes)).sort(byStart);
}

/**
 * SQL of the days that hold the latest rows. `bound` is a pair: the first of these days, and the number of rows
 * counted; fewer than the limit means that there are no others. Every recording that began since then has its rows on
 * these days; one that began earlier continued past midnight.
 */
function latestDays(filter: RecordingFilter): { bound: string; onThem: string } {
  const { where, since } = buildClauses(filter, filter.to === undefined);
  const lately = `${where} ${since}`;
  if (isNarrow(filter)) return { bound: "(toDate32('1900-01-01'), toUInt64(0)) AS bound", onThem: lately };
  const bound = `(SELECT (min(day), count()) FROM (
    SELECT day FROM session_recording_days WHERE ${lately} ORDER BY day DESC LIMIT {rows:UInt64}
  )) AS bound`;
  return { bound, onThem: `${lately} AND day >= bound.1` };
}

/** Whether few recordings match: then reading all of them costs no more than looking for the latest. */
function isNarrow({ distinct_ids, person_main_id, session_ids, conditions }: RecordingFilter): boolean {
  return [distinct_ids, person_main_id, session_ids, conditions].some((item) => item !== undefined);
}

/** The page in another order: the figures of all matching recordings are compared. */
async function orderedPage(
  reads: ProjectReads,
  filter: RecordingFilter,
  { limit, offset }: Page,
  { column, ascending }: RecordingOrder,
): Promise<RecordingRow[]> {
  const { where, began, params } = buildClauses(filter, false);
  const found = await reads.query<Found>(
    `SELECT toString(session_hash) AS session_hash FROM session_recordings
     WHERE project_id = {project_id:UInt32} AND session_hash IN (
       SELECT session_hash FROM session_recording_days WHERE ${where}
       GROUP BY session_hash HAVING 1 ${began("AND min(start_time)")}
     )
     ORDER BY ${column} ${ascending ? "ASC" : "DESC"}, start_time DESC, session_recordings.session_hash DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...params, limit, offset },
    filteredOptions,
  );
  const rows = await readRows(reads, found.map(readHash));
  const byHash = new Map(rows.map((row) => [row.session_hash, row]));
  return found.flatMap(({ session_hash }) => byHash.get(session_hash) ?? []);
}

/** Reads a few more recordings than the page needs; undefined when too few of them began on the latest days. */
async function firstPage(
  reads: ProjectReads,
  filter: RecordingFilter,
  limit: number,
  onCandidates: (distinct_ids: string[]) => void,
): Promise<RecordingRow[] | undefined> {
  const candidatesMax = limit + Math.ceil(limit / sessionRecordingLimits.recordingsRecycledDivisor);
  const rows = candidatesMax * 2;
  const { bound, onThem } = latestDays(filter);
  const candidates = await reads.query<{ session_hash: string; of_id: string; start: string; rows: string }>(
    `WITH ${bound}
     SELECT session_hash, any(distinct_id) AS of_id, min(start_time) AS start, bound.2 AS rows
     FROM session_recording_days WHERE ${onThem}
     GROUP BY session_hash ORDER BY start DESC LIMIT {wanted:UInt64}`,
    { ...buildClauses(filter, true).params, rows, wanted: candidatesMax },
    filteredOptions,
  );
  const whole = candidates.length < candidatesMax;
  if (whole && Number(candidates[0]?.rows ?? 0) === rows) return undefined;
  // Other recordings may share the start of the last one, so rows of that time are not certain.
  const since = whole ? "" : candidates.at(-1)!.start;
  onCandidates([...new Set(candidates.map(({ of_id }) => of_id))]);
  const read = await readRows(reads, candidates.map(readHash));
  const { from = "" } = filter;
  const sure = read.filter(({ start_time }) => start_time > since && start_time >= from);
  if (!whole && sure.length < limit) return undefined;
  return sure.sort(byStart).slice(0, limit);
}

/** Later pages: only rows of the page are read or, beyond a bound, those of all recordings. */
async function findPage(reads: ProjectReads, filter: RecordingFilter, page: Page): Promise<string[]> {
  const { where, began, params } = buildClauses(filter, false);
  const select = (bound: string, narrowed: string, having: string) => `${bound}
    SELECT session_hash, min(start_time) AS start FROM session_recording_days
    WHERE ${where} ${narrowed}
    GROUP BY session_hash HAVING ${having} ${began("AND start")}
    ORDER BY start DESC, session_hash DESC
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}`;
  const { bound, onThem } = latestDays(filter);
  const lately = select(
    `WITH ${bound}`,
    `AND session_hash IN (SELECT session_hash FROM session_recording_days WHERE ${onThem})`,
    "toDate32(start) >= bound.1",
  );
  const rowsMax = isNarrow(filter) ? 0 : sessionRecordingLimits.recordingRowsComparedMax;
  const { limit, offset } = page;
  const find = (text: string, more: object) =>
    reads.query<Found>(text, { ...params, limit, offset, ...more }, filteredOptions);
  for (let rows = (offset + limit) * 2; rows <= rowsMax; rows *= 8) {
    const found = await find(lately, { rows });
    if (found.length === limit) return found.map(readHash);
  }
  return (await find(select("", "", "1"), {})).map(readHash);
}

type Found = Pick<RecordingRow, "session_hash">;

const readHash = ({ session_hash }: Found) => session_hash;

function byStart(a: RecordingRow, b: RecordingRow): number {
  if (a.start_time !== b.start_time) return a.start_time > b.start_time ? -1 : 1;
  return BigInt(a.session_hash) > BigInt(b.session_hash) ? -1 : 1;
}
