// Whether a figure is beyond its alert's threshold, in words; and when an alert is checked next.

import { readStoredZone } from "../../storage/clickhouse/zones.ts";
import { numberText } from "../report/numbers.ts";
import type { AlertFigure } from "./figure.ts";
import type { Alert } from "./model.ts";

export interface Judgement {
  figure: AlertFigure;
  /** What was judged: the figure, or its change. Null where there is nothing before, or that was 0. */
  measured: number | null;
  /** Undefined within the bounds; null where that cannot be told, as there is nothing before. */
  breach: string | null | undefined;
}

type Rule = Pick<Alert, "condition" | "threshold">;

/** Judges figures one by one: the first beyond the threshold, else one that cannot be judged, else the first. */
export function judgeFigures(rule: Rule, figures: readonly AlertFigure[]): Judgement {
  const judged = figures.map((figure) => judgeFigure(rule, figure));
  const find = (kind: string) => judged.find(({ breach }) => typeof breach === kind);
  return find("string") ?? find("object") ?? judged[0]!;
}

function judgeFigure({ condition = {}, threshold }: Rule, figure: AlertFigure): Judgement {
  const { configuration } = threshold;
  const { lower = null, upper = null } = configuration.bounds ?? {};
  const { type = "absolute_value" } = condition;
  const isShare = configuration.type === "percentage";
  const measured =
    type === "absolute_value" ? figure.value : measureChange(figure, type === "relative_increase", isShare);
  if (measured === null) return { figure, measured, breach: null };
  const isAbove = upper !== null && measured > upper;
  const found = isAbove ? upper : lower !== null && measured < lower ? lower : undefined;
  const unit = type === "absolute_value" ? figure.unit : isShare ? "%" : "";
  const show = (value: number) => numberText(isShare ? value * 100 : value, unit);
  const describe = (bound: number) =>
    type === "absolute_value"
      ? `${show(measured)}, ${isAbove ? "above" : "below"} ${show(bound)}`
      : describeChange(measured, bound, type === "relative_increase", show);
  const breach = found === undefined ? undefined : describe(found);
  return { figure, measured: Number.isFinite(measured) ? measured : null, breach };
}

/** Says which way the figure went; changes and bounds below 0 are of the other way than the condition's. */
function describeChange(change: number, bound: number, isIncrease: boolean, show: (size: number) => string) {
  const isRise = change < 0 !== isIncrease;
  const size = Number.isFinite(change) ? show(Math.abs(change)) : "any share, from 0";
  const edge = show(Math.abs(bound));
  const than = `${Math.abs(change) > Math.abs(bound) ? "more" : "less"} than ${edge}`;
  const isOtherWay = bound !== 0 && change < 0 !== bound < 0;
  const rule = isOtherWay ? `not a ${isRise ? "fall" : "rise"} of ${edge} or more` : than;
  return `${isRise ? "rose" : "fell"} by ${size}, ${rule}`;
}

function measureChange({ value, before }: AlertFigure, isIncrease: boolean, isShare: boolean): number | null {
  if (before === null) return null;
  const change = isIncrease ? value - before : before - value;
  if (!isShare || change === 0) return change;
  return change / Math.abs(before);
}

/** The hour of the day at which each is checked, in the project's zone: the day before has arrived by then. */
const hours = { daily: 1, weekly: 3, monthly: 4 };
/** Minutes after the hour, likewise. */
const minuteOfHour = 5;

/** The first check after `now`. @param now ms since 1970. */
export function nextCheck(
  { calculation_interval: interval, skip_weekend }: Pick<Alert, "calculation_interval" | "skip_weekend">,
  timezone: string,
  now: number,
): Date {
  const timeZone = readStoredZone(timezone);
  const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone);
  if (interval === "hourly") {
    const begun = local.round({ smallestUnit: "hour", roundingMode: "floor" });
    let next = begun.add({ hours: 1, minutes: minuteOfHour });
    // Where clocks repeat half an hour, that has passed.
    while (next.epochMilliseconds <= now) next = next.add({ hours: 1 });
    const days = 8 - next.dayOfWeek;
    const at = skip_weekend && days < 3 ? next.startOfDay().add({ days, minutes: minuteOfHour }) : next;
    return new Date(at.epochMilliseconds);
  }
  const today = local.toPlainDate();
  const days = {
    daily: () => {
      const next = today.add({ days: 1 });
      return skip_weekend && next.dayOfWeek > 5 ? next.add({ days: 8 - next.dayOfWeek }) : next;
    },
    weekly: () => today.add({ days: 8 - today.dayOfWeek }),
    monthly: () => today.with({ day: 1 }).add({ months: 1 }),
  };
  const plainTime = new Temporal.PlainTime(hours[interval]);
  return new Date(days[interval]().toZonedDateTime({ timeZone, plainTime }).epochMilliseconds);
}
