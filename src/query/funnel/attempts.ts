// The part of a statement that has, of each person, the attempts to go through a funnel: one for each event that
// begins it, with how far it came and when it was at each step.

import { type PropertyFilter, sessionOfEvent } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Breakdown } from "../parts/breakdown.ts";
import { type AnyBreakdown, breakdownLine, breakdownRows, needsPersons } from "../parts/breakdown_store.ts";
import type { Draft } from "../store.ts";
import { firstOnly } from "./first_store.ts";
import { type Exclusion, type FunnelOrder, inTime, type Step, type Walk } from "./walk.ts";

/** PostHog's expression for a funnel of sessions. */
export const bySession = "properties.$session_id";

export interface FunnelScope {
  series: readonly Step[];
  filters: readonly PropertyFilter[];
  span: DateSpan;
  /** The most from the first step to the last, in µs, inclusive. */
  windowMicros: number;
  order: FunnelOrder;
  exclusions: readonly Exclusion[];
  walk: Walk;
  /** The person's event whose value of the breakdown counts; all: a funnel for each value. */
  touch: "first" | "last" | "all";
  /** The step whose events have the values, where each value has a funnel: others count for all of them. */
  touchStep: number | undefined;
  /** Groups of a type, or values of an expression, go through it instead of persons; no event without one does. */
  groupIndex: number | undefined;
  actorText: string | undefined;
}

/**
 * The events of a funnel's steps and exclusions, of a strict one all events: as the walk has them, and their `value`.
 * @param bucket the index of an event's interval, as an expression, where it is needed.
 */
export function stepRows(draft: Draft, scope: FunnelScope, breakdown: Breakdown | undefined, bucket = "0") {
  const { series: steps, filters, span, order, exclusions, groupIndex, actorText } = scope;
  const isOfPersons = groupIndex === undefined && actorText === undefined;
  const actor = isOfPersons ? "person_id" : selectActor(draft, scope);
  const known = isOfPersons ? "" : ` AND ${actor} IS NOT NULL`;
  const where = `${draft.spanCondition(span)} AND ${draft.filterCondition(filters)}${known}`;
  const conditions = steps.map((step) => draft.entityCondition(step));
  const mask = steps
    .map((step, i) => `bitShiftLeft(toUInt32(${conditions[i]}${firstOnly(draft, step)}), ${i})`)
    .join(" + ");
  const bans = exclusions.map(({ entity, from, to }) => {
    const condition = draft.entityCondition(entity);
    conditions.push(condition);
    return `if(${condition}, ${2 ** to - 2 ** from}, 0)`;
  });
  const hits = order === "strict" ? "1" : `(${conditions.join(" OR ")})`;
  const withPersons = isOfPersons || (breakdown !== undefined && needsPersons(breakdown));
  const rows = `${draft.eventTable(filters, withPersons)} WHERE ${where} AND ${hits}`;
  const { from, value } = breakdown ? breakdownRows(draft, rows, breakdown) : { from: rows, value: "NULL" };
  // Times are in µs from a second before the span, so that 0 means none.
  const origin = "toUnixTimestamp64Micro(toDateTime64({from:String}, 6, 'UTC')) - 1000000";
  const ban = bans.reduce((left, right) => `bitOr(${left}, ${right})`, "0");
  const text = `SELECT ${actor} AS actor,
    toUInt32(${mask}) AS mask, toUInt32(${ban}) AS ban,
    toUnixTimestamp64Micro(timestamp) - (${origin}) AS at,
    toInt32(${bucket}) AS bucket, ${value} AS value FROM ${from}`;
  return breakdown && scope.touchStep !== undefined ? spreadValues(text, scope.touchStep) : text;
}

function selectActor(draft: Draft, { groupIndex, actorText }: FunnelScope): string {
  if (groupIndex !== undefined) return draft.groupKey(groupIndex);
  const value = actorText === bySession ? sessionOfEvent : draft.expressions!.value(actorText!);
  return `nullIf(${value}, '')`;
}

/** The rows once for each value that the actor's events of a step have; for others, such an event is no such step. */
function spreadValues(rows: string, step: number): string {
  const isStep = `bitTest(mask, ${step})`;
  const isOwn = "ifNull(each.1 = own, isNull(each.1) AND isNull(own))";
  return `SELECT actor, if(${isOwn}, mask, bitAnd(mask, ${2 ** 32 - 1 - 2 ** step})) AS mask, ban, at, bucket,
      each.1 AS value
    FROM (
      SELECT actor, mask, ban, at, bucket, value AS own,
        arrayJoin(groupUniqArrayIf(tuple(value), ${isStep}) OVER (PARTITION BY actor)) AS each
      FROM (${rows}))`;
}

/** The keys of a funnel of its own: the person or session and, where each value has one, the value. */
const groupKeys = ({ touch }: FunnelScope, breakdown: Breakdown | undefined): string =>
  touch === "all" && breakdown ? "actor, value" : "actor";

/** The value that a person counts for: the first or last one that an event of the funnel has. */
function selectPersonValue({ touch }: FunnelScope): string {
  if (touch === "all") return "any(value)";
  // The value breaks ties, so that the result is the same each time.
  const order = "(at, mask, assumeNotNull(value))";
  return `${touch === "first" ? "argMinIf" : "argMaxIf"}(value, ${order}, value IS NOT NULL AND mask > 0)`;
}

/**
 * Rows of persons who began the funnel: `actor`, `line`, that of their value of the breakdown (of one without lines the
 * value itself), where there is a `bucket` the `buckets` of their events, and
 * `attempts`, an array of tuples with an element for each event: twice the number of steps that it came to, and one
 * more unless an exclusion ended it; minus the time of the last of them; the time at which it began, 0 in an unordered
 * funnel; minus the time of each step. The largest tuple is the attempt that came furthest, of these the first to get
 * there, and of these the last to begin (in an unordered funnel, the first). Events of one moment are in the order of
 * the funnel.
 * @param bucket as stepRows().
 */
export function attemptRows(draft: Draft, scope: FunnelScope, breakdown?: AnyBreakdown, bucket?: string) {
  const rows = stepRows(draft, scope, breakdown, bucket);
  const value = breakdown ? selectPersonValue(scope) : "0";
  const line = breakdown && "values" in breakdown ? breakdownLine(draft, value, breakdown) : value;
  draft.params["window"] = scope.windowMicros;
  const { exclusions, walk } = scope;
  const { columns, arrays, times, begins, ends } = walk;
  const [first = "", ...later] = times;
  const steps = ["1", ...later.map((time) => inTime(time, first))].join(" + ");
  const lastAt = `multiIf(${later.map((time, i) => `steps = ${i + 2}, ${time}`).join(", ")}, ${first})`;
  const begun = scope.order === "unordered" ? "0" : first;
  const outcome = ends.reduceRight(
    (otherwise, [condition, number]) => `if(${condition}, 2 * (${number}), ${otherwise})`,
    `2 * (${steps} AS steps) + 1`,
  );
  const parts = ["at", "mask", ...(exclusions.length > 0 ? ["ban"] : []), ...(bucket ? ["bucket"] : [])];
  const partColumns = parts.map((part, i) => `events.${i + 1} AS ${part}s`);
  return `SELECT actor, line, ${[...partColumns, ...columns].join(", ")},
      arrayMap((mask, ${Object.keys(arrays).join(", ")}) ->
        (if(${begins}, ${outcome}, 0), -${lastAt}, ${begun}, ${times.map((time) => `-${time}`).join(", ")}),
        masks, ${Object.values(arrays).join(", ")}) AS attempts
    FROM (
      SELECT actor, ${line} AS line, arraySort(${selectPersonEvents(scope, parts)}) AS events
      FROM (${rows}) GROUP BY ${groupKeys(scope, breakdown)} HAVING countIf(${begins}) > 0)`;
}

/** The number of steps of an attempt, 0 where an exclusion ended it. @param outcome the tuple's first element. */
export function selectSteps(outcome: string): string {
  return `if(bitTest(${outcome}, 0), intDiv(${outcome}, 2), 0)`;
}

/** The seconds of an attempt between two steps that it came to, counted from 1. */
export function secondsBetween(attempt: string, from: number, to: number): string {
  return `(${attempt}.${from + 3} - ${attempt}.${to + 3}) / 1000000`;
}

/** An excluded event that is a step, too, counts as two events: at the moment of a step it is not between steps. */
function selectPersonEvents({ order, exclusions }: FunnelScope, parts: readonly string[]): string {
  const all = `groupArray((${parts.join(", ")}))`;
  if (order === "strict" || exclusions.length === 0) return all;
  const apart = (none: string, which: string) =>
    `groupArrayIf((${parts.map((part) => (part === none ? "toUInt32(0)" : part)).join(", ")}), ${which} > 0)`;
  return `arrayConcat(${apart("ban", "mask")}, ${apart("mask", "ban")})`;
}
