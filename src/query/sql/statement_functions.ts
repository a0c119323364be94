// The functions that a finished statement may call: those of the language, and those that the compiler uses; and which
// names of the engine's their arguments may be.

import { toEngineZone } from "../../storage/clickhouse/zones.ts";
import { sqlAggregate } from "./compile/lists/aggregates.ts";
import { functionsIn, sqlFunctions } from "./compile/lists/functions.ts";
import { chooseKinds } from "./compile/lists/kinds.ts";

/** Operators as the engine names them, and functions of shapes, columns and filters that the lists do not have. */
const ownFunctions = functionsIn<object>(`
unknown v*: and or xor not equals notEquals less lessOrEquals greater greaterOrEquals like notLike ilike notILike in
unknown v*: globalIn globalNotIn notIn exists toBool toInt64 toUInt128 toFloat64OrNull toDate toDate32 if multiIf
unknown v*: ifNull nullIf coalesce greatest least concat hasAny hasAll
unknown vz: toTimeZone
unknown v?z: toDateTime fromUnixTimestamp64Milli
unknown v?iz: toDateTime64 parseDateTime64BestEffort parseDateTime64BestEffortOrNull
unknown v*t: JSONExtract
unknown vt: CAST _CAST accurateCastOrNull
`);

/** The kinds of their arguments, by their exact spelling. */
const functions: ReadonlyMap<string, string> = new Map(
  [...sqlFunctions.values(), ...ownFunctions.values()].map(({ name, args }) => [name, args]),
);

/** Types of the language, of parameters and of our own conversions. */
const type =
  /^(?:(?:Array|Nullable|Tuple|Map)\(|\)|, ?|U?Int\d{1,3}|Float(?:32|64)|String|Bool|UUID|Date(?:32|Time)?)+$/;

const names: Readonly<Record<string, (value: string) => boolean>> = {
  z: (value) => toEngineZone(value) === value,
  t: (value) => type.test(value),
  u: (value) => /^[a-z]+$/.test(value),
  f: () => true,
  p: () => true,
};

/**
 * What is wrong with a call; undefined when nothing is.
 * @param readArguments returns constants of text, and undefined for each other argument.
 */
export function findWrong(name: string, readArguments: () => (string | undefined)[]): string | undefined {
  const args = functions.get(name);
  if (args === undefined) return isAggregate(name) ? undefined : `the function ${name}`;
  if (!/[ztufp]/.test(args)) return undefined;
  const values = readArguments();
  const kinds = chooseKinds(args, values.length);
  const wrong = values.some((value, i) => {
    const isName = names[kinds[i] ?? ""];
    return isName && (value === undefined || !isName(value));
  });
  return wrong ? `an argument of ${name}` : undefined;
}

/** An aggregate of the list, with what FILTER and DISTINCT append to its name. */
function isAggregate(name: string): boolean {
  if (sqlAggregate(name)?.name === name) return true;
  const inner = name.replace(/(?:If|Distinct)$/, "");
  return inner !== name && isAggregate(inner);
}
