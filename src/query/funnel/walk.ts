// How a person goes through a funnel, as expressions over the arrays of the person's events: what each event that
// may begin the funnel leads to. Every expression is one pass over an array, so long histories cost no more than many
// short ones.

import { refuseInput } from "../../core/fault.ts";
import { queryLimits } from "../limits.ts";
import type { Entity, Series } from "../parts/figure.ts";

export type FunnelOrder = "ordered" | "strict" | "unordered";

/** With math, only a person's first event is the step. */
export type Step = Entity & Partial<Pick<Series, "math">>;

/** Events that must not stand between two steps, by their indexes. */
export interface Exclusion {
  entity: Entity;
  from: number;
  to: number;
}

/**
 * Over `ats`, the times of a person's events in their order, `masks`, the steps that each is, and `bans`, the steps
 * between which and the next one it must not stand: bit 0 is the first. Times are in µs and above 0.
 */
export interface Walk {
  /** Expressions with their names; later ones use earlier ones. */
  columns: string[];
  /** Names of arrays with an element for each event, by the names that the expressions below have for it. */
  arrays: Record<string, string>;
  /** Times at each step of the funnel that an event begins: `never` where it was not, in the order of time. */
  times: string[];
  /** Whether an event with `mask` begins a funnel. */
  begins: string;
  /** How many steps it reached in time before an exclusion ends it, as conditions and numbers, the first that holds. */
  ends: [condition: string, steps: string][];
}

/** Later than any event, in µs. */
export const never = "toInt64(4611686018427387904)";

/** The value at the next event after each for which `values` is not 0; `never` after the last. */
const following = (values: string): string =>
  `arrayPopFront(arrayReverseFill(v -> v > 0, arrayPushBack(${values}, ${never})))`;

/** The value at each event itself or, where `values` is 0, at the next for which it is not. */
const atOrAfter = (values: string): string =>
  `arrayPopBack(arrayReverseFill(v -> v > 0, arrayPushBack(${values}, ${never})))`;

/** The value at the very next event; `never` where `values` is 0 there. */
const nextAlone = (values: string): string =>
  `arrayMap(v -> if(v > 0, v, ${never}), arrayPopFront(arrayPushBack(${values}, toInt64(0))))`;

/** `values` where an event is one of the steps in `mask`, else 0. */
const where = (mask: number, values: string): string =>
  `arrayMap((v, m) -> if(bitAnd(m, ${mask}) != 0, v, 0), ${values}, masks)`;

/** `ats` where an event must not follow one of the steps in `mask`, else 0. */
const banned = (mask: number): string => `arrayMap((v, b) -> if(bitAnd(b, ${mask}) != 0, v, 0), ats, bans)`;

/** Whether a moment is in time for the funnel that began at `first`. */
export const inTime = (at: string, first: string): string => `(${at} - ${first} <= {window:Int64})`;

/** @throws Fault when more steps may be of one event than an unordered funnel can distinguish. */
export function planWalk(
  order: FunnelOrder,
  steps: readonly Step[],
  exclusions: readonly Exclusion[],
  attr: string,
): Walk {
  return order === "unordered"
    ? anyOrder(steps, exclusions.length > 0, attr)
    : inOrder(steps.length, exclusions, order === "strict");
}

/** Walks from each event of the first step to each next step as soon as it follows; of a strict funnel, at once. */
function inOrder(count: number, exclusions: readonly Exclusion[], isStrict: boolean): Walk {
  const columns: string[] = [];
  const next = isStrict ? nextAlone : following;
  const isBanned = (step: number) => exclusions.some(({ from, to }) => from < step && step <= to);
  // Step by step from the last one: when it and those after it are reached, from any event before it.
  let arrays: Record<string, string> = {};
  for (let step = count; step > 0; step--) {
    const ownArrays = {
      [`s${step}`]: "ats",
      ...(isBanned(step) && { [`b${step}`]: next(banned(2 ** (step - 1))) }),
    };
    const carried = Object.entries({ ...ownArrays, ...arrays }).map(([name, values]) => {
      const column = `${name}_${step}`;
      columns.push(`${step === 1 ? values : next(where(2 ** (step - 1), values))} AS ${column}`);
      return [name, column];
    });
    arrays = Object.fromEntries(carried) as Record<string, string>;
  }
  const times = Array.from({ length: count }, (_, i) => `s${i + 1}`);
  const ends = times.slice(1).flatMap((time, i): Walk["ends"] => {
    const ban = `b${i + 1}`;
    if (!(ban in arrays)) return [];
    return [[`${inTime(ban, "s1")} AND ${ban} < ${time}`, `${i + 1} + ${inTime(time, "s1")}`]];
  });
  return { columns, arrays, times, begins: "bitTest(mask, 0)", ends };
}

/**
 * Counts from each event on the most steps that each have an event of their own. Steps with equal conditions take as
 * many of their events. Of steps that are different and may be of one event, the number that have one is the least,
 * over all sets of them, of how many are not in the set plus how many events are of a step in it (Hall's theorem). An
 * event that is excluded before all of them are done leaves nothing of what began in time before it.
 */
function anyOrder(steps: readonly Step[], isBanned: boolean, attr: string): Walk {
  const columns: string[] = [];
  const reached = groupConditions(steps, attr).flatMap((group, g) => {
    const size = sumSteps(group);
    const bounds = Array.from({ length: size }, (): string[] => []);
    for (const [s, set] of listSets(group).entries()) {
      const mask = set.reduce(
        (sum, { steps: own }) => sum + own.reduce((bits, step) => bits + 2 ** step, 0),
        0,
      );
      let values = where(mask, "ats");
      for (let nth = 1; nth <= sumSteps(set); nth++) {
        const [later, name] = [`e${g}_${s}_${nth}`, `g${g}_${s}_${nth}`];
        columns.push(`${values} AS ${later}`, `${atOrAfter(later)} AS ${name}`);
        bounds[size - sumSteps(set) + nth - 1]!.push(name);
        values = where(mask, following(later));
      }
    }
    return bounds.map((names, i) => {
      if (names.length === 1) return names[0]!;
      const values = names.map((_, n) => `v${n}`).join(", ");
      columns.push(`arrayMap((${values}) -> greatest(${values}), ${names.join(", ")}) AS t${g}_${i}`);
      return `t${g}_${i}`;
    });
  });
  const values = steps.map((_, i) => `v${i}`).join(", ");
  columns.push(`arrayMap((${values}) -> arraySort([${values}]), ${reached.join(", ")}) AS sorted`);
  if (isBanned) columns.push(`${following(banned(1))} AS ban`);
  const times = steps.map((_, i) => `t[${i + 1}]`);
  return {
    columns,
    arrays: { t: "sorted", ...(isBanned && { b: "ban" }) },
    times,
    begins: "mask > 0",
    ends: isBanned ? [[`${inTime("b", "t[1]")} AND b < ${times.at(-1)}`, "0"]] : [],
  };
}

/** Steps of one condition, by their indexes. */
interface Condition {
  entity: Entity;
  steps: number[];
}

const sumSteps = (conditions: readonly Condition[]): number =>
  conditions.reduce((sum, { steps }) => sum + steps.length, 0);

/** The conditions of the steps, those together that one event may satisfy. */
function groupConditions(steps: readonly Step[], attr: string): Condition[][] {
  const conditions = new Map<string, Condition>();
  for (const [i, entity] of steps.entries()) {
    const key = JSON.stringify([entity.event ?? null, entity.filters, entity.math]);
    const equal = conditions.get(key);
    if (equal) equal.steps.push(i);
    else conditions.set(key, { entity, steps: [i] });
  }
  const all = [...conditions.values()];
  const isOfAny = all.some(({ entity }) => entity.event === undefined);
  const groups = isOfAny ? [all] : [...Map.groupBy(all, ({ entity }) => entity.event).values()];
  const { stepsOfOneEventMax } = queryLimits;
  if (groups.some(({ length }) => length > stepsOfOneEventMax)) {
    const what = `More than ${stepsOfOneEventMax} different steps that one event may be`;
    refuseInput(`${what} are not supported in a funnel without order.`, `${attr}__series`);
  }
  return groups;
}

/** All sets of them but the empty one. */
function listSets(conditions: readonly Condition[]): Condition[][] {
  return Array.from({ length: 2 ** conditions.length - 1 }, (_, i) =>
    conditions.filter((__, bit) => ((i + 1) >> bit) & 1),
  );
}
