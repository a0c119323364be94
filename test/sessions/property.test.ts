import { expect, test } from "bun:test";
import { findFixedValues, findProperties } from "../../src/sessions/operations.ts";
import { sessionExpressions, textExpressions } from "../../src/storage/events/session_property.ts";

function names(search: string, numerical?: boolean): string[] {
  return findProperties(search, numerical).map(({ name }) => name);
}

test("every property of a session can be filtered by", () => {
  expect(names("").toSorted()).toEqual(Object.keys(sessionExpressions).toSorted());
});

test("without a search, every property is found", () => {
  expect(names("").length).toBe(38);
  expect(names("").slice(0, 3)).toEqual(["$start_timestamp", "$end_timestamp", "$entry_current_url"]);
});

test("every word of a search must be in the name, whatever its case", () => {
  expect(names("entry SOURCE")).toEqual(["$entry_utm_source", "$entry_gad_source"]);
  expect(names("source, utm!")).toEqual(["$entry_utm_source"]);
  expect(names("nothing of the kind")).toEqual([]);
});

test("numbers and others are distinguished", () => {
  expect(names("", true)).toEqual([
    "$pageview_count",
    "$autocapture_count",
    "$screen_count",
    "$session_duration",
    "$vitals_lcp",
  ]);
  expect(names("", false)).not.toContain("$session_duration");
});

test("channels and yes or no have fixed values", () => {
  expect(findFixedValues("$channel_type", "")).toHaveLength(18);
  expect(findFixedValues("$channel_type", "paid s")).toEqual(["Paid Search", "Paid Shopping", "Paid Social"]);
  expect(findFixedValues("$is_bounce", "")).toEqual(["1", "0"]);
  expect(findFixedValues("$entry_utm_source", "")).toBeUndefined();
  expect(findFixedValues("constructor", "")).toBeUndefined();
  expect(Object.hasOwn(textExpressions, "constructor")).toBe(false);
});
