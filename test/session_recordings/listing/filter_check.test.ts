// What a list of recordings can be filtered by, and how a wrong filter is refused.

import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { sessionRecordingLimits } from "../../../src/session_recordings/limits.ts";
import {
  logColumns,
  orders,
  readEvents,
  readFilters,
  recordingColumns,
} from "../../../src/session_recordings/listing/filter_check.ts";

function asked(name: string, value: unknown): URLSearchParams {
  return new URLSearchParams({ [name]: typeof value === "string" ? value : JSON.stringify(value) });
}

/** [code, attr] of the refusal. */
function refusal(check: () => unknown): unknown {
  try {
    return check();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return [thrown.code, thrown.attr];
  }
}

const filters = (value: unknown, types?: Parameters<typeof readFilters>[2]) =>
  refusal(() => readFilters(asked("f", value), "f", types));
const events = (value: unknown) => refusal(() => readEvents(asked("e", value), "e"));

test("no key is no filter, and no JSON is refused", () => {
  expect(readFilters(new URLSearchParams(), "f")).toEqual([]);
  expect(readEvents(new URLSearchParams(), "e")).toEqual([]);
  expect(filters("{")).toEqual(["invalid_input", "f"]);
  expect(events("nope")).toEqual(["invalid_input", "e"]);
});

test("every figure that orders a list also filters it, and no other name does", () => {
  for (const key of Object.keys(orders)) {
    if (key === "start_time") continue;
    expect(filters([{ type: "recording", key, operator: "gt", value: 1 }])).toMatchObject([{ key }]);
    expect(recordingColumns[key]).toBe(orders[key]);
  }
  const other = [{ type: "recording", key: "constructor", operator: "gt", value: 1 }];
  expect(filters(other)).toEqual(["invalid_choice", "f__0__key"]);
  expect(filters([{ type: "AND", values: other }])).toMatchObject(["invalid_choice", expect.any(String)]);
  expect(filters([{ type: "session", key: "$nothing", value: "a" }])).toEqual([
    "invalid_choice",
    "f__0__key",
  ]);
});

test("a level is one of those that are counted, and compared as equal or not", () => {
  for (const level of Object.keys(logColumns)) {
    expect(filters([{ type: "log_entry", key: "level", value: [level] }])).toMatchObject([{ key: "level" }]);
  }
  const at = (more: object) => filters([{ type: "log_entry", key: "level", value: ["error"], ...more }]);
  expect(at({ value: ["error", "toString"] })).toEqual(["invalid_choice", "f__0__value"]);
  expect(at({ operator: "icontains", value: "error" })).toEqual(["invalid_choice", "f__0__operator"]);
  expect(at({ key: "message" })).toEqual(["invalid_choice", "f__0__key"]);
});

test("the type may be left out where only one is possible", () => {
  const bare = [{ key: "level", value: "error" }];
  expect(filters(bare, ["log_entry"])).toMatchObject([{ type: "log_entry", key: "level" }]);
  expect(filters([{ ...bare[0], type: "person" }], ["log_entry"])).toMatchObject([
    "invalid_choice",
    expect.any(String),
  ]);
});

test("an event has a name, or null for any, and conditions of its own", () => {
  expect(events([{ id: null }, { id: "buy", type: "events", name: "Buy", order: 0 }])).toEqual([
    { event: undefined, filters: [] },
    { event: "buy", filters: [] },
  ]);
  expect(events([{ id: "buy", properties: [{ key: "plan", value: "pro" }] }])).toMatchObject([
    { event: "buy", filters: [{ key: "plan", values: ["pro"] }] },
  ]);
});

test("what is no event is refused where it stands", () => {
  const { eventFiltersMax, eventNameCharsMax } = sessionRecordingLimits;
  const wrong: [unknown, string, string][] = [
    [{}, "not_a_list", "e"],
    [Array(eventFiltersMax + 1).fill({ id: null }), "max_length", "e"],
    [[null], "not_a_dict", "e__0"],
    [[{ id: null }, []], "not_a_dict", "e__1"],
    [[{}], "required", "e__0__id"],
    [[{ id: "" }], "invalid_input", "e__0__id"],
    [[{ id: 5 }], "invalid_input", "e__0__id"],
    [[{ id: "a\0" }], "invalid_input", "e__0__id"],
    [[{ id: "a".repeat(eventNameCharsMax + 1) }], "invalid_input", "e__0__id"],
    [[{ id: "a", math: "dau" }], "invalid_input", "e__0__math"],
    [[{ id: 5, type: "actions" }], "invalid_choice", "e__0__type"],
  ];
  for (const [value, code, attr] of wrong) expect(events(value)).toEqual([code, attr]);
});
