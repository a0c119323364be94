import { expect, test } from "bun:test";
import fc from "fast-check";
import { captureLimits } from "../../../src/capture/limits.ts";
import { minuteMicros, WarningQuota } from "../../../src/capture/warnings/warning_quota.ts";

const minute = 28_000_000;

test("the first hundred of a type, project and minute are listed, the rest is one count", () => {
  const quota = new WarningQuota();
  const now = minute * minuteMicros;
  expect(quota.admit(1, "a", 70, now)).toBe(70);
  expect(quota.admit(1, "a", 70, now + 5)).toBe(30);
  expect(quota.admit(1, "a", 1000, now + 9)).toBe(0);
  expect(quota.admit(1, "b", 1, now)).toBe(1);
  expect(quota.admit(2, "a", 1, now)).toBe(1);
  expect(quota.drain(now + minuteMicros - 1)).toEqual([]);
  expect(quota.drain(now + minuteMicros)).toEqual([{ project_id: 1, type: "a", minute, count: 1040 }]);
  expect(quota.drain(Number.POSITIVE_INFINITY)).toEqual([]);
  expect(quota.admit(1, "a", 1, now + minuteMicros)).toBe(1);
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
      const quota = new WarningQuota();
      const [expected, found] = [new Map<string, number>(), new Map<string, number>()];
      const add = (sums: Map<string, number>, key: string, count: number) =>
        sums.set(key, (sums.get(key) ?? 0) + count);
      let now = minute * minuteMicros;
      const take = (until: number) => {
        for (const one of quota.drain(until)) add(found, `${one.project_id} ${one.type}`, one.count);
      };
      for (const [project, type, count, seconds] of all) {
        now += seconds * 1_000_000;
        add(expected, `${project} ${type}`, count);
        add(found, `${project} ${type}`, quota.admit(project, type, count, now));
        if (seconds % 4 === 0) take(now);
      }
      take(Number.POSITIVE_INFINITY);
      expect(found).toEqual(expected);
    }),
  );
});

test("only so many are counted at once", () => {
  const quota = new WarningQuota();
  const now = minute * minuteMicros;
  for (let id = 0; id < captureLimits.warningTalliesMax; id++) quota.admit(id, "a", 1, now);
  expect(quota.admit(-1, "a", 1, now)).toBe(0);
  expect(quota.admit(0, "a", 1, now)).toBe(1);
  quota.drain(now + minuteMicros);
  expect(quota.admit(-1, "a", 1, now + minuteMicros)).toBe(1);
});
