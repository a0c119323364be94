// Moments in a query string: ISO 8601 in its usual spellings, or relative like -7d.

import { ago, type Clock, type TimeUnit } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";

const relative = /^-(\d{1,4})([hdwmqy])$/;
// A plus that is not escaped in a query string arrives as a space.
const iso =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::[0-5]\d(?:[.,]\d{1,9})?)?)(Z|[+\- ](?:0\d|1[0-4]):?[0-5]\d)?)?$/i;

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
  const at = ago(now, Number(digits), unit as TimeUnit);
  return Number.isNaN(at.getTime()) ? earliest : inRange(at.toISOString().replace("Z", "000Z"));
}

function isoMoment(text: string): string | undefined {
  const [, day, time = "00:00", zone = "Z"] = iso.exec(text) ?? [];
  if (day === undefined) return undefined;
  try {
    const at = Temporal.Instant.from(`${day}T${time}${zone.replace(" ", "+")}`);
    // Digits beyond microseconds are dropped.
    return inRange(at.toString({ fractionalSecondDigits: 6 }));
  } catch {
    return undefined;
  }
}

/** @param text ISO 8601 in UTC, with microseconds. */
function inRange(text: string): string {
  if (text.startsWith("-")) return earliest;
  if (text.startsWith("+")) return latest;
  const moment = text.slice(0, -1).replace("T", " ");
  return moment < earliest ? earliest : moment > latest ? latest : moment;
}
