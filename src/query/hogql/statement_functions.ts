// The functions that a finished statement may call: those of the language, and those that the compiler uses.

import { sqlAggregate } from "../sql/compile/lists/aggregates.ts";
import { sqlFunctions } from "../sql/compile/lists/functions.ts";

/** Operators as the engine names them, and functions of shapes, columns and filters that the lists do not have. */
const ownFunctions =
  "and or not equals notEquals less lessOrEquals greater greaterOrEquals like notLike ilike notILike in globalIn " +
  "globalNotIn exists CAST _CAST accurateCastOrNull toBool toInt64 toUInt128 toFloat64OrNull toDate toDate32 " +
  "toDateTime toDateTime64 toTimeZone parseDateTime64BestEffort parseDateTime64BestEffortOrNull " +
  "fromUnixTimestamp64Milli if multiIf ifNull nullIf coalesce greatest least concat JSONExtract";

/** By their exact spelling. */
const functions: ReadonlySet<string> = new Set([
  ...ownFunctions.split(" "),
  ...[...sqlFunctions.values()].map(({ name }) => name),
]);

export function mayCall(name: string): boolean {
  return functions.has(name) || isAggregate(name);
}

/** An aggregate of the list, with what FILTER and DISTINCT append to its name. */
function isAggregate(name: string): boolean {
  if (sqlAggregate(name)?.name === name) return true;
  const inner = name.replace(/(?:If|Distinct)$/, "");
  return inner !== name && isAggregate(inner);
}
