// When a subscription is due: the recurrence rules of RFC 5545, as far as the fields of a subscription express them.

import { wordsIn } from "../core/words.ts";
import { subscriptionLimits } from "./limits.ts";

export const frequencies = ["daily", "weekly", "monthly", "yearly"] as const;
type Frequency = (typeof frequencies)[number];

export const weekdays = wordsIn("monday tuesday wednesday thursday friday saturday sunday");
type Weekday = (typeof weekdays)[number];

export interface Schedule {
  frequency: Frequency;
  /** The number of days, weeks, months or years from one period to the next; at least 1. */
  interval: number;
  byweekday: readonly Weekday[] | null;
  /** Which of a period's days: from its start, or from its end when negative; ignored without byweekday. */
  bysetpos: number | null;
  /** The number of occurrences from the start; null: unlimited. */
  count: number | null;
  /** ISO 8601; the first day, and the time of day of every occurrence. */
  start_date: string;
  /** ISO 8601; the last possible occurrence. */
  until_date: string | null;
  /** The time zone of the time of day; UTC when null. */
  timezone: string | null;
}

const dayMs = 86_400_000;
/** Periods after which a rule repeats: when there was no occurrence in as many, there is none at all. */
const cycles: Record<Frequency, number> = { daily: 7, weekly: 2, monthly: 4800, yearly: 400 };

/**
 * The first occurrence after `after` (both in ms since 1970); undefined when there is none before the year 10000. A
 * time of day that daylight saving skips is moved by the skipped hour; of one that it repeats, the first is used.
 */
export function nextOccurrence(schedule: Schedule, after: number): number | undefined {
  const { count, until_date } = schedule;
  const rule = ruleOf(schedule);
  const until = until_date === null ? Infinity : Date.parse(until_date);
  // Local dates differ from UTC by less than two days, so earlier days cannot be the result.
  const nearDay = Math.floor(Math.min(after, until) / dayMs) - 2;
  let counted = 0;
  let empty = 0;
  for (let k = count === null ? rule.periodBefore(nearDay) : 0; ; k++) {
    const { from, to } = rule.period(k);
    if (from > lastDay) return undefined;
    const days = daysIn(rule, from, to);
    empty = days.length > 0 ? 0 : empty + 1;
    if (empty > cycles[schedule.frequency]) return undefined;
    for (const day of days) {
      if (day < rule.start.day || day > lastDay) continue;
      if (count !== null && ++counted > count) return undefined;
      if (day < nearDay) continue;
      const at = rule.momentOf(day);
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

const positionWords: Record<number, string> = {
  1: "first",
  2: "second",
  3: "third",
  4: "fourth",
  [-1]: "last",
};
const periodWords: Record<Frequency, string> = {
  daily: "day",
  weekly: "week",
  monthly: "month",
  yearly: "year",
};

/** The schedule in words, such as `sent every 2 weeks on the first Monday`. */
export function summaryOf({
  frequency,
  interval,
  byweekday,
  bysetpos,
}: Pick<Schedule, "frequency" | "interval" | "byweekday" | "bysetpos">): string {
  const period = periodWords[frequency];
  const every = interval > 1 ? `sent every ${interval} ${period}s` : `sent every ${period}`;
  const [first] = byweekday ?? [];
  if (!first || !bysetpos) return every;
  const position = positionWords[bysetpos];
  if (!position) return "sent on a schedule";
  const day = byweekday?.length === 1 ? first.charAt(0).toUpperCase() + first.slice(1) : "day";
  return `${every} on the ${position} ${day}`;
}

interface LocalDay {
  /** Days since 1 January 1970. */
  day: number;
  year: number;
  /** From 0. */
  month: number;
  /** From 1. */
  date: number;
}

interface Rule {
  start: LocalDay;
  /** The days [from, to) of the k-th period; the first week begins at the start. */
  period(k: number): { from: number; to: number };
  /** The number of a period that ends before `day`, or 0. */
  periodBefore(day: number): number;
  matches(day: number): boolean;
  position: number | null;
  momentOf(day: number): number;
}

const lastDay = dayOf(9999, 11, 31);

function ruleOf({ frequency, interval, byweekday, bysetpos, start_date, timezone }: Schedule): Rule {
  const { start, momentOf } = localStart(start_date, timezone);
  const named = new Set((byweekday ?? []).map((name) => weekdays.indexOf(name)));
  const isNamed = (day: number): boolean => named.has(weekdayOf(day));
  const rest = { start, momentOf, position: named.size > 0 && bysetpos ? bysetpos : null };
  const shared = { ...rest, matches: named.size > 0 ? isNamed : unnamed[frequency](start) };
  if (frequency === "daily" || frequency === "weekly") {
    const length = frequency === "daily" ? 1 : 7;
    const first = frequency === "daily" ? start.day : start.day - weekdayOf(start.day);
    return {
      ...shared,
      period: (k) => {
        const from = first + k * length * interval;
        return { from: Math.max(from, start.day), to: from + length };
      },
      periodBefore: (day) => Math.max(0, Math.floor((day - first) / (length * interval)) - 1),
    };
  }
  const length = frequency === "monthly" ? 1 : 12;
  const first = start.year * 12 + (frequency === "monthly" ? start.month : 0);
  return {
    ...shared,
    period: (k) => monthSpan(first + k * length * interval, length),
    periodBefore: (day) => {
      const { year, month } = localDay(day);
      return Math.max(0, Math.floor((year * 12 + month - first) / (length * interval)) - 1);
    },
  };
}

/** The days of a rule without weekdays: those like its start. */
const unnamed: Record<Frequency, (start: LocalDay) => (day: number) => boolean> = {
  daily: () => () => true,
  weekly: (start) => (day) => weekdayOf(day) === weekdayOf(start.day),
  monthly: (start) => (day) => localDay(day).date === start.date,
  yearly: (start) => (day) => {
    const { month, date } = localDay(day);
    return month === start.month && date === start.date;
  },
};

function daysIn({ matches, position }: Rule, from: number, to: number): number[] {
  const days: number[] = [];
  for (let day = from; day < to; day++) if (matches(day)) days.push(day);
  if (position === null) return days;
  const one = days.at(position > 0 ? position - 1 : position);
  return one === undefined ? [] : [one];
}

function localStart(start_date: string, timezone: string | null): Pick<Rule, "start" | "momentOf"> {
  const moment = Math.floor(Date.parse(start_date) / 1000) * 1000;
  if (timezone === null || timezone === "UTC") {
    const day = Math.floor(moment / dayMs);
    const time = moment - day * dayMs;
    return { start: localDay(day), momentOf: (one) => one * dayMs + time };
  }
  const local = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(timezone).toPlainDateTime();
  const time = local.toPlainTime();
  return {
    start: localDay(dayOf(local.year, local.month - 1, local.day)),
    momentOf: (day) => {
      const { year, month, date } = localDay(day);
      const plain = Temporal.PlainDate.from({ year, month: month + 1, day: date }).toPlainDateTime(time);
      return plain.toZonedDateTime(timezone, { disambiguation: "compatible" }).epochMilliseconds;
    },
  };
}

/** The days of `count` months from month `first`, counted in months since the year 0. */
function monthSpan(first: number, count: number): { from: number; to: number } {
  const dayIn = (months: number): number => dayOf(Math.floor(months / 12), months % 12, 1);
  // A Date cannot hold much later days; any day after the last has the same effect.
  if (first > 9999 * 12 + 11) return { from: lastDay + 1, to: lastDay + 1 };
  return { from: dayIn(first), to: dayIn(first + count) };
}

function dayOf(year: number, month: number, date: number): number {
  return Math.round(new Date(0).setUTCFullYear(year, month, date) / dayMs);
}

function localDay(day: number): LocalDay {
  const at = new Date(day * dayMs);
  return { day, year: at.getUTCFullYear(), month: at.getUTCMonth(), date: at.getUTCDate() };
}

/** 0 is Monday. */
function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}
