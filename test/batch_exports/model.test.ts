// The shapes of batch exports in requests: what is read, what is refused by name, and what no reply may have.

import { expect, test } from "bun:test";
import { exportLimits } from "../../src/batch_exports/limits.ts";
import {
  backfillBody,
  exportBody,
  exportModel,
  openStatuses,
  organizationExportBody,
  runModel,
  runStatuses,
  unpauseBody,
} from "../../src/batch_exports/model.ts";
import { Fault } from "../../src/core/fault.ts";
import { checkFields } from "../../src/http/fields/field_check.ts";

const destination = { type: "S3", config: { bucket_name: "shop" } };
const body = { name: "Nightly", interval: "hour", destination };

function faultOf(act: () => unknown): unknown[] {
  try {
    act();
    return [];
  } catch (thrown) {
    return thrown instanceof Fault ? [thrown.code, thrown.attr] : [thrown];
  }
}

test("a new export needs a name, a destination and an interval, and has PostHog's defaults", () => {
  expect(checkFields(exportBody, body)).toMatchObject({
    ...body,
    model: "events",
    paused: false,
    last_paused_at: null,
    start_at: null,
    end_at: null,
    native_query: null,
    filters: null,
  });
  for (const name of ["name", "destination", "interval"]) {
    const { [name]: _, ...rest } = body as Record<string, unknown>;
    expect(faultOf(() => checkFields(exportBody, rest))).toEqual(["required", name]);
  }
});

test("a change may have any field alone, and none gets a default", () => {
  expect(checkFields(exportBody, { paused: true }, "change")).toEqual({ paused: true });
  expect(checkFields(exportBody, {}, "change")).toEqual({});
});

test.each([
  ["an integration", { destination: { ...destination, integration_id: 3 } }, "destination__integration_id"],
  ["a field that is none", { colour: "red" }, "colour"],
  ["a moment that is none", { start_at: "soon" }, "start_at"],
  ["a truth that is none", { paused: "perhaps" }, "paused"],
  ["a query beyond its bound", { native_query: "x".repeat(exportLimits.queryCharsMax + 1) }, "native_query"],
])("%s is refused by its name", (_, more, attr) => {
  const [code, named] = faultOf(() => checkFields(exportBody, { ...body, ...more }));
  expect([typeof code, named]).toEqual(["string", attr]);
});

test("a query may have all its characters, under either name", () => {
  const native_query = "x".repeat(exportLimits.queryCharsMax);
  expect(checkFields(exportBody, { ...body, native_query }).native_query).toBe(native_query);
  expect(checkFields(exportBody, { ...body, hogql_query: native_query }).hogql_query).toBe(native_query);
});

test("the export's own fields are refused before those of the destination", () => {
  const both = { ...body, destination: { ...destination, integration: 1 }, paused: "perhaps" };
  expect(faultOf(() => checkFields(exportBody, both))[1]).toBe("paused");
});

test("a project is named under an organization alone", () => {
  expect(checkFields(organizationExportBody, { ...body, team_id: 3 }).team_id).toBe(3);
  expect(faultOf(() => checkFields(organizationExportBody, { ...body, team_id: 0 }))[1]).toBe("team_id");
  expect(checkFields(exportBody, { ...body, team_id: 3 } as object)).not.toHaveProperty("team_id");
});

test("what clients that are generated from PostHog's description send is read where nothing is asked", () => {
  const whole = { ...body, id: "018f6d00-0000-7000-8000-000000000001", latest_runs: [], backfill: true };
  expect(checkFields(unpauseBody, whole)).toEqual({ backfill: true });
  expect(checkFields(unpauseBody, {})).toEqual({ backfill: false });
  expect(checkFields(backfillBody, { start_at: "2026-01-01", end_at: null })).toEqual({
    start_at: "2026-01-01",
    end_at: null,
  });
});

test("a run is open until one of the statuses that end it, each of which has a name of its own", () => {
  expect(openStatuses.every((one) => runStatuses.includes(one))).toBe(true);
  expect(new Set(runStatuses).size).toBe(10);
  expect(runStatuses.filter((one) => !openStatuses.includes(one))).toContain("Cancelled");
});

test("replies have the fields of the API, and no secret among them", () => {
  expect(Object.keys(runModel.properties).toSorted()).toEqual(
    (
      "batch_export created_at cursor data_interval_end data_interval_start finished_at id last_updated_at latest_error " +
      "records_completed records_failed records_total_count status"
    ).split(" "),
  );
  expect(Object.keys(exportModel.properties).toSorted()).toEqual(
    (
      "created_at destination end_at filters hogql_query id interval last_paused_at last_updated_at latest_runs model name " +
      "native_query offset_day offset_hour paused schema start_at team_id timezone"
    ).split(" "),
  );
});
