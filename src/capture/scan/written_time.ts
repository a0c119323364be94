// Times as programs, logs and people write them, beyond readIso(): the forms that the parser of PostHog's capture lists
// (https://crates.io/crates/dateparser), RFC 822, RFC 9557, and ISO 8601's rarer ones. A text without a zone is UTC.

const dayMicros = 86_400_000_000;
const minuteMicros = 60_000_000;

/** Characters of a time: RFC 9557 with the longest zone has 70. */
const timeCharsMax = 80;

interface WrittenTimeOptions {
  /** The moment, in µs since 1970, whose day or year a text without one gets; without it such a text is no time. */
  now?: number;
  /**
   * The order of `06.05.2024` and the like. By default only those that PostHog reads are times, month first: with
   * slashes, or with dots and no time of day.
   */
  numericDates?: "posthog" | "month-first" | "day-first" | "refused";
}

/** Microseconds since 1970 UTC; NaN for a text that is no time. */
export function readWrittenTime(text: string, options: WrittenTimeOptions = {}): number {
  // Some are JSON within JSON, or .NET's `/Date(1714983072000+0200)/`.
  const trimmed = toAsciiDigits(text.trim().replace(/^"(.*)"$|^\/Date\((-?\d+)([+-]\d{4})?\)\/$/, "$1$2"));
  if (trimmed.length > timeCharsMax) return Number.NaN;
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(trimmed)) return readNumber(trimmed);
  const { index, 1: zone } =
    /(?:(?:\[!?| (?=[A-Z][a-z]+\/))([\w/+-]{1,40})\]?)?(?:\[[\w!-]{1,40}=[^ ]{1,60})?$/.exec(trimmed)!;
  const plain = toPlainText(trimmed.slice(0, index));
  const date = readDate(plain, options);
  if (date === undefined) return Number.NaN;
  const clock = readClock(plain.slice(date.length), date, options.now);
  if (clock === undefined) return Number.NaN;
  const { micros, offset } = clock;
  if (offset !== undefined) return micros - offset * minuteMicros;
  return zone === undefined ? micros : toUtc(micros, zone);
}

/** Digits of Arabic, Persian, Devanagari, Bengali and Burmese, in which phones write times, as those of ASCII. */
function toAsciiDigits(text: string): string {
  const toAscii = (digit: string) => String((digit.charCodeAt(0) - (/[०-९০-৯]/.test(digit) ? 6 : 0)) & 15);
  return text.replace(/[٠-٩۰-۹०-९০-৯၀-၉]/g, toAscii);
}

/**
 * Small letters, single blanks, no weekday and no comment; Chinese units as the signs that they stand for, the halves
 * of a day in other languages as am and pm behind their hour.
 */
function toPlainText(text: string): string {
  const plain = text
    .toLowerCase()
    .replace(/\([^)]{0,60}\)$/, "")
    .replace(/[年月\u2212]/g, "-")
    .replace(/日/, " ")
    .replace(/[时時分]/g, ":")
    .replace(/秒/, "")
    .replace(/\s+/g, " ")
    .replace(/([ap])\. ?m\./, "$1m")
    .replace(/([上下]午|午[前後]|오[전후]) ?([\d:.,]+)/, (_, half: string, hour: string) =>
      /[上前전]/.test(half) ? `${hour}am` : `${hour}pm`,
    )
    .trim();
  return plain.replace(/^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[,.]? /, "");
}

/**
 * A number of seconds, ms, µs or ns since 1970, told apart by its size; .NET's ticks or Windows' (ns of before 2001
 * would be as long); or a date of digits: `2024`, `2024.05`, `20240506`, `202405060811`, `20240506081112`, and with ms.
 * Numbers below 1973 are no times: they are dates cut short, counters, or unset.
 */
function readNumber(text: string): number {
  const digits =
    /^((?:19|20|21)\d\d)(?:\.?(\d\d)(?:(?<!\.\d\d)(\d\d)(?:(\d\d)(\d\d)(?:(\d\d)(\d{3})?)?)?)?)?$/.exec(text);
  const date = digits && dateMicros(Number(digits[1]), Number(digits[2] ?? 1), Number(digits[3] ?? 1));
  if (digits && !Number.isNaN(date) && text.length !== 6) {
    const [hour, minute, second, ms] = digits.slice(4).map((part) => Number(part ?? 0));
    if (hour! < 24 && minute! < 60 && second! < 60)
      return date! + (((hour! * 60 + minute!) * 60 + second!) * 1000 + ms!) * 1000;
  }
  const value = Number(text);
  const size = Math.abs(value);
  if (size < 1e8 || size >= 1e20) return Number.NaN;
  if (size < 1e11) return Math.round(value * 1e6);
  if (size < 1e14) return Math.round(value * 1e3);
  if (size < 1e17) return Math.round(value);
  // Ticks are 100 ns since the year 1, or since 1601.
  if (size < 1e18) return Math.floor((value - (value > 6.2e17 ? 621_355_968e9 : 116_444_736e9)) / 10);
  return Math.floor(value / 1e3);
}

const monthNames =
  "january february march april may june july august september october november december".split(" ");

/** The number of a month, from 1; NaN for another word. */
function monthNumber(word: string): number {
  const month = monthNames.findIndex((name) => word === name || word === name.slice(0, 3));
  return month < 0 ? (word === "sept" ? 9 : Number.NaN) : month + 1;
}

/** Reads years of two digits as chrono and RFC 822's successors do. */
function fullYear(text: string): number {
  const year = Number(text);
  return text.length > 2 ? year : year + (year < 69 ? 2000 : 1900);
}

/** Dates before a time; `name` is a month's. */
const dateForms = [
  /^(?<year>\d{4})([-/.])(?<month>\d{1,2})\2(?<day>\d{1,2})(?!\d)/,
  // `20240229T…`, `2024-W09-4` or `2024-060`.
  /^(?<year>\d{4})(?:(?<month>\d\d)(?<day>\d\d)(?=t)|-?w(?<week>\d\d)-?(?<weekday>[1-7])|-(?<ordinal>\d{3}))(?=$|[t ])/,
  /^(?<year>\d{4})-(?<name>[a-z]{3,9})-(?<day>\d{1,2})(?!\d)/,
  /^(?<year>\d{4})[-/](?<month>\d\d?)$/,
  /^(?<name>[a-z]{3,9})\.? (?<day>\d{1,2})(?:st|nd|rd|th)?,? (?<year>\d{4}|\d\d)(?![\d:])/,
  /^(?<day>\d{1,2})[- /](?<name>[a-z]{3,9})\.?[- /](?<year>\d{4}|\d\d(?!:))(?!\d)/,
  /^(?<name>[a-z]{3,9})\.? (?<day>\d{1,2})(?= )/,
  /^(?<first>\d{1,2})(?<sign>[-/.])(?<second>\d{1,2})\k<sign>(?<year>\d{4}|\d\d)(?!\d)/,
  // MySQL's log.
  /^(?<year>\d\d)(?<month>\d\d)(?<day>\d\d)(?= \d{1,2}:)/,
];

/**
 * The date before a time: its midnight, NaN of a day that no calendar has, and its length in characters; `month` and
 * `day` where the year may stand behind the time.
 */
function readDate(text: string, { now, numericDates = "posthog" }: WrittenTimeOptions) {
  const found = dateForms
    .values()
    .map((form) => form.exec(text))
    .find(Boolean);
  if (!found) {
    if (now === undefined || !/^\d{1,2}:\d\d/.test(text)) return undefined;
    return { micros: Math.floor(now / dayMicros) * dayMicros, length: 0 };
  }
  const { length } = found[0];
  const { year, name, week, weekday, ordinal, first, sign, second, ...numbers } = found.groups!;
  let { month: monthText = "1", day: dayText = "1" } = numbers;
  if (first !== undefined) {
    const isRead = sign === "/" || (sign === "." && length === text.length);
    if (numericDates === "refused" || (numericDates === "posthog" && !isRead)) return undefined;
    [monthText, dayText] = numericDates === "day-first" ? [second!, first] : [first, second!];
  }
  if (ordinal !== undefined) return { micros: ordinalMicros(Number(year), Number(ordinal)), length };
  if (week !== undefined) return { micros: weekMicros(Number(year), Number(week), Number(weekday)), length };
  const month = name === undefined ? Number(monthText) : monthNumber(name);
  const day = Number(dayText);
  if (year !== undefined) return { micros: dateMicros(fullYear(year), month, day), length };
  const current = now === undefined ? Number.NaN : new Date(now / 1000).getUTCFullYear();
  return { micros: dateMicros(current, month, day), length, month, day };
}

function ordinalMicros(year: number, ordinal: number): number {
  const isDay = ordinal >= 1 && ordinal <= 337 + daysIn(year, 2);
  return isDay ? (daysSince1970(year, 1, 1) + ordinal - 1) * dayMicros : Number.NaN;
}

function weekMicros(year: number, week: number, weekday: number): number {
  if (week < 1 || week > 53) return Number.NaN;
  // Week 1 is the one with 4 January in it; day 0 of 1970 was a Thursday.
  const fourth = daysSince1970(year, 1, 4);
  const monday = fourth - ((((fourth + 3) % 7) + 7) % 7);
  return (monday + (week - 1) * 7 + weekday - 1) * dayMicros;
}

const clock =
  /^(?:[t_:]|,? at |, ?| )?(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{0,9})\d*)?)? ?([ap]m(?![a-y]))?(?!\d)|^/;
/** Some languages have points in a time; without seconds it may be a fraction. */
const pointedClock = /^([t ]?\d{1,2})\.(\d\d)\.(\d\d)(?!\d)/;
const basicClock = /^t(\d\d)(?:(\d\d)(?:(\d\d)(?:[.,](\d{1,9})\d*)?)?)?(?![\d:])/;
const yearBefore = /^ (\d{4})(?=$| )/;
const yearBehind = / (\d{4})$/;
const zone =
  /^[ :]?(?:(z|[a-z]{2,4})(?![a-z])|(?:utc|gmt)?([+-]\d{1,2})(?::?(\d\d))?(?: [a-z+-][a-z\d]{2,4})?(?: m=\S{2,20})?)?$/;

/** The time behind a date, and its zone's minutes east of UTC, if it names one; undefined when that is no time. */
function readClock(
  written: string,
  { micros, month, day }: NonNullable<ReturnType<typeof readDate>>,
  now: number | undefined,
): { micros: number; offset: number | undefined } | undefined {
  const text = written.replace(pointedClock, "$1:$2:$3");
  const found = basicClock.exec(text) ?? clock.exec(text)!;
  const [whole, hours = "0", minutes = "0", seconds = "0", fraction = "", half] = found;
  const hour = toHour(Number(hours), half);
  const isDayEnd = hour === 24 && Number(minutes) === 0 && Number(seconds) === 0;
  // A leap second is the next minute's first.
  if (!(hour < 24 || isDayEnd) || Number(minutes) > 59 || Number(seconds) > 60) return undefined;
  const textBehind = text.slice(whole.length);
  const yearFound = yearBefore.exec(textBehind) ?? yearBehind.exec(textBehind);
  const named = zone.exec(yearFound === null ? textBehind : textBehind.replace(yearFound[0], ""));
  if (named === null) return undefined;
  const [, name, offsetHours, offsetMinutes = "0"] = named;
  const year = yearFound?.[1];
  if (year !== undefined && month === undefined) return undefined;
  if (year === undefined && month !== undefined && (now === undefined || whole === "")) return undefined;
  const date = year === undefined ? micros : dateMicros(Number(year), month!, day!);
  const minutesEast = (zoneHours.get(name ?? "") ?? Number.NaN) * 60;
  const offset = name === undefined ? toMinutes(offsetHours, offsetMinutes) : minutesEast;
  if (Number.isNaN(date) || Number.isNaN(offset)) return undefined;
  const second = (hour * 60 + Number(minutes)) * 60 + Number(seconds);
  return { micros: date + second * 1_000_000 + Number(fraction.padEnd(6, "0").slice(0, 6)), offset };
}

/** NaN for an hour that no clock of twelve shows. */
function toHour(hour: number, half: string | undefined): number {
  if (half === undefined) return hour;
  if (hour > 12) return Number.NaN;
  return (hour % 12) + (half === "pm" ? 12 : 0);
}

function toMinutes(hours: string | undefined, minutes: string): number | undefined {
  if (hours === undefined) return undefined;
  const size = Math.abs(Number(hours));
  if (size > 23 || Number(minutes) > 59) return Number.NaN;
  return (size * 60 + Number(minutes)) * (hours.startsWith("-") ? -1 : 1);
}

/** Hours east of UTC of the names in RFC 822, and of Europe's, which Java prints. Others have several meanings. */
const zoneNames: readonly (readonly [hours: number, names: string])[] = [
  [0, "z ut utc gmt wet"],
  [1, "west cet"],
  [2, "cest eet"],
  [3, "eest"],
  [-4, "edt"],
  [-5, "est cdt"],
  [-6, "cst mdt"],
  [-7, "mst pdt"],
  [-8, "pst"],
];
const zoneHours = new Map(
  zoneNames.flatMap(([hours, names]) => names.split(" ").map((name) => [name, hours] as const)),
);

/** A local time in a named zone, as RFC 9557 has it without an offset; NaN for a name that is no zone. */
function toUtc(micros: number, name: string): number {
  // An offset as a name would be remembered by the runtime.
  if (!/^(?:UTC|[A-Z][A-Za-z_]+(?:\/[A-Za-z_+-]+){1,2})$/.test(name)) return Number.NaN;
  const iso = new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1);
  try {
    const { epochMilliseconds } = Temporal.PlainDateTime.from(iso).toZonedDateTime(name);
    return epochMilliseconds * 1000 + (((micros % 1000) + 1000) % 1000);
  } catch {
    return Number.NaN;
  }
}

/** Midnight of a day; NaN of a day that no calendar has. */
function dateMicros(year: number, month: number, day: number): number {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return Number.NaN;
  return daysSince1970(year, month, day) * dayMicros;
}

export function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days from 1970-01-01 in the proleptic Gregorian calendar; March-based years put the leap day last. */
export function daysSince1970(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const days = ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear;
  return era * 146_097 + days - 719_468;
}
