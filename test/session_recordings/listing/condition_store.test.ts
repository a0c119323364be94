// A question about recordings as conditions: each filter a set of recordings, found or excluded, within the project.

import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { sessionRecordingLimits } from "../../../src/session_recordings/limits.ts";
import { conditionClauses } from "../../../src/session_recordings/listing/condition_store.ts";
import type { RecordingConditions } from "../../../src/session_recordings/listing/conditions.ts";

const none = {
  operand: "AND",
  events: [],
  properties: [],
  logged: [],
  having: [],
} as unknown as RecordingConditions;
const filter = (type: string, key: string, more: object = {}) => ({
  type,
  key,
  operator: "exact",
  values: ["x"],
  ...more,
});
const span = { from: "2026-03-01 00:00:00.000000", to: "2026-03-02 00:00:00.000000" };

function asked(question: object, of: { from?: string; to?: string } = span) {
  const params: Record<string, unknown> = {};
  const conditions = conditionClauses({ ...none, ...question } as RecordingConditions, params, of, {
    now: 0,
    timezone: "UTC",
  });
  return { conditions: conditions.map((one) => one.replaceAll(/\s+/g, " ")), params };
}

test("no filter is no condition; those of one operand stand in brackets, figures beside them", () => {
  expect(asked({}).conditions).toEqual([]);
  const properties = [filter("event", "plan"), filter("person", "email")];
  const { conditions } = asked({ operand: "OR", properties, having: [filter("recording", "duration")] });
  expect(conditions).toHaveLength(2);
  expect(conditions[0]).toMatch(/^\(session_hash GLOBAL IN \(.*\) OR session_hash GLOBAL IN \(.*\)\)$/);
  expect(conditions[1]).toStartWith(
    "session_hash GLOBAL IN (SELECT hash FROM (SELECT session_hash AS hash, ",
  );
});

test("every set is of the project's rows, and what is asked for stands in parameters", () => {
  const marked = { values: ["zqxj'"] };
  const properties = ["event", "person"].map((type) => filter(type, "zqxj\\", marked));
  const { conditions, params } = asked({ properties, events: [{ event: "zqxj)", filters: [] }] });
  const text = conditions.join(" ");
  expect(text).not.toContain("zqxj");
  const reads = [...text.matchAll(/ FROM (\w+) WHERE (\S+ = \S+)/g)];
  expect(reads.length).toBeGreaterThan(4);
  expect(new Set(reads.map(([, , own]) => own))).toEqual(new Set(["project_id = {project_id:UInt32}"]));
  expect(Object.values(params)).toContain("zqxj)");
});

test("parameters of several filters have names of their own", () => {
  const properties = Array.from({ length: 5 }, (_, i) => filter("event", `k${i}`, { values: [`v${i}`] }));
  const { conditions, params } = asked({ properties });
  const names = [...conditions[0]!.matchAll(/\{(\w+):/g)]
    .map(([, name]) => name!)
    .filter((name) => name in params);
  expect(new Set(names).size).toBeGreaterThanOrEqual(10);
  for (let i = 0; i < 5; i++) expect(JSON.stringify(params)).toContain(`v${i}`);
});

test("a filter that excludes leaves out recordings that have what it names, not events that have not", () => {
  const [found] = asked({ properties: [filter("event", "plan")] }).conditions;
  const [excluded] = asked({ properties: [filter("event", "plan", { operator: "is_not" })] }).conditions;
  expect(excluded).toBe(found!.replace("GLOBAL IN", "GLOBAL NOT IN"));
});

test("events are looked for a session's length around the span, and anywhere without one", () => {
  const { sessionSecondsMax } = sessionRecordingLimits;
  const events = [{ event: "paid", filters: [] }];
  const [text] = asked({ events }).conditions;
  expect(text).toContain(
    `timestamp >= toDateTime64({from:String}, 6, 'UTC') - INTERVAL ${sessionSecondsMax} SECOND`,
  );
  expect(text).toContain(
    `timestamp < toDateTime64({to:String}, 6, 'UTC') + INTERVAL ${sessionSecondsMax} SECOND`,
  );
  expect(asked({ events }, {}).conditions[0]).not.toContain("timestamp");
});

test("persons are joined to events only where a filter is of them", () => {
  const of = (type: string) =>
    asked({ events: [{ event: "paid", filters: [filter(type, "plan")] }] }).conditions[0];
  expect(of("event")).toContain(" FROM stored_events WHERE");
  expect(of("person")).toContain(" FROM events WHERE");
});

test("levels of the console are columns, each once", () => {
  const { conditions } = asked({ logged: [filter("log_entry", "level", { values: ["error", "error"] })] });
  expect(conditions[0]!.match(/console_error_count > 0/g)).toHaveLength(1);
});

test("groups of filters nest, and an empty one holds of every recording", () => {
  const nested = { type: "OR", values: [filter("event", "a"), { type: "AND", values: [] }] };
  expect(asked({ properties: [nested] }).conditions[0]).toMatch(
    /^\(\(session_hash GLOBAL IN \(.*\) OR 1\)\)$/,
  );
});

test("SQL of a project's filters of test accounts is refused by its field", () => {
  try {
    asked({ properties: [{ type: "hogql", key: "1" }] });
    throw new Error("it was compiled");
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(Fault);
    expect([(thrown as Fault).code, (thrown as Fault).attr]).toEqual([
      "invalid_input",
      "filter_test_accounts",
    ]);
  }
});
