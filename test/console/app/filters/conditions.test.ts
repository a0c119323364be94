// Filters joined by and, or, or else: the groups of the API that they become mean what the form says, and come back.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { readAddress, toAddress, toQueryBody } from "../../../../src/console/app/explore/query.ts";
import {
  type Condition,
  leaveOut,
  readConditions,
  toProperties,
} from "../../../../src/console/app/filters/conditions.ts";
import { filtersText } from "../../../../src/console/app/filters/filter_text.ts";

const named = (key: string, join?: "or" | "else"): Condition => ({
  type: "event",
  key,
  operator: "is_set",
  values: [],
  ...(join && { join }),
});

interface Tree {
  key?: string;
  type: string;
  values: Tree[];
}

/** Whether filters of the API hold for somebody who has these properties. */
function holds({ key, type, values }: Tree, own: ReadonlySet<string>): boolean {
  if (key !== undefined) return own.has(key);
  return type === "OR" ? values.some((some) => holds(some, own)) : values.every((some) => holds(some, own));
}

/** The same as the form says it: "or" binds first, then "and". */
const holdsInForm = (conditions: readonly Condition[], own: ReadonlySet<string>): boolean => {
  let [some, all, any] = [false, true, false];
  for (const [i, { key, join }] of conditions.entries()) {
    const has = own.has(key);
    if (i > 0 && join === "or") some ||= has;
    else {
      if (i > 0) all &&= some;
      if (i > 0 && join === "else") [any, all] = [any || all, true];
      some = has;
    }
  }
  return any || (all && some);
};

const forms = fc
  .array(fc.constantFrom(undefined, "or" as const, "else" as const), { minLength: 1, maxLength: 6 })
  .map((joins) => joins.map((join, i) => named(String(i), i > 0 ? join : undefined)));

test("any joined filters become groups that hold for the same people, and come back with the same meaning", () => {
  const addressOf = (conditions: Condition[]) =>
    toAddress({ ...readAddress(new URLSearchParams()), kind: "funnel", conditions });
  fc.assert(
    fc.property(forms, fc.uniqueArray(fc.nat(5)), (conditions, keys) => {
      const own = new Set(keys.map(String));
      const query = readAddress(new URLSearchParams(addressOf(conditions)));
      expect(query.conditions).toEqual(conditions);
      for (const properties of [toProperties(conditions), toQueryBody(query)["properties"]]) {
        const tree = Array.isArray(properties) ? { type: "AND", values: properties } : properties;
        expect(holds(tree as Tree, own)).toBe(holdsInForm(conditions, own));
        const again = readConditions(properties)!;
        expect(again.map(({ key }) => key)).toEqual(conditions.map(({ key }) => key));
        expect(holdsInForm(again, own)).toBe(holdsInForm(conditions, own));
        expect(readConditions(toProperties(again))).toEqual(again);
      }
    }),
  );
});

test("a query's groups are PostHog's, two deep, and words say what binds first", () => {
  const query = readAddress(new URLSearchParams());
  const groupsOf = (...conditions: Condition[]) => toQueryBody({ ...query, conditions })["properties"];
  const filter = (key: string) => ({ type: "event", key, operator: "is_set" });
  const group = (type: string, ...values: object[]) => ({ type, values });
  expect(groupsOf(named("a"), named("b"))).toEqual([filter("a"), filter("b")]);
  const both = [named("a"), named("b", "or"), named("c")];
  expect(groupsOf(...both)).toEqual(
    group("AND", group("OR", filter("a"), filter("b")), group("AND", filter("c"))),
  );
  expect(filtersText(toProperties(both))).toBe("(a is set, or b is set), and c is set");
  const either = [named("a"), named("b"), named("c", "else")];
  expect(groupsOf(...either)).toEqual(
    group("OR", group("AND", filter("a"), filter("b")), group("AND", filter("c"))),
  );
  expect(filtersText(toProperties(either))).toBe("((a is set, and b is set), or c is set)");
});

test("a filter that is taken out, or has no name yet, leaves the alternatives of the others", () => {
  const three = [named("a"), named("b", "else"), named("c")];
  const either = [named("a"), named("c", "else")];
  expect(leaveOut(three, (_, i) => i !== 1)).toEqual(either);
  expect(toProperties([named("a"), { ...named("b", "else"), key: "" }, named("c")])).toEqual(
    toProperties(either),
  );
});

test("groups that no form can show are none: deeper ones, and an empty one of which any may hold", () => {
  const filter = { key: "a", operator: "is_set" };
  const group = (type: string, ...values: object[]) => ({ type, values });
  const deep = group("OR", filter, group("AND", filter, group("OR", filter, group("AND", filter, filter))));
  for (const none of [deep, group("OR"), group("AND", group("OR")), group("XOR", filter, filter)])
    expect(readConditions(none)).toBeUndefined();
  expect(readConditions(group("AND", group("AND")))).toEqual([]);
});
