// Functions whose SQL is no plain call in the engine, and those that are refused, with the reason.

import type { CallNode } from "../../tree.ts";
import { momentOf } from "../compare.ts";
import { asType, midnightOf, nowSql, type SqlDraft, textAs } from "../draft.ts";
import { quotedName, refuse } from "../problem.ts";
import type { Sql, SqlType } from "../value.ts";

interface Shape {
  argsMin: number;
  argsMax: number;
  sql: (draft: SqlDraft, args: readonly Sql[], at: CallNode) => Sql;
}

const of = (sql: string, type: SqlType, nullable: boolean): Sql => ({ sql, type, nullable });
const anyNull = (args: readonly Sql[]): boolean => args.some(({ nullable }) => nullable);

/** A conversion that yields null for what cannot be converted. */
function cast(args: readonly Sql[], to: string, type: SqlType): Sql {
  const [one] = args;
  return of(`accurateCastOrNull(${one!.text ?? one!.sql}, '${to}')`, type, true);
}

function toMoment(draft: SqlDraft, args: readonly Sql[], at: CallNode): Sql {
  const [one, zone] = args;
  const tz = zone?.sql ?? "{tz:String}";
  if (typeof one!.constant === "string") return momentOf(draft, one!, false, at, tz);
  if ((one!.type === "datetime" || one!.type === "date") && one!.text === undefined)
    return of(`toDateTime64(${one!.sql}, 6, ${tz})`, "datetime", one!.nullable);
  if (one!.type === "number" && one!.text === undefined)
    return of(`toDateTime(${one!.sql}, ${tz})`, "datetime", one!.nullable);
  return of(
    `parseDateTime64BestEffortOrNull(toString(${one!.text ?? one!.sql}), 6, ${tz})`,
    "datetime",
    true,
  );
}

function toDay(draft: SqlDraft, args: readonly Sql[], at: CallNode): Sql {
  const [one] = args;
  if (typeof one!.constant === "string") return momentOf(draft, one!, true, at);
  const isMoment = one!.type === "datetime" || one!.type === "date";
  if (isMoment && one!.text === undefined) {
    const { floor } = one!;
    const rounded = floor ? { floor: { ...floor, days: floor.days + 2 } } : {};
    return { ...of(`toDate(${one!.sql})`, "date", one!.nullable), ...rounded };
  }
  return of(textAs(`toString(${one!.text ?? one!.sql})`, "date"), "date", true);
}

const units = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];

function unitOf(one: Sql | undefined, at: CallNode): string {
  const unit = String(one?.constant).toLowerCase().replace(/s$/, "");
  if (!units.includes(unit)) refuse(`The unit is one of ${units.join(", ")}.`, at);
  return `${unit[0]!.toUpperCase()}${unit.slice(1)}`;
}

/** `f('day', 3, moment)` and `f(moment, interval)`. */
const shifted =
  (sign: "+" | "-"): Shape["sql"] =>
  (_, args, at) => {
    const [one, two, three] = args;
    if (!three) return of(`(${one!.sql} ${sign} ${two!.sql})`, one!.type, anyNull(args));
    const unit = unitOf(one, at);
    const moment = /Second|Minute|Hour/.test(unit) ? midnightOf(three) : three;
    const interval = `toInterval${unit}(${asType(two!, "number").sql})`;
    return of(`(${moment.sql} ${sign} ${interval})`, moment.type, two!.nullable || three.nullable);
  };

/** Properties of several types have their text in common. */
function propertiesType(values: readonly Sql[]): SqlType {
  const [first] = values;
  return values.every((one) => one.type === first?.type) ? (first?.type ?? "unknown") : "string";
}

/** Functions that return one of their values: properties beside numbers are numbers. */
const alike =
  (name: string, first: number, step = 1): Shape["sql"] =>
  (_, args) => {
    const isValue = (i: number): boolean => i >= first && ((i - first) % step === 0 || i === args.length - 1);
    const values = args.filter((one, i) => isValue(i) && one.constant !== null);
    const type = values.find((one) => one.text === undefined)?.type ?? propertiesType(values);
    const same = args.map((one, i) => (isValue(i) ? asType(one, type) : one));
    const nullable =
      name === "ifNull" || name === "coalesce" ? same.every((one) => one.nullable) : anyNull(same);
    const text =
      same.every((one, i) => !isValue(i) || one.type === "string") && values.some((one) => one.text);
    const sql = `${name}(${same.map((one) => one.sql).join(", ")})`;
    return {
      ...of(sql, type, nullable || values.length < args.length - first),
      ...(text ? { text: sql } : {}),
    };
  };

const concat: Shape["sql"] = (_, args) => {
  const texts = args.map((one) => {
    const text = one.type === "string" ? one.sql : `toString(${one.sql})`;
    return one.nullable ? `ifNull(${text}, '')` : text;
  });
  return of(`concat(${texts.join(", ")}, '')`, "string", false);
};

/** Only these types: the engine's parsers of other types are less tested. */
const plainType =
  /^(?:(?:Array|Nullable|Tuple|Map)\(|\)|, ?|U?Int(?:8|16|32|64)|Float(?:32|64)|String|Bool|Date|DateTime|UUID)+$/;

const jsonExtract: Shape["sql"] = (draft, args, at) => {
  const type = args.at(-1)?.constant;
  if (typeof type !== "string" || type.length > 200 || !plainType.test(type)) {
    refuse(
      "The type is a text of String, Int64, Float64, Bool, UUID, Array(…), Nullable(…), Tuple(…), Map(…).",
      at,
    );
  }
  const inner = args
    .slice(0, -1)
    .map((one, i) => (i === 0 && one.nullable ? `ifNull(${one.sql}, '')` : one.sql));
  return of(`JSONExtract(${inner.join(", ")}, ${draft.bind("String", type)})`, "unknown", true);
};

const shape = (argsMin: number, argsMax: number, sql: Shape["sql"]): Shape => ({ argsMin, argsMax, sql });
const now = shape(0, 1, () => of(nowSql, "datetime", false));
const today = shape(0, 0, () => of(`toDate(${nowSql})`, "date", false));
const trailing = shape(1, 2, toMoment);
const day = shape(1, 1, toDay);

/** By their names in small letters. */
export const functionShapes: Readonly<Record<string, Shape>> = {
  now,
  now64: now,
  current_timestamp: now,
  today,
  current_date: today,
  yesterday: shape(0, 0, () => of(`(toDate(${nowSql}) - 1)`, "date", false)),
  todatetime: trailing,
  todatetime64: shape(1, 3, (draft, args, at) =>
    toMoment(draft, args[2] ? [args[0]!, args[2]] : [args[0]!], at),
  ),
  parsedatetimebesteffort: trailing,
  parsedatetime64besteffort: trailing,
  to_timestamp: trailing,
  fromunixtimestamp: trailing,
  fromunixtimestamp64milli: shape(1, 1, (_, [one]) =>
    of(
      `fromUnixTimestamp64Milli(toInt64(${asType(one!, "number").sql}), {tz:String})`,
      "datetime",
      one!.nullable,
    ),
  ),
  totimezone: shape(2, 2, (_, args) =>
    of(`toTimeZone(${args[0]!.sql}, ${args[1]!.sql})`, "datetime", args[0]!.nullable),
  ),
  todate: day,
  to_date: day,
  date: day,
  toint: shape(1, 1, (_, args) => cast(args, "Int64", "number")),
  tofloat: shape(1, 1, (_, args) => cast(args, "Float64", "number")),
  todecimal: shape(2, 2, (_, args) => cast(args, "Float64", "number")),
  tobool: shape(1, 1, (_, args) => cast(args, "Bool", "boolean")),
  touuid: shape(1, 1, (_, args) => cast(args, "UUID", "uuid")),
  dateadd: shape(2, 3, shifted("+")),
  datesub: shape(2, 3, shifted("-")),
  timestampadd: shape(2, 3, shifted("+")),
  timestampsub: shape(2, 3, shifted("-")),
  if: shape(3, 3, alike("if", 1)),
  multiif: shape(3, 200, alike("multiIf", 1, 2)),
  coalesce: shape(1, 200, alike("coalesce", 0)),
  ifnull: shape(2, 2, alike("ifNull", 0)),
  nullif: shape(2, 2, (draft, args, at) => {
    const call = alike("nullIf", 0)(draft, args, at);
    return { ...call, nullable: true };
  }),
  greatest: shape(1, 200, alike("greatest", 0)),
  least: shape(1, 200, alike("least", 0)),
  concat: shape(1, 200, concat),
  jsonextract: shape(2, 100, jsonExtract),
  split_part: shape(3, 3, (_, [text, by, at]) => {
    const parts = `splitByString(${by!.sql}, ${text!.nullable ? `ifNull(${text!.sql}, '')` : text!.sql})`;
    return of(`arrayElement(${parts}, ${at!.sql})`, "string", false);
  }),
  json_agg: shape(1, 1, (_, [one]) => of(`toJSONString(groupArray(${one!.sql}))`, "string", false)),
  string_agg: shape(2, 2, (_, [one, by]) =>
    of(`arrayStringConcat(groupArray(toString(${one!.sql})), ${by!.sql})`, "string", false),
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
