// What an event says of its person and its groups, against plain objects.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { changeKind, EventChanges, EventGroups } from "../../../src/capture/fields/changes.ts";
import { rangeText, setText } from "../../../src/capture/fields/raw_value.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { limits } from "../../../src/core/limits.ts";

const decoder = new TextDecoder();

/** The changes as [op, key, raw value]. */
function changesOf(changes: EventChanges): [number, string, string][] {
  return Array.from({ length: changes.count }, (_, at) => [
    changes.ops[at]!,
    decoder.decode(changes.keySource(at).subarray(changes.keyFrom[at], changes.keyTo[at])),
    decoder.decode(changes.source.subarray(changes.valueFrom[at], changes.valueTo[at])),
  ]);
}

const one = new EventChanges();

test("each key is changed once by each kind, the later change counts, and values stay as written", () => {
  const keys = fc.constantFrom("a", "b", 'q"', "\\", "ü", "");
  const values = fc.dictionary(keys, fc.oneof(fc.integer(), fc.string()));
  fc.assert(
    fc.property(values, values, fc.array(keys), (set, once, unset) => {
      const text = JSON.stringify([set, once, unset]);
      const at = (part: number) => toBytes(JSON.stringify([set, once, unset].slice(0, part))).length;
      one.begin(toBytes(text));
      one.object(1, changeKind.set);
      one.object(at(1), changeKind.once);
      one.list(at(2));
      const found = changesOf(one);
      const removed = new Set<string>(unset);
      const expected = [
        ...Object.entries(set).map(([key, value]) =>
          removed.has(key) ? [changeKind.unset, key, ""] : [changeKind.set, key, JSON.stringify(value)],
        ),
        ...Object.entries(once).map(([key, value]) => [changeKind.once, key, JSON.stringify(value)]),
        ...[...removed].filter((key) => !(key in set)).map((key) => [changeKind.unset, key, ""]),
      ];
      expect(found as unknown[]).toEqual(expected);
      expect(one.cut).toBe(false);
    }),
  );
});

test("a key written with escapes and one without are one key", () => {
  one.begin(toBytes(String.raw`{"ab":1,"\u0061b":2}`));
  one.object(0, changeKind.set);
  expect(changesOf(one)).toEqual([[changeKind.set, "ab", "2"]]);
});

test("what is too much is left out and said", () => {
  const objectOf = (members: [string, string][]) => toBytes(JSON.stringify(Object.fromEntries(members)));
  const read = (bytes: Uint8Array) => {
    one.begin(bytes);
    one.object(0, changeKind.set);
    return [one.count, one.cut];
  };
  const many = Array.from({ length: captureLimits.changesMax + 1 }, (_, i): [string, string] => [
    `k${i}`,
    "",
  ]);
  expect(read(objectOf(many.slice(1)))).toEqual([captureLimits.changesMax, false]);
  expect(read(objectOf(many))).toEqual([captureLimits.changesMax, true]);
  const key = "k".repeat(captureLimits.changeKeyBytesMax);
  expect(read(objectOf([[key, ""]]))).toEqual([1, false]);
  expect(read(objectOf([[`${key}k`, ""]]))).toEqual([0, true]);
  // The others are kept.
  const long = "v".repeat(captureLimits.changesBytesMax);
  expect(
    read(
      objectOf([
        ["a", "1"],
        ["b", long],
      ]),
    ),
  ).toEqual([1, true]);
  // Nothing of it is left for the next event.
  expect(read(toBytes("{}"))).toEqual([0, false]);
});

function keep(groups: EventGroups, type: string, key: string): void {
  setText(groups.types[groups.count]!, type);
  setText(groups.keys[groups.count]!, key);
  groups.commit();
}

const groupsOf = (groups: EventGroups) =>
  Array.from({ length: groups.count }, (_, i) => [rangeText(groups.types[i]!), rangeText(groups.keys[i]!)]);

test("an event is in one group of each type: the last said, or the one it identifies", () => {
  const groups = new EventGroups();
  keep(groups, "company", "a");
  keep(groups, "team", "x");
  keep(groups, "company", "b");
  expect(groupsOf(groups)).toEqual([
    ["company", "b"],
    ["team", "x"],
  ]);
  groups.clear();
  groups.identified = true;
  for (const key of ["a", "b"]) keep(groups, "company", key);
  expect(groupsOf(groups)).toEqual([["company", "a"]]);
});

test("there are so many types at most, and one more is cut", () => {
  const groups = new EventGroups();
  for (let i = 0; i < limits.groupTypesMax; i++) keep(groups, `t${i}`, "k");
  expect(groups.cut).toBe(false);
  keep(groups, "t0", "later");
  expect([groups.cut, groupsOf(groups)[0]]).toEqual([false, ["t0", "later"]]);
  keep(groups, "more", "k");
  expect([groups.cut, groups.count]).toEqual([true, limits.groupTypesMax]);
});

test("a type that the project does not allow is barred, and one without a place is cut", () => {
  const type = { source: toBytes("team"), from: 0, to: 4 };
  const types = (bars: boolean) => ({ admit: () => false, isForbidden: () => bars, assigned: () => [] });
  const groups = new EventGroups();
  groups.refuse(1, type, types(true));
  expect([groups.barred, groups.cut]).toEqual([true, false]);
  groups.clear();
  groups.refuse(1, type, types(false));
  expect([groups.barred, groups.cut]).toEqual([false, true]);
});
