// Whether a figure is beyond its alert's threshold, in words; and when an alert is checked next.

import { readStoredZone } from "../../storage/clickhouse/zones.ts";
import { numberText } from "../report/numbers.ts";
import type { AlertFigure } from "./figure.ts";
import type { Alert } from "./model.ts";

export interface Judgement {
  figure: AlertFigure;
  /** What was judged: the figure, or its change. Null where there is nothing before, or that was 0. */
  measured: number | null;
  /** Undefined within the bounds. */
  breach: string | undefined;
}

type Rule = Pick<Alert, "condition" | "threshold">;

/** Judges figures one by one: the first beyond the threshold, else the first. */
export function judgeFigures(
  { condition = {}, threshold }: Rule,
  figures: readonly AlertFigure[],
): Judgement {
  const judged = figures.map((figure) => judgeFigure({ condition, threshold }, figure));
  return judged.find(({ breach }) => breach !== undefined) ?? judged[0]!;
}

function judgeFigure({ condition = {}, threshold }: Rule, figure: AlertFigure): Judgement {
  const { configuration } = threshold;
  const { lower = null, upper = null } = configuration.bounds ?? {};
  const { type = "absolute_value" } = condition;
  const isShare = configuration.type === "percentage";
  const measured =
    type === "absolute_value" ? figure.value : measureChange(figure, type === "relative_increase", isShare);
  if (measured === null) return { figure, measured, breach: undefined };
  const isAbove = upper !== null && measured > upper;
  const found = isAbove ? upper : lower !== null && measured < lower ? lower : undefined;
  const unit = type === "absolute_value" ? figure.unit : isShare ? "%" : "";
  const show = (value: number) => numberText(isShare ? value * 100 : value, unit);
  const verb = type === "relative_increase" ? "rose" : "fell";
  const change = `${verb} by ${Number.isFinite(measured) ? show(measured) : "any share, from 0"}`;
  const [bound, beyond] = [show(found ?? 0), isAbove ? "more" : "less"];
  const text =
    type === "absolute_value"
      ? `${show(measured)}, ${isAbove ? "above" : "below"} ${bound}`
      : `${change}, ${beyond} than ${bound}`;
  return {
    figure,
    measured: Number.isFinite(measured) ? measured : null,
    breach: found === undefined ? undefined : text,
  };
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
    const next = begun.add({ hours: 1 });
    const at =
      skip_weekend && next.dayOfWeek > 5 ? next.startOfDay().add({ days: 8 - next.dayOfWeek }) : next;
    return new Date(at.add({ minutes: minuteOfHour }).epochMilliseconds);
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
