import { expect, test } from "bun:test";
import { Outcomes } from "../../../src/capture/fields/outcome.ts";
import { captureLimits } from "../../../src/capture/limits.ts";

test("outcomes are listed one by one only where they are asked for, and no more than a reply has", () => {
  for (const isListed of [false, true]) {
    const outcomes = Object.assign(new Outcomes<"a">(), { isListed });
    const count = captureLimits.ignoredListMax + 1;
    for (let i = 0; i < count; i++) outcomes.add(i, "a");
    expect([outcomes.total, outcomes.counts.get("a")]).toEqual([count, count]);
    expect(outcomes.list).toHaveLength(isListed ? captureLimits.ignoredListMax : 0);
    expect(outcomes.examples).toHaveLength(captureLimits.warningsPerMinuteMax);
  }
});
