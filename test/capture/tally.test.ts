import { expect, test } from "bun:test";
import fc from "fast-check";
import { Tally, minuteMicros } from "../../src/capture/tally.ts";
import { limits } from "../../src/core/limits.ts";

const minute = 28_000_000;

test("the first hundred of a type, project and minute are listed, the rest is one count", () => {
  const tally = new Tally();
  const now = minute * minuteMicros;
  expect(tally.admit(1, "a", 70, now)).toBe(70);
  expect(tally.admit(1, "a", 70, now + 5)).toBe(30);
  expect(tally.admit(1, "a", 1000, now + 9)).toBe(0);
  expect(tally.admit(1, "b", 1, now)).toBe(1);
  expect(tally.admit(2, "a", 1, now)).toBe(1);
  expect(tally.take(now + minuteMicros - 1)).toEqual([]);
  expect(tally.take(now + minuteMicros)).toEqual([{ project_id: 1, type: "a", minute, count: 1040 }]);
  expect(tally.take(Number.POSITIVE_INFINITY)).toEqual([]);
  expect(tally.admit(1, "a", 1, now + minuteMicros)).toBe(1);
});

test("listed and counted together are all there were, whatever comes when", () => {
  const seen = fc.tuple(
    fc.nat({ max: 2 }),
    fc.constantFrom("a", "b"),
    fc.nat({ max: 250 }),
    fc.nat({ max: 90 }),
  );
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 60 }), (all) => {
      const tally = new Tally();
      const [expected, found] = [new Map<string, number>(), new Map<string, number>()];
      const add = (sums: Map<string, number>, key: string, count: number) =>
        sums.set(key, (sums.get(key) ?? 0) + count);
      let now = minute * minuteMicros;
      const take = (until: number) => {
        for (const one of tally.take(until)) add(found, `${one.project_id} ${one.type}`, one.count);
      };
      for (const [project, type, count, seconds] of all) {
        now += seconds * 1_000_000;
        add(expected, `${project} ${type}`, count);
        add(found, `${project} ${type}`, tally.admit(project, type, count, now));
        if (seconds % 4 === 0) take(now);
      }
      take(Number.POSITIVE_INFINITY);
      expect(found).toEqual(expected);
    }),
  );
});

test("only so many are counted at once", () => {
  const tally = new Tally();
  const now = minute * minuteMicros;
  for (let id = 0; id < limits.warningTalliesMax; id++) tally.admit(id, "a", 1, now);
  expect(tally.admit(-1, "a", 1, now)).toBe(0);
  expect(tally.admit(0, "a", 1, now)).toBe(1);
  tally.take(now + minuteMicros);
  expect(tally.admit(-1, "a", 1, now + minuteMicros)).toBe(1);
});
