// What each argument of a function may be. What the engine reads as a name or a program (a zone, a unit, a format, a
// pattern) is a constant of the query that is checked here; what multiplies has a bound.

import { limits } from "../../../../core/limits.ts";
import { wordsIn } from "../../../../core/words.ts";
import { countSteps } from "../../../../storage/events/pattern_steps.ts";
import type { Placed } from "../../tree.ts";
import { asType, constantSql, type SqlDraft } from "../draft.ts";
import { quotedName, refuse } from "../problem.ts";
import type { Sql } from "../value.ts";
import { countRange } from "./cost.ts";
import { kindsOf } from "./kinds.ts";
import { functionLimits } from "./limits.ts";

type Check = (draft: SqlDraft, value: Sql, at: Placed, name: string) => Sql;

const { countMax, nameCharsMax, pathCharsMax, patternCharsMax, shortTextCharsMax, unknownCountMax } =
  functionLimits;

/** By the letters of the lists. */
const checks: Readonly<Record<string, Check>> = {
  /** A value, which the engine reads as nothing else. */
  v: (_, value) => value,
  /** A time zone. */
  z: (draft, value, at) => ({ ...value, sql: draft.zone(readText(value, "A time zone", at), at) }),
  /** A moment that intervals begin with, or a time zone. */
  o: (draft, value, at, name) =>
    value.type === "datetime" || value.type === "date" ? value : checks["z"]!(draft, value, at, name),
  /** A unit of time. */
  u: (draft, value, at) => constantSql(draft, readUnit(value, at, knownUnits)),
  /** The format of a moment. */
  f: (_, value, at) => {
    const format = readText(value, "The format", at);
    if (
      format.length <= nameCharsMax &&
      !/%(?![abcCdDefFgGhHiIjklmMnprQRsStTuVwWyYz%])/.test(format.replaceAll("%%", ""))
    )
      return value;
    return refuse(
      `A format has at most ${nameCharsMax} characters, and after each % a letter that it knows.`,
      at,
    );
  },
  /** A text with {} or {0}. */
  m: (_, value, at) => (readText(value, "The template", at), value),
  /** A regular expression; what is none is the engine's to refuse. */
  r: (_, value, at) => {
    const pattern = readText(value, "A pattern", at);
    if (pattern.length > patternCharsMax) refuse(`A pattern has at most ${patternCharsMax} characters.`, at);
    if (countSteps(pattern) <= limits.patternStepsMax) return value;
    return refuse(`A pattern with its repetitions has at most ${limits.patternStepsMax} steps.`, at);
  },
  /** The path of a member in JSON, without ranges of indexes: the engine walks through those that do not exist. */
  p: (_, value, at) => {
    const path = readText(value, "The path", at);
    const isPlain = path
      .split("[")
      .every((part, i) => i === 0 || /^(?:\d{1,9}|\*|'[^']{0,200}'|"[^"]{0,200}")\]/.test(part));
    if (isPlain && path.length <= pathCharsMax) return value;
    return refuse(`The path is like $.name[0].other, with at most ${pathCharsMax} characters.`, at);
  },
  /** Texts to search for. */
  k: (_, value, at, name) =>
    value.cost?.isFixed ? value : refuse(`${quotedName(name)} searches for texts of the query only.`, at),
  /** A small number that the function is made with. */
  i: (_, value, at, name) => {
    const number = Number(typeof value.constant === "number" ? value.constant : Number.NaN);
    if (Number.isInteger(number) && number >= 0 && number <= 1000) return value;
    return refuse(`${quotedName(name)} takes a whole number up to 1000 of the query here.`, at);
  },
  /** A type of the engine's: those whose parsers are well tested. */
  t: (_, value, at) => {
    const type = typeof value.constant === "string" ? value.constant : "";
    if (type.length <= nameCharsMax && plainType.test(type)) return value;
    return refuse(
      "The type is a text of String, Int64, Float64, Bool, UUID, Array(…), Nullable(…), Tuple(…), Map(…).",
      at,
    );
  },
  /** How long or how many its result is. */
  n: (draft, value, at, name) => {
    if (value.constant === undefined) return { ...value, sql: boundCount(draft, value.sql) };
    if (Math.abs(Number(value.constant)) <= countMax) return value;
    return refuse(`${quotedName(name)} makes at most ${countMax}.`, at);
  },
  /** A limit of range(), which boundRange() checks. */
  g: (_, value) => value,
  /** A text that takes long by its length: its beginning. */
  s: (draft, value) => {
    const { sql, nullable } = asType(value, "string");
    return {
      sql: `substring(${sql}, 1, ${draft.bind("UInt16", shortTextCharsMax)})`,
      type: "string",
      nullable,
    };
  },
  /** A parameter of an aggregate: a number, or a mode of windowFunnel(). */
  x: (_, value, at) =>
    typeof value.constant === "number" && Math.abs(value.constant) <= 1e9
      ? value
      : refuse("A parameter of an aggregate is a number.", at),
  w: (_, value, at) =>
    modes.has(String(value.constant)) ? value : refuse(`The modes are ${[...modes].join(", ")}.`, at),
};

const plainType =
  /^(?:(?:Array|Nullable|Tuple|Map)\(|\)|, ?|U?Int(?:8|16|32|64)|Float(?:32|64)|String|Bool|Date|DateTime|UUID)+$/;
const modes = new Set(wordsIn<string>("strict_deduplication strict_order strict_increase strict_once"));
const intervalUnits = new Set(wordsIn<string>("second minute hour day week month quarter year"));
/** Units as dateDiff() and dateName() know them, short ones too. */
const knownUnits = new Set([
  ...intervalUnits,
  ...wordsIn<string>(
    "millisecond microsecond nanosecond dayofyear weekday ms us ns s ss mi n h hh d dd wk ww m mm q qq yy yyyy",
  ),
]);

function readText({ constant }: Sql, what: string, at: Placed): string {
  return typeof constant === "string" ? constant : refuse(`${what} is a text of the query.`, at);
}

function readUnit({ constant }: Sql, at: Placed, known: ReadonlySet<string>): string {
  const unit = String(constant).toLowerCase();
  const found = [unit, unit.replace(/s$/, "")].find((one) => known.has(one));
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
  const letters = kindsOf(args, values.length);
  if (letters.startsWith("g")) return boundRange(draft, values, at);
  return values.map((value, i) => checks[letters[i]!]!(draft, value, at, name));
}

/** A count that a column says. Beyond the bound it becomes one that the engine refuses. */
function boundCount(draft: SqlDraft, sql: string): string {
  return `if(${sql} > ${draft.bind("UInt16", unknownCountMax)}, 4294967295, ${sql})`;
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
