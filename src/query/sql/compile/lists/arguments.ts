// Lists what each argument of a function may be. What the engine reads as a name or a program (a zone, a unit, a
// format, a pattern) is a constant of the query that is checked here; what multiplies has a bound.

import { limits } from "../../../../core/limits.ts";
import { wordsIn } from "../../../../core/words.ts";
import { countSteps } from "../../../../storage/events/pattern_steps.ts";
import { soundObject } from "../../../../storage/events/property_filter.ts";
import type { Placed } from "../../tree.ts";
import { asType, constantSql, type SqlDraft } from "../draft.ts";
import { quotedName, refuse, type Sql } from "../value.ts";
import { countRange } from "./cost.ts";
import { chooseKinds } from "./kinds.ts";
import { functionLimits } from "./limits.ts";

type Check = (draft: SqlDraft, value: Sql, at: Placed, name: string) => Sql;

const { countMax, nameCharsMax, pathCharsMax, patternCharsMax, shortTextCharsMax, unknownCountMax } =
  functionLimits;

/** A kind that is a constant of the query; `why` is the refusal of one for which `holds` is false. */
const constant =
  (holds: (value: unknown) => boolean, why: string): Check =>
  (_, value, at) =>
    holds(value.constant) ? value : refuse(why, at);
const isText = (value: unknown): value is string => typeof value === "string";
const isShort = (value: unknown, pattern: RegExp, most: number): boolean =>
  isText(value) && value.length <= most && pattern.test(value);
const isNumber = (value: unknown, least: number, most: number): boolean =>
  typeof value === "number" && value >= least && value <= most;

const modes = new Set<unknown>(wordsIn("strict_deduplication strict_order strict_increase strict_once"));
const unknownFormat = /%(?![abcCdDefFgGhHiIjklmMnprQRsStTuVwWyYz])/;
const plainStep = /^(?:\d{1,9}|\*|'[^']{0,200}'|"[^"]{0,200}")\]/;
const isPath = (path: unknown): boolean =>
  isText(path) &&
  path.length <= pathCharsMax &&
  path
    .split("[")
    .slice(1)
    .every((step) => plainStep.test(step));

/** Keyed by the letters of the lists. */
const checks: Readonly<Record<string, Check>> = {
  /** A value, which the engine reads as nothing else, and a limit of range(), which boundRange() checks. */
  v: (_, value) => value,
  g: (_, value) => value,
  /** A time zone. */
  z: (draft, value, at) =>
    isText(value.constant)
      ? { ...value, sql: draft.zone(value.constant, at) }
      : refuse("A time zone is a text of the query.", at),
  /** A moment that intervals begin with, or a time zone. */
  o: (draft, value, at, name) =>
    value.type === "datetime" || value.type === "date" ? value : checks["z"]!(draft, value, at, name),
  /** A unit of time. */
  u: (draft, value, at) => constantSql(draft, readUnit(value, at, knownUnits)),
  /** The format of a moment. */
  f: constant(
    (value) =>
      isText(value) && value.length <= nameCharsMax && !unknownFormat.test(value.replaceAll("%%", "")),
    `The format is a text of the query, at most ${nameCharsMax} characters, and after each % a letter that it knows.`,
  ),
  /** A text with {} or {0}. */
  m: constant(isText, "The template is a text of the query."),
  /** A regular expression; what is none is the engine's to refuse. */
  r: (_, value, at) => {
    const pattern = value.constant;
    if (!isText(pattern)) return refuse("A pattern is a text of the query.", at);
    if (pattern.length > patternCharsMax) refuse(`A pattern has at most ${patternCharsMax} characters.`, at);
    if (countSteps(pattern) <= limits.patternStepsMax) return value;
    return refuse(`A pattern with its repetitions has at most ${limits.patternStepsMax} steps.`, at);
  },
  /** JSON: of a column's, numbers that the engine cannot read are texts. */
  j: (_, value) => (value.type === "json" ? { ...value, sql: soundObject(value.sql) } : value),
  /** The path of a member in JSON, without ranges of indexes: the engine walks through those that do not exist. */
  p: constant(isPath, `The path is a text like $.name[0].other, with at most ${pathCharsMax} characters.`),
  /** Texts to search for. */
  k: (_, value, at, name) =>
    value.cost?.isFixed ? value : refuse(`${quotedName(name)} searches for texts of the query only.`, at),
  /** A small number that the function is made with. */
  i: constant(
    (value) => isNumber(value, 0, 1000) && Number.isInteger(value),
    "A whole number of the query, up to 1000, is needed here.",
  ),
  /** A type of the engine's: those whose parsers are well tested. */
  t: constant(
    (value) => isShort(value, plainType, nameCharsMax),
    "The type is a text of String, Int64, Float64, Bool, UUID, Array(…), Nullable(…), Tuple(…), Map(…).",
  ),
  /** How long or how many its result is. */
  n: (draft, value, at, name) => {
    if (value.constant === undefined) return { ...value, sql: boundCount(draft, value.sql) };
    if (Math.abs(Number(value.constant)) <= countMax) return value;
    return refuse(`${quotedName(name)} makes at most ${countMax}.`, at);
  },
  /** A text that takes long by its length: its beginning. */
  s: (draft, value) => {
    const { sql, nullable } = asType(value, "string");
    const start = `substring(${sql}, 1, ${draft.bind("UInt16", shortTextCharsMax)})`;
    return { sql: start, type: "string", nullable };
  },
  /** A parameter of an aggregate: a number, or a mode of windowFunnel(). */
  x: constant((value) => isNumber(value, -1e9, 1e9), "A parameter of an aggregate is a number."),
  w: constant((value) => modes.has(value), `The modes are ${[...modes].join(", ")}.`),
};

const plainType =
  /^(?:(?:Array|Nullable|Tuple|Map)\(|\)|, ?|U?Int(?:8|16|32|64)|Float(?:32|64)|String|Bool|Date|DateTime|UUID)+$/;
const intervalUnits = new Set(wordsIn<string>("second minute hour day week month quarter year"));
/** Units as dateDiff() and dateName() know them, short ones too. */
const knownUnits = new Set([
  ...intervalUnits,
  ...wordsIn<string>(
    "millisecond microsecond nanosecond dayofyear weekday ms us ns s ss mi n h hh d dd wk ww m mm q qq yy yyyy",
  ),
]);

function readUnit({ constant }: Sql, at: Placed, known: ReadonlySet<string>): string {
  const unit = String(constant).toLowerCase();
  const found = [unit, unit.replace(/s$/, "")].find((name) => known.has(name));
  return found ?? refuse(`The unit is one of ${[...intervalUnits].join(", ")}.`, at);
}

/** A unit as the engine's names of intervals have it. */
export function toIntervalUnit(value: Sql, at: Placed): string {
  const unit = readUnit(value, at, intervalUnits);
  return `${unit[0]!.toUpperCase()}${unit.slice(1)}`;
}

/** The arguments as they stand in the statement. @throws SqlProblem for one that is not of its kind. */
export function checkArguments(
  draft: SqlDraft,
  { args, name }: { args: string; name: string },
  values: readonly Sql[],
  at: Placed,
): Sql[] {
  if (/^[v?*]+$/.test(args)) return [...values];
  const letters = chooseKinds(args, values.length);
  if (letters.startsWith("g")) return boundRange(draft, values, at);
  return values.map((value, i) => checks[letters[i]!]!(draft, value, at, name));
}

/** A count that a column says. Beyond the bound it becomes one that the engine refuses. */
function boundCount(draft: SqlDraft, sql: string): string {
  return `if(${sql} > ${draft.bind("UInt16", unknownCountMax)}, 4294967295, ${sql})`;
}

/** An array whose length no estimate knows, for a lambda of so many calls: the engine refuses one that is too long. */
export function boundItems(draft: SqlDraft, array: Sql, steps: number): Sql {
  if (steps <= functionLimits.itemStepsUsual || array.cost?.count !== undefined) return array;
  const most = draft.bind("UInt32", Math.floor(functionLimits.blockStepsMax / steps));
  const name = draft.fresh("l");
  const whole = `arrayResize(${name}, if(length(${name}) > ${most}, 4294967295, length(${name})))`;
  return { ...array, sql: `arrayElement(arrayMap(${name} -> ${whole}, [${array.sql}]), 1)` };
}

/** `range(to)`, `range(from, to)`, `range(from, to, step)`. */
function boundRange(draft: SqlDraft, values: readonly Sql[], at: Placed): Sql[] {
  if (countRange(values) !== undefined) return [...values];
  const [from, to, step] = values.length === 1 ? [undefined, values[0]!] : values;
  if (!from) return [{ ...to!, sql: boundCount(draft, to!.sql) }];
  const stride = step ? step.constant : 1;
  if (typeof stride !== "number" || stride === 0) refuse("The step of range() is a number, and not 0.", at);
  const most = draft.bind("Int64", stride * unknownCountMax);
  const far = draft.bind("Int64", Math.sign(stride) * 4_294_967_295);
  const isBeyond = `${to!.sql} - ${from.sql} ${stride < 0 ? "<" : ">"} ${most}`;
  const end = { ...to!, sql: `if(${isBeyond}, ${from.sql} + ${far}, ${to!.sql})` };
  return step ? [from, end, step] : [from, end];
}
