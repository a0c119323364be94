// The aggregate functions that a query may call, and what may follow their names.

import type { SqlType } from "../value.ts";
import { functionsIn, type SqlFunction } from "./functions.ts";

export interface SqlAggregate extends SqlFunction {
  /** Parameters in brackets before the arguments; none where it is absent. */
  paramsMax?: number;
}

/** The engine's spelling of a name includes what follows it. A numeric one reads its first argument as a number. */
const aggregates = functionsIn<Pick<SqlAggregate, "paramsMax">>(
  `
number 0-1: count
number 1-*: uniq uniqExact uniqHLL12 uniqTheta uniqCombined uniqCombined64 countDistinct=uniqExact boolAnd=min
number 1-*: boolOr=max
number 1: approx_distinct=uniq medianExact medianTDigest medianDeterministic
number 1 isNumeric: sum avg median sumWithOverflow stddevPop stddevSamp varPop varSamp sumKahan stddev=stddevSamp
number 1 isNumeric: variance=varSamp skewSamp skewPop kurtSamp kurtPop deltaSum groupBitAnd groupBitOr groupBitXor
number 1 isNumeric: entropy boundingRatio
number 1 isNumeric paramsMax-1: quantile quantileExact quantileTDigest quantileTiming quantileExactLow
number 1 isNumeric paramsMax-1: quantileExactHigh quantileBFloat16
array 1 isNumeric paramsMax-20: quantiles quantilesExact quantilesTDigest quantilesTiming
number 2 isNumeric paramsMax-1: quantileExactWeighted quantileTDigestWeighted
number 2 isNumeric: avgWeighted corr covarPop covarSamp deltaSumTimestamp
unknown 1: min max any any_value=any anyHeavy anyLast first_value last_value singleValueOrNull
unknown 2: argMin argMax min_by=argMin max_by=argMax
array 1 paramsMax-1: groupArray groupUniqArray groupArraySorted array_agg=groupArray topK
array 1 paramsMax-2: groupArraySample
array 1 isNumeric paramsMax-1: groupArrayMovingAvg groupArrayMovingSum
array 2 paramsMax-2: groupArrayInsertAt
array 2 paramsMax-1: topKWeighted
unknown 1-2: sumMap minMap maxMap
number 2-* paramsMax-5: windowFunnel
array 1-*: retention
array 2 isNumeric: simpleLinearRegression
`,
  100,
);

/** What may follow the name of an aggregate, and how many more arguments it requires. */
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

/** The aggregate of a name with at most three suffixes, such as `sumArrayOrNullIf`. */
export function sqlAggregate(calledName: string, suffixes = 0): SqlAggregate | undefined {
  const name = calledName.toLowerCase();
  const aggregate = aggregates.get(name);
  if (aggregate) return aggregate;
  if (suffixes === 3) return undefined;
  for (const [suffix, args, type] of combinators) {
    if (!name.endsWith(suffix.toLowerCase())) continue;
    const base = sqlAggregate(name.slice(0, -suffix.length), suffixes + 1);
    if (!base) continue;
    const isNumeric = base.isNumeric === true && (suffix === "If" || suffix.startsWith("Or"));
    return {
      ...base,
      name: `${base.name}${suffix}`,
      argsMin: base.argsMin + args,
      argsMax: base.argsMax + args,
      type: type ?? base.type,
      isNumeric,
    };
  }
  return undefined;
}

export const aggregateNames = (): Iterable<string> => [...aggregates.values()].map(({ name }) => name);
