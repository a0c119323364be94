// Functions that make moments and days, whose SQL is no plain call in the engine.

import { wordsIn } from "../../../../core/words.ts";
import type { CallNode } from "../../tree.ts";
import { asMoment, dateShape } from "../compare.ts";
import { asType, nowSql, type SqlDraft, textAs, toMidnight } from "../draft.ts";
import { refuse, type Sql, type SqlType } from "../value.ts";
import { toIntervalUnit } from "./arguments.ts";
import { checkKinds } from "./kinds.ts";

export interface Shape {
  /** The kind of each argument, as `arguments.ts` reads it. */
  args: string;
  sql: (draft: SqlDraft, args: readonly Sql[], at: CallNode) => Sql;
}

export const makeSql = (sql: string, type: SqlType, nullable: boolean): Sql => ({ sql, type, nullable });
export const anyNull = (args: readonly Sql[]): boolean => args.some(({ nullable }) => nullable);
export const shape = (args: string, sql: Shape["sql"]): Shape => ({ args: checkKinds(args), sql });

function toMoment(draft: SqlDraft, args: readonly Sql[], at: CallNode): Sql {
  const [item, zone] = args;
  const tz = zone?.sql ?? "{tz:String}";
  if (typeof item!.constant === "string" && !isOtherwiseWritten(item!.constant))
    return asMoment(draft, item!, false, at, tz);
  if ((item!.type === "datetime" || item!.type === "date") && item!.text === undefined)
    return makeSql(`toDateTime64(${item!.sql}, 6, ${tz})`, "datetime", item!.nullable);
  if (item!.type === "number" && item!.text === undefined)
    return makeSql(`toDateTime(${item!.sql}, ${tz})`, "datetime", item!.nullable);
  const text = item!.text ?? item!.sql;
  return makeSql(`parseDateTime64BestEffortOrNull(toString(${text}), 6, ${tz})`, "datetime", true);
}

/** A text that may be a moment in another form, which the engine reads or makes null, unlike one without a digit. */
const isOtherwiseWritten = (text: string): boolean => /\d/.test(text) && !dateShape.test(text.trim());

/** Whether a text is a day of the calendar. The engine makes null of others, such as 2024-02-30. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

function toDay(draft: SqlDraft, args: readonly Sql[], at: CallNode): Sql {
  const [item] = args;
  const { constant } = item!;
  if (typeof constant === "string" && (/^\D*$/.test(constant) || isDay(constant)))
    return asMoment(draft, item!, true, at);
  const isMoment = item!.type === "datetime" || item!.type === "date";
  if (isMoment && item!.text === undefined) {
    const { floor } = item!;
    const rounded = floor ? { floor: { ...floor, days: floor.days + 2 } } : {};
    // A file has days before 1970; queries need the type by which events are sorted.
    const name = draft.context.wholeNumbers ? "toDate32" : "toDate";
    return { ...makeSql(`${name}(${item!.sql})`, "date", item!.nullable), ...rounded };
  }
  return makeSql(textAs(`toString(${item!.text ?? item!.sql})`, "date"), "date", true);
}

/** `f('day', 3, moment)` and `f(moment, interval)`. */
const shifted =
  (sign: "+" | "-"): Shape["sql"] =>
  (_, args, at) => {
    const [first, count, last] = args;
    if (!last) return makeSql(`(${first!.sql} ${sign} ${count!.sql})`, first!.type, anyNull(args));
    const unit = toIntervalUnit(first!, at);
    const moment = /Second|Minute|Hour/.test(unit) ? toMidnight(last) : last;
    const interval = `toInterval${unit}(${asType(count!, "number").sql})`;
    return makeSql(`(${moment.sql} ${sign} ${interval})`, moment.type, count!.nullable || last.nullable);
  };

/** The parts of date_part(). */
const dateParts = new Map(
  wordsIn<string>(`
    year:toYear quarter:toQuarter month:toMonth day:toDayOfMonth dow:toDayOfWeek doy:toDayOfYear
    hour:toHour minute:toMinute second:toSecond
  `).map((entry) => entry.split(":") as [string, string]),
);

const now = (args: string): Shape =>
  shape(args, (_, values) => {
    const { sql = "{tz:String}" } = values.find(({ type }) => type === "string") ?? {};
    return makeSql(nowSql.replace(/\{tz:String\}\)$/, `${sql})`), "datetime", false);
  });
const today = shape("-", () => makeSql(`toDate(${nowSql})`, "date", false));
const trailing = shape("v?z", toMoment);
const day = shape("v", toDay);

/** Keyed by their names in small letters. */
export const momentShapes: Readonly<Record<string, Shape>> = {
  now: now("?z"),
  now64: now("?iz"),
  current_timestamp: now("?i"),
  today,
  current_date: today,
  yesterday: shape("-", () => makeSql(`(toDate(${nowSql}) - 1)`, "date", false)),
  todatetime: trailing,
  todatetime64: shape("v?iz", (draft, args, at) =>
    toMoment(draft, args[2] ? [args[0]!, args[2]] : [args[0]!], at),
  ),
  parsedatetimebesteffort: trailing,
  parsedatetime64besteffort: trailing,
  to_timestamp: trailing,
  fromunixtimestamp: trailing,
  fromunixtimestamp64milli: shape("v", (_, [entry]) => {
    const number = `toInt64(${asType(entry!, "number").sql})`;
    return makeSql(`fromUnixTimestamp64Milli(${number}, {tz:String})`, "datetime", entry!.nullable);
  }),
  todatetimeus: shape("v?z", (_, [entry, zone]) => {
    const args = `toString(${entry!.text ?? entry!.sql}), 6, ${zone?.sql ?? "{tz:String}"}`;
    return makeSql(`parseDateTime64BestEffortUSOrNull(${args})`, "datetime", true);
  }),
  parsedatetime: shape("vf?z", (_, args) => {
    const [text, format, tz = "{tz:String}"] = args.map(({ sql }) => sql);
    return makeSql(`parseDateTimeOrNull(${text}, ${format}, ${tz})`, "datetime", true);
  }),
  make_timestamp: shape("vvvvvv?z", (_, args) => {
    const parts = args.slice(0, 6).map((part) => asType(part, "number").sql);
    const tz = args[6]?.sql ?? "{tz:String}";
    return makeSql(`makeDateTime(${parts.join(", ")}, ${tz})`, "datetime", anyNull(args));
  }),
  date_bin: shape("vvv", (_, args) => {
    const [step, moment, origin] = args.map(({ sql }) => sql);
    return makeSql(`toStartOfInterval(${moment}, ${step}, ${origin})`, "datetime", anyNull(args));
  }),
  date_part: shape("vv", (_, [part, moment], at) => {
    const name = dateParts.get(String(part!.constant).toLowerCase());
    if (name === undefined) refuse(`The part is one of ${[...dateParts.keys()].join(", ")}.`, at);
    return makeSql(`${name}(${asType(moment!, "datetime").sql})`, "number", moment!.nullable);
  }),
  totimezone: shape("vz", (_, args) =>
    makeSql(`toTimeZone(${args[0]!.sql}, ${args[1]!.sql})`, "datetime", args[0]!.nullable),
  ),
  todate: day,
  to_date: day,
  date: day,
  dateadd: shape("vv|uvv", shifted("+")),
  datesub: shape("vv|uvv", shifted("-")),
  timestampadd: shape("vv|uvv", shifted("+")),
  timestampsub: shape("vv|uvv", shifted("-")),
};
