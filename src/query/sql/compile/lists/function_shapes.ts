// Functions whose SQL is no plain call in the engine, and those that are refused, with the reason.

import type { CallNode } from "../../tree.ts";
import { asMoment } from "../compare.ts";
import { asType, nowSql, type SqlDraft, textAs, toMidnight } from "../draft.ts";
import { quotedName, refuse, type Sql, type SqlType } from "../value.ts";
import { toIntervalUnit } from "./arguments.ts";
import { checkKinds } from "./kinds.ts";

interface Shape {
  /** The kind of each argument, as `arguments.ts` reads it. */
  args: string;
  sql: (draft: SqlDraft, args: readonly Sql[], at: CallNode) => Sql;
}

const of = (sql: string, type: SqlType, nullable: boolean): Sql => ({ sql, type, nullable });
const anyNull = (args: readonly Sql[]): boolean => args.some(({ nullable }) => nullable);

/** A conversion that yields null for what cannot be converted. */
function cast(args: readonly Sql[], to: string, type: SqlType): Sql {
  const [item] = args;
  return of(`accurateCastOrNull(${item!.text ?? item!.sql}, '${to}')`, type, true);
}

function toMoment(draft: SqlDraft, args: readonly Sql[], at: CallNode): Sql {
  const [item, zone] = args;
  const tz = zone?.sql ?? "{tz:String}";
  if (typeof item!.constant === "string") return asMoment(draft, item!, false, at, tz);
  if ((item!.type === "datetime" || item!.type === "date") && item!.text === undefined)
    return of(`toDateTime64(${item!.sql}, 6, ${tz})`, "datetime", item!.nullable);
  if (item!.type === "number" && item!.text === undefined)
    return of(`toDateTime(${item!.sql}, ${tz})`, "datetime", item!.nullable);
  return of(
    `parseDateTime64BestEffortOrNull(toString(${item!.text ?? item!.sql}), 6, ${tz})`,
    "datetime",
    true,
  );
}

function toDay(draft: SqlDraft, args: readonly Sql[], at: CallNode): Sql {
  const [item] = args;
  if (typeof item!.constant === "string") return asMoment(draft, item!, true, at);
  const isMoment = item!.type === "datetime" || item!.type === "date";
  if (isMoment && item!.text === undefined) {
    const { floor } = item!;
    const rounded = floor ? { floor: { ...floor, days: floor.days + 2 } } : {};
    // A file has days before 1970; queries need the type by which events are sorted.
    const name = draft.context.wholeNumbers ? "toDate32" : "toDate";
    return { ...of(`${name}(${item!.sql})`, "date", item!.nullable), ...rounded };
  }
  return of(textAs(`toString(${item!.text ?? item!.sql})`, "date"), "date", true);
}

/** `f('day', 3, moment)` and `f(moment, interval)`. */
const shifted =
  (sign: "+" | "-"): Shape["sql"] =>
  (_, args, at) => {
    const [one, two, three] = args;
    if (!three) return of(`(${one!.sql} ${sign} ${two!.sql})`, one!.type, anyNull(args));
    const unit = toIntervalUnit(one!, at);
    const moment = /Second|Minute|Hour/.test(unit) ? toMidnight(three) : three;
    const interval = `toInterval${unit}(${asType(two!, "number").sql})`;
    return of(`(${moment.sql} ${sign} ${interval})`, moment.type, two!.nullable || three.nullable);
  };

/** Functions that return one of their values: properties beside numbers are numbers. */
const alike =
  (name: string, first: number, step = 1): Shape["sql"] =>
  (_, args) => {
    const isValue = (i: number): boolean => i >= first && ((i - first) % step === 0 || i === args.length - 1);
    const values = args.filter((arg, i) => isValue(i) && arg.constant !== null);
    // Properties of several types have their text in common.
    const common = values.every((item) => item.type === values[0]?.type) ? values[0]?.type : "string";
    const type = values.find((entry) => entry.text === undefined)?.type ?? common ?? "unknown";
    const items = args.map((arg, i) => (isValue(i) ? asType(arg, type) : arg));
    const nullable =
      name === "ifNull" || name === "coalesce" ? items.every((entry) => entry.nullable) : anyNull(items);
    const text =
      items.every((entry, i) => !isValue(i) || entry.type === "string") && values.some((entry) => entry.text);
    const sql = `${name}(${items.map((entry) => entry.sql).join(", ")})`;
    return {
      ...of(sql, type, nullable || values.length < args.length - first),
      ...(text ? { text: sql } : {}),
    };
  };

const concat: Shape["sql"] = (_, args) => {
  const texts = args.map((arg) => {
    const text = arg.type === "string" ? arg.sql : `toString(${arg.sql})`;
    return arg.nullable ? `ifNull(${text}, '')` : text;
  });
  return of(`concat(${texts.join(", ")}, '')`, "string", false);
};

const jsonExtract: Shape["sql"] = (_, [json, ...path]) => {
  const from = json!.nullable ? `ifNull(${json!.sql}, '')` : json!.sql;
  return of(`JSONExtract(${[from, ...path.map(({ sql }) => sql)].join(", ")})`, "unknown", true);
};

/** The engine compares each item with each: two lists that only columns have are intersected by hashes instead. */
function membersIn(name: "hasAny" | "hasAll", args: readonly Sql[]): Sql {
  const [one, two] = args.map(({ sql }) => sql);
  const common = `arrayIntersect(${one}, ${two})`;
  const isKnown = args.some(({ cost }) => cost?.count !== undefined);
  const hashed = name === "hasAny" ? `notEmpty(${common})` : `(length(${common}) = arrayUniq(${two}))`;
  return of(isKnown ? `${name}(${one}, ${two})` : hashed, "boolean", false);
}

const shape = (args: string, sql: Shape["sql"]): Shape => ({ args: checkKinds(args), sql });
const now = (args: string): Shape =>
  shape(args, (_, values) => {
    const { sql = "{tz:String}" } = values.find(({ type }) => type === "string") ?? {};
    return of(nowSql.replace(/\{tz:String\}\)$/, `${sql})`), "datetime", false);
  });
const today = shape("-", () => of(`toDate(${nowSql})`, "date", false));
const trailing = shape("v?z", toMoment);
const day = shape("v", toDay);

/** Keyed by their names in small letters. */
export const functionShapes: Readonly<Record<string, Shape>> = {
  now: now("?z"),
  now64: now("?iz"),
  current_timestamp: now("?i"),
  today,
  current_date: today,
  yesterday: shape("-", () => of(`(toDate(${nowSql}) - 1)`, "date", false)),
  todatetime: trailing,
  todatetime64: shape("v?iz", (draft, args, at) =>
    toMoment(draft, args[2] ? [args[0]!, args[2]] : [args[0]!], at),
  ),
  parsedatetimebesteffort: trailing,
  parsedatetime64besteffort: trailing,
  to_timestamp: trailing,
  fromunixtimestamp: trailing,
  fromunixtimestamp64milli: shape("v", (_, [entry]) =>
    of(
      `fromUnixTimestamp64Milli(toInt64(${asType(entry!, "number").sql}), {tz:String})`,
      "datetime",
      entry!.nullable,
    ),
  ),
  totimezone: shape("vz", (_, args) =>
    of(`toTimeZone(${args[0]!.sql}, ${args[1]!.sql})`, "datetime", args[0]!.nullable),
  ),
  todate: day,
  to_date: day,
  date: day,
  toint: shape("v", (_, args) => cast(args, "Int64", "number")),
  tofloat: shape("v", (_, args) => cast(args, "Float64", "number")),
  todecimal: shape("vi", (_, args) => cast(args, "Float64", "number")),
  tobool: shape("v", (_, args) => cast(args, "Bool", "boolean")),
  touuid: shape("v", (_, args) => cast(args, "UUID", "uuid")),
  dateadd: shape("vv|uvv", shifted("+")),
  datesub: shape("vv|uvv", shifted("-")),
  timestampadd: shape("vv|uvv", shifted("+")),
  timestampsub: shape("vv|uvv", shifted("-")),
  if: shape("vvv", alike("if", 1)),
  multiif: shape("vvv*", alike("multiIf", 1, 2)),
  coalesce: shape("v*", alike("coalesce", 0)),
  ifnull: shape("vv", alike("ifNull", 0)),
  nullif: shape("vv", (draft, args, at) => {
    return { ...alike("nullIf", 0)(draft, args, at), nullable: true };
  }),
  greatest: shape("v*", alike("greatest", 0)),
  least: shape("v*", alike("least", 0)),
  concat: shape("v*", concat),
  jsonextract: shape("jt|jv*t", jsonExtract),
  hasany: shape("vv", (_, args) => membersIn("hasAny", args)),
  hasall: shape("vv", (_, args) => membersIn("hasAll", args)),
  split_part: shape("vvv", (_, [text, by, at]) => {
    const parts = `splitByString(${by!.sql}, ${text!.nullable ? `ifNull(${text!.sql}, '')` : text!.sql})`;
    return of(`arrayElement(${parts}, ${at!.sql})`, "string", false);
  }),
  json_agg: shape("v", (_, [entry]) => of(`toJSONString(groupArray(${entry!.sql}))`, "string", false)),
  string_agg: shape("vv", (_, [entry, by]) =>
    of(`arrayStringConcat(groupArray(toString(${entry!.sql})), ${by!.sql})`, "string", false),
  ),
};

const reasons: Readonly<Record<string, string>> = {
  matchesaction: "Actions do not exist here: name the events and properties instead.",
  incohort: "Cohorts do not exist here: name the properties instead.",
  sleep: "A query does not wait.",
  arrayfold: "It works too long on one row.",
  arrayreduce: "Aggregate after ARRAY JOIN instead.",
  sparkline: "It draws in PostHog's own pages only.",
  recordingbutton: "It draws in PostHog's own pages only.",
};

/** Refuses a function that PostHog has, with the reason. */
export function refuseFunction(name: string, hint: string, at: CallNode): never {
  const lowerName = name.toLowerCase();
  const reason = Object.hasOwn(reasons, lowerName) ? reasons[lowerName] : undefined;
  refuse(`The function ${quotedName(name)} is not supported.${reason ? ` ${reason}` : hint}`, at);
}
