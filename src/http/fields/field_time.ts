// Moments in request bodies and in replies.

import { withoutLast } from "../../core/trim.ts";

const day = String.raw`(\d{4})-(\d{1,2})-(\d{1,2})`;
const hour = String.raw`(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,6})\d{0,6})?)?`;
const zone = String.raw`(?:[Zz]|([+-])([01]\d|2[0-3]):?([0-5]\d)?)?`;
const spelling = new RegExp(String.raw`^${day}[T ]${hour}\s*${zone}$`);

/**
 * The moment as ISO 8601 in UTC, with microseconds only when there are some; undefined when the text is no date and
 * time. A text without a zone is in UTC.
 */
export function toIsoTime(text: string): string | undefined {
  const match = spelling.exec(text.trim());
  if (!match) return undefined;
  const numbers = match.slice(1, 7).map((digits = "0") => Number(digits)) as [number, number, number];
  const [fraction = "", sign, zoneHours = "0", zoneMinutes = "0"] = match.slice(7);
  const microseconds = Number(fraction.padEnd(6, "0"));
  const minutes = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? -1 : 1);
  try {
    const at = new Temporal.PlainDateTime(...numbers).add({ microseconds }).subtract({ minutes });
    // Outside the years 1 to 9999, clients and Postgres spell dates differently.
    if (numbers[0] < 1 || at.year < 1 || at.year > 9999) return undefined;
    return `${at.toString({ fractionalSecondDigits: microseconds === 0 ? 0 : 6 })}Z`;
  } catch {
    return undefined;
  }
}

/** A moment as every reply spells it: with microseconds, or without a fraction that would be zero. */
export function toIso(at: Date): string {
  const text = at.toISOString();
  return text.endsWith(".000Z") ? `${text.slice(0, -5)}Z` : `${text.slice(0, -1)}000Z`;
}

/** A row of a store as its reply shows it, moments as toIso() spells them. */
export function shownRow<Row extends object>(row: Row): Shown<Row> {
  const members = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? toIso(value) : value,
  ]);
  return Object.fromEntries(members) as Shown<Row>;
}

type Shown<Row> = {
  [Name in keyof Row]: Date extends Row[Name] ? Exclude<Row[Name], Date> | string : Row[Name];
};

/** The row of a reply with these moments: the inverse of shownRow(). */
export type Stored<Reply, Moments extends keyof Reply> = {
  [Name in keyof Reply]: Name extends Moments ? Date | Extract<Reply[Name], null> : Reply[Name];
};

/** A moment as ClickHouse writes it, `2024-01-02 03:04:05.600000`, as ISO 8601. */
export function isoWithFraction(moment: string): string {
  return `${moment.replace(" ", "T")}Z`;
}

/** Variant of isoWithFraction(), without a fraction of zero. */
export function formatStored(moment: string): string {
  const point = moment.indexOf(".");
  const isZero = point >= 0 && point < moment.length - 1 && withoutLast(moment, "0").length === point + 1;
  return isoWithFraction(isZero ? moment.slice(0, point) : moment);
}
