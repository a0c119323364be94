// When a subscription is due: the recurrence rules of RFC 5545, as far as the fields of a subscription express them.

import { wordsIn } from "../core/words.ts";
import { readStoredZone } from "../storage/clickhouse/zones.ts";
import { subscriptionLimits } from "./limits.ts";

export const frequencies = ["daily", "weekly", "monthly", "yearly"] as const;
type Frequency = (typeof frequencies)[number];

export const weekdays = wordsIn("monday tuesday wednesday thursday friday saturday sunday");
export interface Schedule {
  frequency: Frequency;
  /** The number of days, weeks, months or years from one period to the next; at least 1. */
  interval: number;
  byweekday: readonly (typeof weekdays)[number][] | null;
  /** Days of a period: from its start, or from its end when negative; ignored without byweekday. */
  bysetpos: number | null;
  /** The number of occurrences from the start; null: unlimited. */
  count: number | null;
  /** ISO 8601; the first day, and the time of day of every occurrence. */
  start_date: string;
  /** ISO 8601; the last possible occurrence. */
  until_date: string | null;
  /** The time zone of the time of day: the project's where the subscription has none; UTC when null. */
  timezone: string | null;
}

export type Rhythm = Pick<Schedule, "frequency" | "interval" | "byweekday" | "bysetpos">;

const dayMs = 86_400_000;
/** Periods after which a rule repeats: when there was no occurrence in as many, there is none at all. */
const cycles: Record<Frequency, number> = { daily: 7, weekly: 2, monthly: 4800, yearly: 400 };

/**
 * The first occurrence after `after` (both in ms since 1970); undefined when there is none before the year 10000. A
 * time of day that daylight saving skips is moved by the skipped hour; of one that it repeats, the first is used.
 */
export function nextOccurrence(schedule: Schedule, after: number): number | undefined {
  const { count, until_date } = schedule;
  const rule = buildRule(schedule);
  const until = until_date === null ? Infinity : Date.parse(until_date);
  // Local dates differ from UTC by less than two days, so earlier days cannot be the result.
  const nearDay = Math.floor(Math.min(after, until) / dayMs) - 2;
  let counted = 0;
  let empty = 0;
  for (let k = count === null ? rule.periodBefore(nearDay) : 0; ; k++) {
    const days = rule.listDays(k);
    if (!days) return undefined;
    empty = days.length > 0 ? 0 : empty + 1;
    if (empty > cycles[schedule.frequency]) return undefined;
    for (const day of days) {
      if (day < rule.start || day > lastDay) continue;
      if (count !== null && ++counted > count) return undefined;
      if (day < nearDay) continue;
      const at = rule.toMoment(day);
      if (at > until) return undefined;
      if (at > after) return at;
    }
  }
}

/** The next delivery, at least deliveryLeadMs from now: what was missed since `last` is skipped. */
export function nextDate(schedule: Schedule, now: number, last = now): Date | null {
  const next = nextOccurrence(schedule, Math.max(last, now + subscriptionLimits.deliveryLeadMs));
  return next === undefined ? null : new Date(next);
}

/** The schedule in words, such as `sent every 2 weeks on the first Monday`. */
export function summarize({ frequency, interval, byweekday, bysetpos }: Rhythm): string {
  const period = frequency === "daily" ? "day" : frequency.slice(0, -"ly".length);
  const every = interval > 1 ? `sent every ${interval} ${period}s` : `sent every ${period}`;
  const [first] = byweekday ?? [];
  if (!first || !bysetpos) return every;
  const position = bysetpos === -1 ? "last" : ["first", "second", "third", "fourth"][bysetpos - 1];
  if (!position) return "sent on a schedule";
  const day = byweekday?.length === 1 ? first.charAt(0).toUpperCase() + first.slice(1) : "day";
  return `${every} on the ${position} ${day}`;
}

/** Days are numbers since 1 January 1970. */
const epoch = "1970-01-01";
const toDay = (date: Temporal.PlainDate): number => date.since(epoch).days;
const toDate = (day: number): Temporal.PlainDate => Temporal.PlainDate.from(epoch).add({ days: day });
const lastDay = toDay(Temporal.PlainDate.from("9999-12-31"));
/** Months from any start to the year 10000. */
const monthsMax = 120_000;

function buildRule({ frequency, interval, byweekday, bysetpos, start_date, timezone }: Schedule) {
  const zone = readStoredZone(timezone ?? "UTC");
  const moment = Temporal.Instant.fromEpochMilliseconds(Math.floor(Date.parse(start_date) / 1000) * 1000);
  const local = moment.toZonedDateTimeISO(zone);
  const [date, plainTime] = [local.toPlainDate(), local.toPlainTime()];
  const start = toDay(date);
  const { findSpan, periodBefore, likeStart } = planPeriods(frequency, interval, date);
  const named = new Set((byweekday ?? []).map((name) => weekdays.indexOf(name)));
  return {
    start,
    periodBefore,
    /** The days of the k-th period that match; undefined beyond the year 9999. */
    listDays: (k: number) => {
      const [from, to] = findSpan(k);
      if (from > lastDay) return undefined;
      if (named.size === 0) return likeStart(from, to);
      const days = Array.from({ length: to - from }, (_, i) => from + i).filter((day) =>
        named.has(toWeekday(day)),
      );
      return bysetpos ? [days.at(bysetpos > 0 ? bysetpos - 1 : bysetpos) ?? []].flat() : days;
    },
    toMoment: (day: number) => toDate(day).toZonedDateTime({ timeZone: zone, plainTime }).epochMilliseconds,
  };
}

function planPeriods(frequency: Frequency, interval: number, date: Temporal.PlainDate) {
  const start = toDay(date);
  if (frequency === "daily" || frequency === "weekly") {
    const length = frequency === "daily" ? 1 : 7;
    const first = frequency === "daily" ? start : start - toWeekday(start);
    const findStart = (k: number) => first + k * length * interval;
    return {
      /** The days [from, to) of the k-th period; the first week begins at the start. */
      findSpan: (k: number) => [Math.max(findStart(k), start), findStart(k) + length] as const,
      /** The number of a period that ends before `day`, or 0. */
      periodBefore: (day: number) => Math.max(0, Math.floor((day - first) / (length * interval)) - 1),
      /** The day of a period that is like the start, if it has one. */
      likeStart: (_: number, to: number) => [to - length + start - first],
    };
  }
  const length = frequency === "monthly" ? 1 : 12;
  const first = date.with(frequency === "monthly" ? { day: 1 } : { month: 1, day: 1 });
  return {
    findSpan: (k: number) => {
      const months = k * length * interval;
      if (months > monthsMax) return [lastDay + 1, lastDay + 1] as const;
      return [toDay(first.add({ months })), toDay(first.add({ months: months + length }))] as const;
    },
    periodBefore: (day: number) => {
      const { months } = first.until(toDate(day), { largestUnit: "months" });
      return Math.max(0, Math.floor(months / (length * interval)) - 1);
    },
    likeStart: (from: number) => {
      const day = toDate(from).with({ month: length === 1 ? toDate(from).month : date.month, day: date.day });
      return day.day === date.day ? [toDay(day)] : [];
    },
  };
}

/** 0 is Monday. */
function toWeekday(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}
