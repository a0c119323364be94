// An export in a request, checked against the rules and what is stored: nothing of it is contacted.

import { expect, test } from "bun:test";
import { checkExport, type Checks } from "../../../src/batch_exports/api/export_input.ts";
import { exportLimits } from "../../../src/batch_exports/limits.ts";
import type { StoredExport } from "../../../src/batch_exports/stores/export_store.ts";
import { Fault, UserError } from "../../../src/core/fault.ts";

const sealed = new TextEncoder().encode("sealed");
const checks = {
  project_id: 1,
  clickhouse: { query: () => Promise.resolve([]) },
  parse: () => Promise.reject(new Error("no HogQL is read here")),
  secrets: { seal: () => sealed, open: () => ({ token: "phc_old" }) },
  addresses: {
    findResolvedRefusal: (host: string) =>
      Promise.resolve(host.startsWith("10.") ? `${host} is private` : undefined),
  },
  exportFileDir: undefined,
} as unknown as Checks;

const http = { type: "HTTP", config: { url: "https://sink.example/batch", token: "phc_new" } };
const changes = { name: "Nightly", interval: "hour", destination: http } as const;
const stored = {
  id: "018f6d00-0000-7000-8000-000000000001",
  name: "Stored",
  model: "events",
  interval: "day",
  paused: true,
  last_paused_at: "2026-01-01T00:00:00Z",
  start_at: "2026-01-02T00:00:00Z",
  end_at: null,
  native_query: null,
  filters: null,
  timezone: "Europe/Berlin",
  offset_day: 0,
  offset_hour: 3,
  destination_type: "HTTP",
  destination_config: { url: "https://sink.example/batch" },
  destination_secrets: sealed,
} as unknown as StoredExport;

async function faultOf(
  input: object,
  before?: StoredExport,
  with_: Partial<Checks> = {},
): Promise<unknown[]> {
  const thrown: unknown = await checkExport({ ...checks, ...with_ }, input, before).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return thrown instanceof Fault ? [thrown.code, thrown.attr, thrown.detail] : [thrown];
}

test("a new export has the defaults of what it leaves out, and its secrets apart and sealed", async () => {
  const { fields } = await checkExport(checks, changes);
  expect(fields).toEqual({
    name: "Nightly",
    model: "events",
    interval: "hour",
    paused: false,
    last_paused_at: null,
    start_at: null,
    end_at: null,
    native_query: null,
    filters: null,
    timezone: "UTC",
    offset_day: 0,
    offset_hour: 0,
    destination_type: "HTTP",
    destination_config: { url: "https://sink.example/batch" },
    destination_secrets: sealed,
  });
});

test("a change leaves what it does not name, and an empty query or null takes away", async () => {
  const { id: _, ...own } = stored;
  const { fields } = await checkExport(checks, { name: "Renamed" }, stored);
  expect(fields).toEqual({ ...own, name: "Renamed" } as never);
  const before = { ...stored, native_query: "select 1", filters: [] } as StoredExport;
  const cleared = await checkExport(checks, { native_query: "", filters: null, start_at: null }, before);
  expect(cleared.fields).toMatchObject({ native_query: null, filters: null, start_at: null });
});

test.each([
  ["hour", true],
  ["week", true],
  ["every 1 minutes", true],
  [`every ${exportLimits.minutesMax} minutes`, true],
  [`every ${exportLimits.minutesMax + 1} minutes`, false],
  ["every 0 minutes", false],
  ["every 05 minutes", false],
  ["every 5 minutes; drop", false],
  ["month", false],
])("the interval %p is one: %p", async (interval, isOne) => {
  const fault = await faultOf({ ...changes, interval });
  expect(fault).toEqual(
    isOne ? [undefined] : ["invalid_choice", "interval", `"${interval}" is not a valid choice.`],
  );
});

test("days have a zone and an hour, weeks a day as well, and other intervals neither", async () => {
  const cadenceAfter = async (input: object, before?: StoredExport) => {
    const { fields } = await checkExport(checks, before ? input : { ...changes, ...input }, before);
    return [fields.interval, fields.timezone, fields.offset_day, fields.offset_hour];
  };
  const zoned = { timezone: "Asia/Kathmandu", offset_hour: 20 };
  expect(await cadenceAfter({ interval: "day", ...zoned })).toEqual(["day", "Asia/Kathmandu", 0, 20]);
  const weekly = { ...stored, interval: "week", ...zoned, offset_day: 3 } as StoredExport;
  expect(await cadenceAfter({ interval: "week", ...zoned, offset_day: 3 })).toEqual([
    "week",
    "Asia/Kathmandu",
    3,
    20,
  ]);
  expect(await cadenceAfter({ name: "x" }, weekly)).toEqual(["week", "Asia/Kathmandu", 3, 20]);
  expect(await cadenceAfter({ offset_hour: 5 }, weekly)).toEqual(["week", "Asia/Kathmandu", 3, 5]);
  expect(await cadenceAfter({ offset_day: null, timezone: null }, weekly)).toEqual(["week", "UTC", 0, 20]);
  expect(await cadenceAfter({ interval: "day" }, weekly)).toEqual(["day", "Asia/Kathmandu", 0, 20]);
  expect(await cadenceAfter({ interval: "hour" }, weekly)).toEqual(["hour", "Asia/Kathmandu", 0, 0]);
  const none = { offset_day: null, offset_hour: 0, timezone: "UTC" };
  expect(await cadenceAfter(none)).toEqual(["hour", "UTC", 0, 0]);
  const wrong = (name: string, named: string) => [
    "invalid_input",
    name,
    `${name} is not applicable for non-${named} intervals`,
  ];
  expect(await faultOf({ ...changes, interval: "day", offset_day: 1 })).toEqual(
    wrong("offset_day", "weekly"),
  );
  expect(await faultOf({ ...changes, offset_hour: 1 })).toEqual(wrong("offset_hour", "daily/weekly"));
  expect(await faultOf({ offset_day: 1 }, stored)).toEqual(wrong("offset_day", "weekly"));
});

test("an end before the start is refused, also against the stored start; both at once are no interval, and pass", async () => {
  const refused = ["invalid_input", "end_at", "'end_at' must not be before 'start_at'."];
  const at = (start_at: string, end_at: string) => faultOf({ ...changes, start_at, end_at });
  expect(await at("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z")).toEqual(refused);
  expect(await at("2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z")).toEqual([undefined]);
  expect(await faultOf({ end_at: "2026-01-01T23:59:59Z" }, stored)).toEqual(refused);
});

test("the export's own fields are refused before its destination's", async () => {
  const wrong = { ...changes, model: "pets", destination: { type: "Nothing" } };
  expect(await faultOf(wrong)).toEqual(["invalid_choice", "model", '"pets" is not a valid choice.']);
});

test("HTTP takes events, whether the model or the destination changes", async () => {
  const refused = ["invalid_input", "model", "HTTP batch exports only support the events model"];
  expect(await faultOf({ ...changes, model: "persons" })).toEqual(refused);
  expect(await faultOf({ model: "persons" }, stored)).toEqual(refused);
});

test("an address that may not be connected to is refused by the field that names it, on create and on change", async () => {
  const inner = { type: "HTTP", config: { url: "https://10.0.0.1/batch", token: "phc_new" } };
  const refused = ["invalid_input", "destination__config__url", "10.0.0.1 is private"];
  expect(await faultOf({ ...changes, destination: inner })).toEqual(refused);
  expect(await faultOf({ destination: inner }, stored)).toEqual(refused);
});

test("files are refused where this server cannot write them", async () => {
  const file = { type: "File", config: { path: "events", file_format: "JSONLines" } };
  const [code, attr, detail] = await faultOf({ ...changes, destination: file });
  expect([code, attr]).toEqual(["invalid_choice", "destination__type"]);
  expect(detail).toStartWith('"File" is not a valid choice. ');
});

test("secrets that were sealed with another key are requested again, and may all be given", async () => {
  const lost = {
    secrets: {
      seal: () => sealed,
      open: () => {
        throw new UserError("another SECRET_KEY");
      },
    } as unknown as Checks["secrets"],
  };
  expect(
    await faultOf({ destination: { config: { url: "https://sink.example/other" } } }, stored, lost),
  ).toEqual([
    "required",
    "destination__config__token",
    "This field is required again: its stored value was sealed with another SECRET_KEY.",
  ]);
  expect(await faultOf({ destination: http }, stored, lost)).toEqual([undefined]);
});

test.each([
  ["an object", { key: "plan" }, "should be an array"],
  ["a condition without a key", [{ operator: "exact", value: ["x"] }], undefined],
])("filters that are %s are refused by their field", async (_, filters, detail) => {
  const [code, attr, said] = await faultOf({ ...changes, filters });
  expect([code === "invalid_input" || code === "required", String(attr).startsWith("filters")]).toEqual([
    true,
    true,
  ]);
  if (detail !== undefined) expect(said).toBe(detail);
});
