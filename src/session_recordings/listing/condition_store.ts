// The conditions of a query for recordings as SQL over `session_hash`, with their parameters. Each filter becomes a set
// of recordings that it finds or excludes.

import { Fault } from "../../core/fault.ts";
import {
  compileOwnProperty,
  compilePropertyFilters,
  type PropertyCondition,
  type PropertyFilter,
  readsPersons,
  sessionOfEvent,
  toPositive,
} from "../../storage/events/property_filter.ts";
import { sessionExpressions } from "../../storage/events/session_property.ts";
import { sessionRecordingLimits } from "../limits.ts";
import type { RecordingConditions } from "./conditions.ts";
import { type EventFilter, logColumns, recordingColumns } from "./filter_check.ts";

interface Draft {
  /** Same as in RecordingFilter. */
  from?: string | undefined;
  to?: string | undefined;
  params: Record<string, unknown>;
  /** Makes the names of parameters unique. */
  count: number;
  /** The moment from which relative dates count, as in RecordingFilter. */
  moment: { now: number; timezone: string };
}

/**
 * Conditions that all must hold; their parameters are added to `params`, which has `from` and `to` if there are any.
 */
export function conditionClauses(
  { operand, events, properties, logged, having }: RecordingConditions,
  params: Record<string, unknown>,
  span: Pick<Draft, "from" | "to">,
  moment: Draft["moment"],
): string[] {
  const draft: Draft = { ...span, params, count: 0, moment };
  const joined = [
    ...events.map((event) => `session_hash GLOBAL IN ${eventSet(draft, event)}`),
    ...[...properties, ...logged].map((filter) => filterCondition(draft, filter)),
  ];
  return [
    ...(joined.length > 0 ? [`(${joined.join(` ${operand} `)})`] : []),
    ...having.map((filter) => filterCondition(draft, filter)),
  ];
}

function filterCondition(draft: Draft, filter: PropertyFilter): string {
  if (filter.type === "hogql") {
    // Only a project's own filters of test accounts can have one.
    const detail = 'Recordings cannot be filtered by "hogql", which the filters of test accounts have.';
    throw new Fault("invalid_input", detail, { attr: "filter_test_accounts" });
  }
  if ("key" in filter) {
    const { positive, negated } = toPositive(filter);
    return `session_hash GLOBAL ${negated ? "NOT IN" : "IN"} ${selectSet(draft, positive)}`;
  }
  if (filter.values.length === 0) return "1";
  return `(${filter.values.map((value) => filterCondition(draft, value)).join(` ${filter.type} `)})`;
}

function selectSet(draft: Draft, filter: PropertyCondition): string {
  switch (filter.type) {
    case "event":
    case "event_metadata":
    case "group":
    case "element":
      return eventSet(draft, { event: undefined, filters: [filter] });
    case "person":
      return personSet(draft, filter);
    case "session":
      return ownSet(draft, filter, {
        hash: "sipHash64(session_id)",
        column: sessionExpressions[filter.key]!,
        from: `sessions WHERE ${ofProject}`,
      });
    case "recording": {
      const rows = { hash: "session_hash", column: recordingColumns[filter.key]!, from: recordingsIn(draft) };
      return ownSet(draft, filter, rows);
    }
    case "log_entry":
      return `(SELECT session_hash FROM ${recordingsIn(draft)} AND ${levelCondition(filter)})`;
  }
}

const ofProject = "project_id = {project_id:UInt32}";
const moment = (name: string) => `toDateTime64({${name}:String}, 6, 'UTC')`;
const { sessionSecondsMax } = sessionRecordingLimits;

/** Events of a session lie within a day of its recording's start. */
function eventSet(draft: Draft, { event, filters }: EventFilter): string {
  const clauses = [ofProject, `${sessionOfEvent} != ''`];
  if (draft.from !== undefined)
    clauses.push(`timestamp >= ${moment("from")} - INTERVAL ${sessionSecondsMax} SECOND`);
  if (draft.to !== undefined)
    clauses.push(`timestamp < ${moment("to")} + INTERVAL ${sessionSecondsMax} SECOND`);
  if (event !== undefined) {
    const name = makeName(draft);
    draft.params[name] = event;
    clauses.push(`event = {${name}:String}`);
  }
  if (filters.length > 0)
    clauses.push(compilePropertyFilters(filters, draft.params, makeName(draft), draft.moment));
  // `stored_events` avoids the join with persons.
  const table = readsPersons(filters) ? "events" : "stored_events";
  return `(SELECT sipHash64(${sessionOfEvent}) FROM ${table} WHERE ${clauses.join(" AND ")})`;
}

function personSet(draft: Draft, filter: PropertyCondition): string {
  const condition = compileOwnProperty(filter, draft.params, makeName(draft), draft.moment);
  return `(SELECT session_hash FROM session_recording_days WHERE ${ofProject} AND distinct_id GLOBAL IN (
    SELECT distinct_id FROM person_distinct_ids WHERE ${ofProject} AND person_id GLOBAL IN (
      SELECT person_id FROM persons WHERE ${ofProject} AND ${condition})))`;
}

/** Only pieces of recordings that may be in the span are summed. */
function recordingsIn(draft: Draft): string {
  const clauses = [ofProject];
  if (draft.from !== undefined) clauses.push(`day >= toDate32(${moment("from")})`);
  if (draft.to !== undefined) clauses.push(`day <= toDate32(${moment("to")})`);
  return `session_recordings WHERE ${ofProject} AND session_hash IN (
    SELECT session_hash FROM session_recording_days WHERE ${clauses.join(" AND ")})`;
}

/** A filter on one column of these rows, which is read like a property; an empty text counts as not set. */
function ownSet(
  draft: Draft,
  filter: PropertyCondition,
  { hash, column, from }: { hash: string; column: string; from: string },
): string {
  const condition = compileOwnProperty(filter, draft.params, makeName(draft), draft.moment);
  const name = makeName(draft);
  draft.params[name] = filter.key;
  const properties = `toJSONString(map({${name}:String}, nullIf(toString(${column}), '')))`;
  return `(SELECT hash FROM (SELECT ${hash} AS hash, ${properties} AS properties FROM ${from}) WHERE ${condition})`;
}

/** Levels were checked, so their columns exist. */
function levelCondition({ values }: PropertyCondition): string {
  const columns = new Set(values.map((value) => logColumns[String(value)]!));
  return `(${[...columns].map((column) => `${column} > 0`).join(" OR ")})`;
}

function makeName(draft: Draft): string {
  return `q${draft.count++}_`;
}
