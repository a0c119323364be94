// What each event of a person leads to in a funnel: the expressions over arrays, computed here, against a search.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { Fault } from "../../../src/core/fault.ts";
import { type Exclusion, inTime, never, planWalk, type Walk } from "../../../src/query/funnel/walk.ts";
import { queryLimits } from "../../../src/query/limits.ts";
import type { Entity } from "../../../src/query/parts/figure.ts";

const entity = (event: string | undefined): Entity => ({ event, name: "", custom_name: null, filters: [] });
const steps = ["a", "b", "c"].map(entity);

/** The engine's functions that the expressions use, of ClickHouse's documentation. */
const engine: Record<string, unknown> = {
  toInt64: Number,
  bitAnd: (a: number, b: number) => a & b,
  choice: (condition: boolean, yes: unknown, no: unknown) => (condition ? yes : no),
  arrayMap: (of: (...values: unknown[]) => unknown, ...arrays: unknown[][]) =>
    arrays[0]!.map((_, i) => of(...arrays.map((one) => one[i]))),
  arrayPopFront: (values: unknown[]) => values.slice(1),
  arrayPopBack: (values: unknown[]) => values.slice(0, -1),
  arrayPushBack: (values: unknown[], value: unknown) => [...values, value],
  /** Replaces each element for which the condition is false by the next one. */
  arrayReverseFill: (of: (value: unknown) => boolean, values: unknown[]) =>
    values.reduceRight<unknown[]>((filled, value, i) => {
      filled[i] = of(value) || i === values.length - 1 ? value : filled[i + 1];
      return filled;
    }, []),
  greatest: Math.max,
  arraySort: (values: number[]) => values.toSorted((one, other) => one - other),
};

function computed(text: string, known: Record<string, unknown>): unknown {
  const code = text
    .replaceAll("->", "=>")
    .replaceAll(/\bif\(/g, "choice(")
    .replaceAll("{window:Int64}", "window");
  const names = { ...engine, ...known };
  return new Function(...Object.keys(names), `return ${code.replaceAll(" AND ", " && ")}`)(
    ...Object.values(names),
  );
}

/** The arrays of a walk over a person's events. */
function walked(walk: Walk, ats: number[], masks: number[], bans: number[]): Record<string, unknown[]> {
  const known: Record<string, unknown> = { ats, masks, bans };
  for (const column of walk.columns) {
    const [, text = "", name = ""] = /^(.*) AS (\w+)$/s.exec(column)!;
    known[name] = computed(text, known);
  }
  return Object.fromEntries(
    Object.entries(walk.arrays).map(([name, text]) => [name, computed(text, known) as unknown[]]),
  );
}

const far = Number(/\d{10,}/.exec(never)![0]);
const events = (bits: number) =>
  fc.array(fc.record({ mask: fc.nat({ max: 2 ** bits - 1 }), ban: fc.nat({ max: 2 ** bits - 1 }) }), {
    maxLength: 9,
  });
const atsOf = (some: readonly unknown[]) => some.map((_, i) => 10 * (i + 1));

test("in order, each step is the first that follows the one before", () => {
  fc.assert(
    fc.property(events(3), (some) => {
      const ats = atsOf(some);
      const masks = some.map(({ mask }) => mask);
      const { s1, s2, s3 } = walked(planWalk("ordered", steps, [], "query"), ats, masks, []);
      const after = (i: number, bit: number) => some.findIndex(({ mask }, j) => j > i && mask & bit);
      for (const i of some.keys()) {
        const second = after(i, 2);
        const third = second < 0 ? -1 : after(second, 4);
        expect([s1![i], s2![i], s3![i]]).toEqual([
          ats[i]!,
          ats[second] ?? far,
          third < 0 ? far : ats[third]!,
        ]);
      }
    }),
  );
});

test("of a strict funnel, each step is the very next event or none", () => {
  fc.assert(
    fc.property(events(3), (some) => {
      const ats = atsOf(some);
      const masks = some.map(({ mask }) => mask);
      const { s2, s3 } = walked(planWalk("strict", steps, [], "query"), ats, masks, []);
      for (const i of some.keys()) {
        const isSecond = (masks[i + 1] ?? 0) & 2;
        const isThird = isSecond && (masks[i + 2] ?? 0) & 4;
        expect([s2![i], s3![i]]).toEqual([isSecond ? ats[i + 1]! : far, isThird ? ats[i + 2]! : far]);
      }
    }),
  );
});

/** How many of the steps have an event of their own among these. */
function matched(masks: readonly number[], count: number): number {
  const ownOf = new Map<number, number>();
  const find = (step: number, seen: Set<number>): boolean =>
    masks.some((mask, event) => {
      if (!(mask & (2 ** step)) || seen.has(event)) return false;
      seen.add(event);
      const other = ownOf.get(event);
      if (other !== undefined && !find(other, seen)) return false;
      ownOf.set(event, step);
      return true;
    });
  return Array.from({ length: count }, (_, step) => step).filter((step) => find(step, new Set())).length;
}

test("without an order, the n-th step is done once n of them have an event of their own", () => {
  // Steps of any event may be of one event each: their sets are told apart by Hall's theorem.
  const any = [entity(undefined), entity("b"), entity("b")].map((one, i) => ({
    ...one,
    filters: i === 2 ? ([{ key: "x" }] as never) : [],
  }));
  fc.assert(
    fc.property(events(3), (some) => {
      const ats = atsOf(some);
      const masks = some.map(({ mask }) => mask);
      const { t } = walked(planWalk("unordered", any, [], "query"), ats, masks, []);
      for (const i of some.keys()) {
        const wanted = [1, 2, 3].map((count) => {
          const end = some.findIndex((_, j) => j >= i && matched(masks.slice(i, j + 1), 3) >= count);
          return end < 0 ? far : ats[end]!;
        });
        expect(t![i]).toEqual(wanted);
      }
    }),
  );
});

test("an exclusion is looked for between its steps alone, and ends what began before it", () => {
  const exclusion: Exclusion = { entity: entity("x"), from: 1, to: 2 };
  const walk = planWalk("ordered", steps, [exclusion], "query");
  // Between the second step and the third.
  expect(Object.keys(walk.arrays).toSorted()).toEqual(["b2", "s1", "s2", "s3"]);
  expect(walk.ends).toEqual([[`${inTime("b2", "s1")} AND b2 < s3`, `2 + ${inTime("s3", "s1")}`]]);
  const { b2 } = walked(walk, [10, 20, 30, 40], [1, 2, 0, 4], [0, 0, 2, 0]);
  expect(b2).toEqual([30, far, far, far]);
  const free = planWalk("unordered", steps, [exclusion], "query");
  expect(free.ends).toEqual([[`${inTime("b", "t[1]")} AND b < t[3]`, "0"]]);
});

test("a moment is in time up to the whole window, and not after it", () => {
  const at = (moment: number) => computed(inTime("moment", "10"), { moment, window: 5 });
  expect([14, 15, 16].map(at)).toEqual([true, true, false]);
});

test("steps that one event may be are distinguished up to a bound, beyond which the funnel is refused", () => {
  const some = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ ...entity("a"), filters: [{ key: String(i) }] as never }));
  const { stepsOfOneEventMax: most } = queryLimits;
  expect(planWalk("unordered", some(most), [], "query").times).toHaveLength(most);
  expect(() => planWalk("unordered", some(most + 1), [], "query")).toThrow(Fault);
  // Steps of one condition, and those of different events, are as many as they like.
  expect(
    planWalk(
      "unordered",
      Array.from({ length: most + 3 }, () => entity("a")),
      [],
      "query",
    ).times,
  ).toHaveLength(most + 3);
  expect(planWalk("ordered", some(most + 3), [], "query").times).toHaveLength(most + 3);
});

test("the expressions of a funnel in order grow with its steps, not with its events", () => {
  const lengthOf = (count: number) =>
    planWalk(
      "ordered",
      Array.from({ length: count }, () => entity("a")),
      [],
      "q",
    ).columns.join().length;
  expect(lengthOf(20)).toBeLessThan(5 * lengthOf(10));
});
