// Which places of File exports could be the same folder.

import { expect, test } from "bun:test";
import {
  pathPatternsOverlap,
  readPathPattern,
} from "../../../../src/batch_exports/destinations/file/path_pattern.ts";

const meet = (one: string, other: string, path = "", model = "events") =>
  pathPatternsOverlap(
    readPathPattern({ path, prefix: one }, model),
    readPathPattern({ path, prefix: other }, model),
  );

test.each([
  ["a", "a/"],
  ["a//b", "/a/b"],
  ["{year}", "2026"],
  ["{year}", "{hour}{minute}"],
  ["{year}-{month}", "2026-{day}"],
  ["x/{year}/{month}", "x/2026/01"],
  ["{table}", "events"],
  ["{data_interval_end}", "2026-01-01T00:00:00+00:00"],
  ["a{data_interval_start}b", "a{year}b"],
  ["a{unknown}", "a1"],
  ["Events", "events"],
  ["caf\u00e9", "cafe\u0301"],
])("%j and %j may be one folder", (one, other) => {
  expect(meet(one, other)).toBeTrue();
  expect(meet(other, one)).toBeTrue();
});

test.each([
  ["a", "b"],
  ["a", "a/b"],
  ["{year}", "26"],
  ["{year}", "last"],
  ["{year}/a", "2026/b"],
  ["x{data_interval_end}", "y{data_interval_end}"],
  ["{table}", "persons"],
  ["", "a"],
])("%j and %j never are", (one, other) => {
  expect(meet(one, other)).toBeFalse();
  expect(meet(other, one)).toBeFalse();
});

test("a path and a prefix are one place, wherever they are parted", () => {
  const one = readPathPattern({ path: "a/b", prefix: "{year}" }, "events");
  expect(pathPatternsOverlap(one, readPathPattern({ path: "a", prefix: "b/2026" }, "events"))).toBeTrue();
  expect(pathPatternsOverlap(one, readPathPattern({ path: "a/b/2026" }, "events"))).toBeTrue();
});
