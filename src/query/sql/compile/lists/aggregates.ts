// The aggregate functions that a query may call, and what may stand behind their names.

import type { SqlType } from "../value.ts";

export interface SqlAggregate {
  /** The engine's spelling, with what stands behind. */
  name: string;
  argsMin: number;
  argsMax: number;
  /** Parameters in brackets before the arguments. */
  paramsMax: number;
  type: SqlType;
  /** Its first argument is read as a number. */
  isNumeric: boolean;
}

const aggregates = new Map<string, SqlAggregate>();

function allow(
  type: SqlType,
  argsMin: number,
  argsMax: number,
  names: string,
  { paramsMax = 0, isNumeric = false } = {},
): void {
  for (const one of names.split(" ")) {
    const [known = "", name = known] = one.split("=");
    aggregates.set(known.toLowerCase(), { name, argsMin, argsMax, paramsMax, type, isNumeric });
  }
}

const any = 100;
const isNumeric = true;
allow("number", 0, 1, "count");
allow(
  "number",
  1,
  any,
  "uniq uniqExact uniqHLL12 uniqTheta uniqCombined uniqCombined64 countDistinct=uniqExact",
);
allow("number", 1, 1, "approx_distinct=uniq");
allow("number", 1, 1, "sum avg median sumWithOverflow stddevPop stddevSamp varPop varSamp sumKahan", {
  isNumeric,
});
allow("number", 1, 1, "stddev=stddevSamp variance=varSamp skewSamp skewPop kurtSamp kurtPop deltaSum", {
  isNumeric,
});
allow("number", 1, 1, "groupBitAnd groupBitOr groupBitXor entropy boundingRatio", { isNumeric });
allow("number", 1, 1, "medianExact medianTDigest medianDeterministic");
allow("number", 1, 1, "quantile quantileExact quantileTDigest quantileTiming", { isNumeric, paramsMax: 1 });
allow("number", 1, 1, "quantileExactLow quantileExactHigh quantileBFloat16", { isNumeric, paramsMax: 1 });
allow("array", 1, 1, "quantiles quantilesExact quantilesTDigest quantilesTiming", {
  isNumeric,
  paramsMax: 20,
});
allow("number", 2, 2, "quantileExactWeighted quantileTDigestWeighted", { isNumeric, paramsMax: 1 });
allow("number", 2, 2, "avgWeighted corr covarPop covarSamp deltaSumTimestamp", { isNumeric });
allow("unknown", 1, 1, "min max any any_value=any anyHeavy anyLast first_value last_value singleValueOrNull");
allow("unknown", 2, 2, "argMin argMax min_by=argMin max_by=argMax");
allow("array", 1, 1, "groupArray groupUniqArray groupArraySorted array_agg=groupArray", { paramsMax: 1 });
allow("array", 1, 1, "groupArraySample", { paramsMax: 2 });
allow("array", 1, 1, "groupArrayMovingAvg groupArrayMovingSum", { paramsMax: 1, isNumeric });
allow("array", 2, 2, "groupArrayInsertAt", { paramsMax: 2 });
allow("array", 1, 1, "topK", { paramsMax: 1 });
allow("array", 2, 2, "topKWeighted", { paramsMax: 1 });
allow("unknown", 1, 2, "sumMap minMap maxMap");
allow("number", 2, any, "windowFunnel", { paramsMax: 5 });
allow("array", 1, any, "retention");
allow("array", 2, 2, "simpleLinearRegression", { isNumeric });
allow("number", 1, any, "boolAnd=min boolOr=max");

/** What may stand behind the name of an aggregate, and how many arguments more it takes. */
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

/** Three at most, such as `sumArrayOrNullIf`. */
export function sqlAggregate(asked: string, deep = 0): SqlAggregate | undefined {
  const name = asked.toLowerCase();
  const found = aggregates.get(name);
  if (found) return found;
  if (deep === 3) return undefined;
  for (const [suffix, args, type] of combinators) {
    if (!name.endsWith(suffix.toLowerCase())) continue;
    const base = sqlAggregate(name.slice(0, -suffix.length), deep + 1);
    if (!base) continue;
    const isNumeric = base.isNumeric && (suffix === "If" || suffix.startsWith("Or"));
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
