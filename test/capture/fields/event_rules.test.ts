import { expect, test } from "bun:test";
import { readEvent } from "../../../src/capture/event/event.ts";
import { toOffset } from "../../../src/capture/fields/event_fields.ts";
import { warningBit, warnings } from "../../../src/capture/fields/outcome.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { toBytes } from "../../../src/core/bytes.ts";

const sending = {
  project_id: 1,
  historical_migration: false,
  received: Date.UTC(2024, 0) * 1000,
  skew: 0,
};

/** Why it is not taken, or else what is odd about it. */
function outcome(event: string, properties: unknown, more: Record<string, unknown> = {}): string | string[] {
  return outcomeOf(JSON.stringify({ event, distinct_id: "d", properties, ...more }));
}

function outcomeOf(text: string): string | string[] {
  const scan = new BodyScanner(toBytes(text));
  scan.advance(1 << 30);
  const row = emptyRow();
  const reason = readEvent(scan.index, toOffset(0), sending, row);
  return reason ?? warnings.filter((warning) => row.warned & warningBit[warning]);
}

test("events with what their kind needs are without a warning", () => {
  expect(outcome("anything", {})).toEqual([]);
  expect(outcome("$create_alias", { alias: "a" })).toEqual([]);
  const group = { $group_type: "company", $group_key: "c", $group_set: {} };
  expect(outcome("$groupidentify", group)).toEqual([]);
  expect(outcome("$groupidentify", { ...group, $group_key: 42 })).toEqual([]);
  expect(outcome("$identify", { $set: {} })).toEqual([]);
  expect(outcome("$identify", {}, { $set: { a: 1 } })).toEqual([]);
  expect(outcome("$identify", { $anon_distinct_id: "x" })).toEqual([]);
  // As posthog-js's group(type, key) and posthog-java's identify(id) send them.
  for (const set of [{}, { $group_set: null }]) {
    expect(outcome("$groupidentify", { $group_type: "company", $group_key: "c", ...set })).toEqual([]);
  }
  for (const set of [{}, { $set: null }]) expect(outcome("$identify", set, set)).toEqual([]);
  expect(outcome("$pageview", { $current_url: "https://example.com" })).toEqual([]);
  expect(outcome("$screen", { $screen_name: "Home" })).toEqual([]);
  for (const kind of ["sent", "shown", "dismissed"])
    expect(outcome(`survey ${kind}`, { $survey_id: "s" })).toEqual([]);
});

test("events that lack what their kind needs are kept with a warning", () => {
  expect(outcome("$create_alias", {})).toEqual(["missing_alias"]);
  expect(outcome("$create_alias", { alias: null })).toEqual(["missing_alias"]);
  expect(outcome("$merge_dangerously", { alias: "" })).toEqual(["missing_alias"]);
  expect(outcome("$groupidentify", {})).toEqual(["missing_group_type", "missing_group_key"]);
  expect(outcome("$groupidentify", { $group_type: 1, $group_key: "k", $group_set: [] })).toEqual([
    "missing_group_type",
    "invalid_group_set",
  ]);
  for (const wrong of [[1], "x", 7, true]) {
    expect(outcome("$identify", { $set: wrong })).toEqual(["invalid_set"]);
    expect(outcome("$identify", { $set: {} }, { $set: wrong })).toEqual(["invalid_set"]);
    expect(outcome("$identify", { $set: wrong, $anon_distinct_id: "x" })).toEqual(["invalid_set"]);
    const group = { $group_type: "company", $group_key: "c", $group_set: wrong };
    expect(outcome("$groupidentify", group)).toEqual(["invalid_group_set"]);
  }
  expect(outcome("$pageview", {})).toEqual(["missing_current_url"]);
  expect(outcome("$pageview", null)).toEqual(["missing_current_url"]);
  expect(outcome("$screen", { $screen_name: 4 })).toEqual(["missing_screen_name"]);
  expect(outcome("survey dismissed", { $survey_id: "" })).toEqual(["missing_survey_id"]);
});

test("ids to merge with that are no texts, and calls about persons without persons, are not taken", () => {
  expect(outcome("$create_alias", { alias: 7 })).toBe("invalid_alias");
  expect(outcome("$merge_dangerously", { alias: {} })).toBe("invalid_alias");
  expect(outcome("$identify", { $anon_distinct_id: ["a"] })).toBe("invalid_anon_distinct_id");
  for (const event of ["$identify", "$create_alias", "$merge_dangerously", "$groupidentify"])
    expect(outcome(event, { alias: "a", $process_person_profile: false })).toBe(
      "invalid_event_when_process_person_profile_is_false",
    );
  expect(outcome("custom", { $process_person_profile: false })).toEqual([]);
  expect(outcome("custom", { $process_person_profile: "no" })).toEqual(["invalid_process_person_profile"]);
});

test("a group's key has up to 400 characters", () => {
  const group = (key: string) =>
    outcome("$groupidentify", { $group_type: "t", $group_set: {}, $group_key: key });
  expect(group("k".repeat(400))).toEqual([]);
  expect(group("é".repeat(400))).toEqual([]);
  expect(group("k".repeat(401))).toBe("group_key_too_long");
});

test("the last of two members with one name counts, and so do keys with escapes", () => {
  const pageview = (properties: string, more = "") =>
    outcomeOf(`{"event":"$pageview","distinct_id":"d",${more}"properties":${properties}}`);
  expect(pageview(`{"$current_url":"x","$current_url":null}`)).toEqual(["missing_current_url"]);
  expect(pageview(`{"\\u0024current_url":"x"}`)).toEqual([]);
  expect(pageview(`{}`, `"properties":{"$current_url":"x"},`)).toEqual(["missing_current_url"]);
  expect(pageview(`{"nested":{"$current_url":"x"}}`)).toEqual(["missing_current_url"]);
  expect(outcomeOf(`{"event":"$identify","$set":{},"distinct_id":"d","properties":{}}`)).toEqual([]);
});

test("what was altered is warned about", () => {
  expect(outcome("e", {}, { distinct_id: "x".repeat(201) })).toEqual(["distinct_id_truncated"]);
  expect(outcome("$identify", { $anon_distinct_id: "x".repeat(201) })).toEqual(["distinct_id_truncated"]);
  expect(outcome("e", {}, { timestamp: "soon" })).toEqual(["ignored_invalid_timestamp"]);
  expect(outcome("e", {}, { timestamp: {} })).toEqual(["ignored_invalid_timestamp"]);
  expect(outcome("e", {}, { timestamp: "1776-07-04" })).toEqual(["ignored_invalid_timestamp"]);
  expect(outcome("e", {}, { timestamp: "2024-02-01" })).toEqual(["event_timestamp_in_future"]);
  expect(outcome("e", {}, { timestamp: "9999-02-01" })).toEqual(["event_timestamp_in_future"]);
  expect(outcome("e", {}, { timestamp: null, uuid: null })).toEqual([]);
  expect(outcome("e", {}, { uuid: "" })).toEqual([]);
  expect(outcome("e", {}, { uuid: "nonsense" })).toEqual(["invalid_event_uuid"]);
  expect(outcome("e", {}, { uuid: 5 })).toEqual(["invalid_event_uuid"]);
  expect(outcome("e", { a: "\0" })).toEqual(["unstorable_characters_replaced"]);
});
