// A filter of recordings as conditions of SQL.

import { conditionClauses } from "./condition_store.ts";
import type { RecordingConditions, RecordingOrder } from "./conditions.ts";

/** Absent fields do not filter. Times are `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC; `from` is inclusive, `to` exclusive. */
export interface RecordingFilter {
  from?: string | undefined;
  to?: string | undefined;
  distinct_ids?: readonly string[] | undefined;
  /** Main id of a person: only recordings of that person, under any of its distinct ids. */
  person_main_id?: string | undefined;
  session_ids?: readonly string[] | undefined;
  /** Session ids to omit: deleted recordings that ClickHouse may still have. */
  without: readonly string[];
  conditions?: RecordingConditions | undefined;
  /** undefined: the newest first. */
  order?: RecordingOrder | undefined;
  /** The time that relative dates in `conditions` count from, in ms since 1970, and the zone of days. */
  now?: number;
  timezone?: string;
}

const moment = (name: string) => `toDateTime64({${name}:String}, 6, 'UTC')`;

/**
 * The conditions of a filter as SQL with its parameters.
 * @param byRow true: only the rows with the wanted distinct ids; false: all rows of recordings that have such a row.
 */
export function buildClauses(filter: RecordingFilter, byRow: boolean) {
  const { from, to, distinct_ids, person_main_id, session_ids } = filter;
  const { without, conditions, now = 0, timezone = "UTC" } = filter;
  const ofProject = "project_id = {project_id:UInt32}";
  const params: Record<string, unknown> = {};
  const narrow = (name: string, value: unknown, clause: string) => {
    if (value === undefined) return "";
    params[name] = value;
    return clause;
  };
  const hashes = (name: string) => `(SELECT sipHash64(arrayJoin({${name}:Array(String)})))`;
  const selectRows = (theirs: string) =>
    byRow
      ? theirs
      : `session_hash IN (SELECT session_hash FROM session_recording_days WHERE ${ofProject} AND ${theirs})`;
  const ofPersons = "distinct_id IN {distinct_ids:Array(String)}";
  const ofPerson = `distinct_id IN (
    SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject} AND main_id = {person_main_id:String}
    UNION ALL SELECT {person_main_id:String})`;
  const clauses = [
    ofProject,
    narrow("to", to, `day <= toDate32(${moment("to")}) AND start_time < ${moment("to")}`),
    narrow("distinct_ids", distinct_ids, selectRows(ofPersons)),
    narrow("person_main_id", person_main_id, selectRows(ofPerson)),
    narrow("session_ids", session_ids, `session_hash IN ${hashes("session_ids")}`),
    narrow("without", without.length > 0 ? without : undefined, `session_hash NOT IN ${hashes("without")}`),
    ...(conditions ? conditionClauses(conditions, params, { from, to }, { now, timezone }) : []),
  ];
  narrow("from", from, "");
  const where = clauses.filter((clause) => clause !== "").join(" AND ");
  // A recording that began since `from` has a row since `from`; the reverse does not hold, so HAVING checks the start.
  const since = `AND day >= toDate32(${moment("from")}) AND start_time >= ${moment("from")}`;
  const began = (start: string) => narrow("from", from, `${start} >= ${moment("from")}`);
  return { where, since: narrow("from", from, since), began, params };
}
