// Moments in a query string: ISO 8601 in its usual spellings, or relative like -7d.

import { ago, type Clock, type TimeUnit } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";

const relative = /^-(\d{1,4})([hdwmqy])$/;
// A plus that is not escaped in a query string arrives as a space.
const iso =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+\- ])(\d\d):?(\d\d))?)?$/i;

/** The range of ClickHouse's DateTime64. Times beyond it become the nearest bound, which selects the same rows. */
const earliest = "1900-01-01 00:00:00.000000";
const latest = "2299-12-31 23:59:59.999999";

/**
 * The time in the query key `name` as `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC; undefined when it is absent.
 * Relative units are hours, days, weeks, months, quarters and years before now. A time without a zone is UTC.
 * @throws Fault invalid_input with `name` as its attr.
 */
export function readMoment(query: URLSearchParams, name: string, clock: Clock): string | undefined {
  const text = query.get(name)?.trim();
  if (text === undefined) return undefined;
  const moment = relativeMoment(text, clock.now()) ?? isoMoment(text);
  if (moment === undefined) throw new Fault("invalid_input", wrongMoment, { attr: name });
  return moment;
}

const wrongMoment =
  "Datetime has wrong format. Use one of these formats instead: " +
  "YYYY-MM-DD, YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z], " +
  "or relative like -7d (units h, d, w, m, q, y).";

function relativeMoment(text: string, now: number): string | undefined {
  const [, digits, unit] = relative.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  return inRange(ago(now, Number(digits), unit as TimeUnit), "");
}

function isoMoment(text: string): string | undefined {
  const found = iso.exec(text);
  if (!found) return undefined;
  const [
    ,
    day = "",
    minutes = "00:00",
    seconds = "00",
    fraction = "",
    sign = "+",
    hours = "00",
    rest = "00",
  ] = found;
  if (Number(hours) > 14 || Number(rest) > 59) return undefined;
  const local = new Date(`${day}T${minutes}:${seconds}Z`);
  // Date turns 30 February into 1 March; the comparison detects days that do not exist.
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 10) !== day) return undefined;
  const ahead = (Number(hours) * 60 + Number(rest)) * 60_000 * (sign === "-" ? -1 : 1);
  return inRange(new Date(local.getTime() - ahead), fraction);
}

/** @param fraction digits after the second; without them, those of `at`. Digits beyond microseconds are dropped. */
function inRange(at: Date, fraction: string): string {
  if (Number.isNaN(at.getTime())) return earliest;
  const text = at.toISOString();
  if (text.startsWith("-")) return earliest;
  if (text.startsWith("+")) return latest;
  const microseconds = (fraction || text.slice(20, 23)).padEnd(6, "0").slice(0, 6);
  const moment = `${text.slice(0, 10)} ${text.slice(11, 19)}.${microseconds}`;
  return moment < earliest ? earliest : moment > latest ? latest : moment;
}
