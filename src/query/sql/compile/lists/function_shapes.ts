// Functions whose SQL is no plain call in the engine, and those that are refused, with the reason.

import { limits } from "../../../../core/limits.ts";
import { wordsIn } from "../../../../core/words.ts";
import { countSteps } from "../../../../storage/events/pattern_steps.ts";
import type { CallNode } from "../../tree.ts";
import { condition } from "../compare.ts";
import { asType, constantSql, type SqlDraft, toMidnight } from "../draft.ts";
import { quotedName, refuse, type Sql, type SqlType } from "../value.ts";
import { checkArguments } from "./arguments.ts";
import { anyNull, makeSql, momentShapes, type Shape, shape } from "./moment_shapes.ts";

/** A conversion that yields null for what cannot be converted. */
function cast(args: readonly Sql[], to: string, type: SqlType): Sql {
  const [item] = args;
  return makeSql(`accurateCastOrNull(${item!.text ?? item!.sql}, '${to}')`, type, true);
}

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
      ...makeSql(sql, type, nullable || values.length < args.length - first),
      ...(text ? { text: sql } : {}),
    };
  };

const concat: Shape["sql"] = (_, args) => {
  const texts = args.map((arg) => {
    const text = arg.type === "string" ? arg.sql : `toString(${arg.sql})`;
    return arg.nullable ? `ifNull(${text}, '')` : text;
  });
  return makeSql(`concat(${texts.join(", ")}, '')`, "string", false);
};

const jsonExtract: Shape["sql"] = (_, [json, ...path]) => {
  const from = json!.nullable ? `ifNull(${json!.sql}, '')` : json!.sql;
  return makeSql(`JSONExtract(${[from, ...path.map(({ sql }) => sql)].join(", ")})`, "unknown", true);
};

/** The engine compares each item with each: two lists that only columns have are intersected by hashes instead. */
function membersIn(name: "hasAny" | "hasAll", args: readonly Sql[]): Sql {
  const [one, two] = args.map(({ sql }) => sql);
  const common = `arrayIntersect(${one}, ${two})`;
  const isKnown = args.some(({ cost }) => cost?.count !== undefined);
  const hashed = name === "hasAny" ? `notEmpty(${common})` : `(length(${common}) = arrayUniq(${two}))`;
  return makeSql(isKnown ? `${name}(${one}, ${two})` : hashed, "boolean", false);
}

/** A list of patterns, searched one after the other: the engine's own search for several takes what RE2 does not. */
function listMatches([text]: readonly Sql[], at: CallNode, draft: SqlDraft): string[] {
  const list = at.args[1];
  const patterns = list?.node === "Array" || list?.node === "Tuple" ? list.exprs : [];
  if (patterns.length === 0) refuse("The patterns are a list of texts of the query.", at);
  const checked = patterns.map((item) =>
    constantSql(draft, item.node === "Constant" ? item.value : null, item),
  );
  const bounded = checkArguments(draft, { args: "r*", name: at.name }, checked, at);
  const steps = bounded.reduce((sum, { constant }) => sum + countSteps(String(constant)), 0);
  if (steps > limits.patternStepsMax)
    refuse(`Patterns with their repetitions have at most ${limits.patternStepsMax} steps.`, at);
  const searched = text!.nullable ? `ifNull(${text!.sql}, '')` : text!.sql;
  return bounded.map(({ sql }) => `match(${searched}, ${sql})`);
}

/** The start of the windows of a moment, of one length; those that begin at every `step` have several. */
function windowStart([moment, step]: readonly Sql[]): string {
  return `toStartOfInterval(${toMidnight(moment!).sql}, ${step!.sql})`;
}

/** Keyed by their names in small letters. */
export const functionShapes: Readonly<Record<string, Shape>> = {
  ...momentShapes,
  toint: shape("v", (_, args) => cast(args, "Int64", "number")),
  tofloat: shape("v", (_, args) => cast(args, "Float64", "number")),
  todecimal: shape("vi", (_, args, at) => {
    const scale = Number(args[1]!.constant);
    if (scale > 18) refuse("A decimal has at most 18 digits behind its point.", at);
    return cast(args, `Decimal64(${scale})`, "number");
  }),
  tobool: shape("v", (_, args) => cast(args, "Bool", "boolean")),
  touuid: shape("v", (_, args) => cast(args, "UUID", "uuid")),
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
  multimatchany: shape("vk", (draft, args, at) =>
    makeSql(`toBool(${listMatches(args, at, draft).join(" OR ")})`, "boolean", false),
  ),
  multimatchanyindex: shape("vk", (draft, args, at) => {
    const found = listMatches(args, at, draft).map((match, i) => `${match}, ${i + 1}`);
    return makeSql(`multiIf(${found.join(", ")}, 0)`, "number", false);
  }),
  multimatchallindices: shape("vk", (draft, args, at) => {
    const found = listMatches(args, at, draft).map((match, i) => `if(${match}, ${i + 1}, 0)`);
    return makeSql(`arrayFilter(i -> i > 0, [${found.join(", ")}])`, "array", false);
  }),
  tumblestart: shape("vv", (_, args) => makeSql(windowStart(args), "datetime", anyNull(args))),
  tumbleend: shape("vv", (_, args) =>
    makeSql(`(${windowStart(args)} + ${args[1]!.sql})`, "datetime", anyNull(args)),
  ),
  tumble: shape("vv", (_, args) => {
    const start = windowStart(args);
    return makeSql(`(${start}, ${start} + ${args[1]!.sql})`, "unknown", false);
  }),
  split_part: shape("vvv", (_, [text, by, at]) => {
    const parts = `splitByString(${by!.sql}, ${text!.nullable ? `ifNull(${text!.sql}, '')` : text!.sql})`;
    return makeSql(`arrayElement(${parts}, ${at!.sql})`, "string", false);
  }),
  every: shape("v", (_, [entry]) => makeSql(`toBool(min(${condition(entry!)}))`, "boolean", false)),
  json_agg: shape("v", (_, [entry]) => makeSql(`toJSONString(groupArray(${entry!.sql}))`, "string", false)),
  string_agg: shape("vv", (_, [entry, by]) =>
    makeSql(`arrayStringConcat(groupArray(toString(${entry!.sql})), ${by!.sql})`, "string", false),
  ),
};

const reasons: Readonly<Record<string, string>> = {
  matchesaction: "Actions do not exist here: name the events and properties instead.",
  incohort: "Cohorts do not exist here: name the properties instead.",
  sleep: "A query does not wait.",
  arrayfold: "It works too long on one row.",
  arrayreduce: "Aggregate after ARRAY JOIN instead.",
  sparkline: "It draws in PostHog's own pages only.",
  hop: "An event is in several of its windows: use tumble().",
  hopstart: "An event is in several of its windows: use tumbleStart().",
  hopend: "An event is in several of its windows: use tumbleEnd().",
  ...Object.fromEntries(
    wordsIn("multifuzzymatchany multifuzzymatchanyindex multifuzzymatchallindices").map((name) => [
      name,
      "It works too long on one row: use multiMatchAny().",
    ]),
  ),
  recordingbutton: "It draws in PostHog's own pages only.",
};

/** Refuses a function that PostHog has, with the reason. */
export function refuseFunction(name: string, hint: string, at: CallNode): never {
  const lowerName = name.toLowerCase();
  const reason = Object.hasOwn(reasons, lowerName) ? reasons[lowerName] : undefined;
  refuse(`The function ${quotedName(name)} is not supported.${reason ? ` ${reason}` : hint}`, at);
}
