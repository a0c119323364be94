// The aggregate functions that a query may call, and what may follow their names.

import type { SqlType } from "../value.ts";
import { functionsIn, type SqlFunction } from "./functions.ts";

export interface SqlAggregate extends SqlFunction {
  /** Kinds of the parameters in brackets before the arguments; none where it is absent. */
  params?: string;
}

/** The engine's spelling of a name includes what follows it. A numeric one reads its first argument as a number. */
const aggregates = functionsIn<Pick<SqlAggregate, "params">>(
  `
number ?v: count
number v*: uniq uniqExact uniqHLL12 uniqTheta uniqCombined uniqCombined64 countDistinct=uniqExact boolAnd=min
number v*: boolOr=max
number v: approx_distinct=uniq medianExact medianExactLow medianExactHigh medianTiming medianTDigest
number v: medianBFloat16 medianDeterministic groupBitmap
number v isNumeric: sum avg median sumWithOverflow stddevPop stddevSamp varPop varSamp sumKahan stddev=stddevSamp
number v isNumeric: variance=varSamp skewSamp skewPop kurtSamp kurtPop deltaSum groupBitAnd groupBitOr groupBitXor
number v isNumeric: entropy boundingRatio
number v isNumeric params-?x: quantile quantileExact quantileTDigest quantileTiming quantileExactLow
number v isNumeric params-?x: quantileExactHigh quantileBFloat16
array v isNumeric params-?x*: quantiles quantilesExact quantilesTDigest quantilesTiming
number vv isNumeric params-?x: quantileExactWeighted quantileTDigestWeighted
number vv isNumeric: avgWeighted corr covarPop covarSamp deltaSumTimestamp
number vv: contingency cramersV cramersVBiasCorrected theilsU maxIntersections maxIntersectionsPosition
unknown v: min max any any_value=any anyHeavy anyLast first_value last_value singleValueOrNull
unknown vv: argMin argMax min_by=argMin max_by=argMax
array v params-?x: groupArray groupUniqArray groupArraySorted array_agg=groupArray topK
array v params-?xx: groupArraySample
array v isNumeric params-?x: groupArrayMovingAvg groupArrayMovingSum
array vv params-?xx: groupArrayInsertAt
array vv params-?x: topKWeighted
unknown v?v: sumMap minMap maxMap
number vv* params-?xw*: windowFunnel
array v*: retention
array vv isNumeric: simpleLinearRegression
`,
);

/** Suffixes of the name of an aggregate, and how many more arguments it requires. */
const combinators: readonly [suffix: string, args: number, type?: SqlType][] = [
  ["If", 1],
  ["Array", 0],
  ["OrNull", 0],
  ["OrDefault", 0],
  ["ForEach", 0, "array"],
  ["Map", 0, "unknown"],
  ["State", 0, "unknown"],
  ["Merge", 0],
  ["ArgMin", 1],
  ["ArgMax", 1],
  ["Distinct", 0],
];

const endings = combinators.map(
  ([suffix, args, type]) => [suffix, args, type, suffix.toLowerCase()] as const,
);

/** The aggregate of a name with at most three suffixes, such as `sumArrayOrNullIf`. */
export function sqlAggregate(calledName: string, suffixes = 0): SqlAggregate | undefined {
  const name = calledName.toLowerCase();
  const aggregate = aggregates.get(name);
  if (aggregate) return aggregate;
  if (suffixes === 3) return undefined;
  for (const [suffix, args, type, ending] of endings) {
    if (!name.endsWith(ending)) continue;
    const base = sqlAggregate(name.slice(0, -suffix.length), suffixes + 1);
    if (!base) continue;
    const isNumeric = base.isNumeric === true && (suffix === "If" || suffix.startsWith("Or"));
    return {
      ...base,
      name: `${base.name}${suffix}`,
      args: `${"v".repeat(args)}${base.args}`,
      type: type ?? base.type,
      isNumeric,
    };
  }
  return undefined;
}

export const aggregateNames = (): Iterable<string> => [...aggregates.values()].map(({ name }) => name);

/** Whether an expression contains an aggregate, other than in its subqueries and windows. */
export function isAggregated(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(isAggregated);
  if (typeof node !== "object" || node === null) return false;
  const { node: kind, name } = node as { node?: string; name?: string };
  if (kind === "SelectQuery" || kind === "SelectSetQuery" || kind === "WindowFunction") return false;
  if (kind === "Call" && name !== undefined && sqlAggregate(name)) return true;
  return Object.values(node).some((member) => typeof member === "object" && isAggregated(member));
}
