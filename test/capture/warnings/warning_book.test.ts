import { afterAll, expect, test } from "bun:test";
import { Outcomes, type Reason, type Warning } from "../../../src/capture/fields/outcome.ts";
import type { WarningRow } from "../../../src/capture/warnings/warning.ts";
import { warningText } from "../../../src/capture/warnings/warning_text.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { type Desk, key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp);

const minuteMs = 60_000;

function watched(): { desk: Desk; rows: WarningRow[]; clock: { millis: number } } {
  const time = { millis: 28_000_000 * minuteMs };
  const clock: Clock = { now: () => time.millis, elapsed: () => time.millis };
  const desk = openDesk({ clock });
  const rows: WarningRow[] = [];
  const append = desk.journal.warnings.append.bind(desk.journal.warnings);
  desk.journal.warnings.append = (row) => {
    rows.push({ ...row });
    append(row);
  };
  return { desk, rows, clock: time };
}

const details = (row: WarningRow | undefined) => JSON.parse(row!.details) as Record<string, unknown>;

test("each ignored or altered event is told of with its name, its id, and what was wrong", async () => {
  const { desk, rows } = watched();
  const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
  const batch = [
    { event: "no id", uuid },
    { event: "é\n", distinct_id: "someone", timestamp: "soon" },
    { distinct_id: "someone" },
  ];
  await desk.send("/batch/", { api_key: key, batch });
  expect(rows.map(({ type, event, distinct_id, count }) => ({ type, event, distinct_id, count }))).toEqual([
    { type: "missing_distinct_id", event: "no id", distinct_id: "", count: 1 },
    { type: "missing_event_name", event: "", distinct_id: "someone", count: 1 },
    { type: "ignored_invalid_timestamp", event: "é\n", distinct_id: "someone", count: 1 },
  ]);
  expect(rows.every((row) => row.project_id === 7)).toBe(true);
  expect(details(rows[0])).toMatchObject({ index: 0, event_uuid: uuid });
  expect(details(rows[2])).toMatchObject({ index: 1, field: "timestamp", value: '"soon"' });
  expect(String(details(rows[2])["event_uuid"])).toMatch(/^[0-9a-f-]{36}$/);
});

test("an SDK's own warning is listed in its own words, and is no event", async () => {
  const { desk, rows } = watched();
  const message = 'posthog-js client rate limited. "Config" is set to 10 events per second.';
  const warned = (properties: object) => ({
    event: "$$client_ingestion_warning",
    distinct_id: "d",
    properties,
  });
  const batch = [
    warned({ $lib: "web", $$client_ingestion_warning_message: message, x: [{}] }),
    warned({ $$client_ingestion_warning_message: 7 }),
    warned({ pad: "x".repeat(70_000), $$client_ingestion_warning_message: message }),
    { event: "$$heatmap", distinct_id: "d", properties: { $heatmap_data: {} } },
    { event: "usual", distinct_id: "d" },
  ];
  await desk.send("/batch/", { api_key: key, batch });
  expect(rows.map(({ type, event, distinct_id }) => ({ type, event, distinct_id }))).toEqual([
    ...Array(3).fill({
      type: "client_ingestion_warning",
      event: "$$client_ingestion_warning",
      distinct_id: "d",
    }),
    { type: "heatmap", event: "$$heatmap", distinct_id: "d" },
  ]);
  expect(details(rows[0])).toMatchObject({ message, index: 0 });
  for (const row of rows.slice(1, 3)) expect(details(row)["message"]).toStartWith("An SDK sent a warning");
  expect(desk.counts).toMatchObject({ received: 5, accepted: 1 });
  expect((await desk.kept())["live"]).toBe(1);
});

test("a distinct id that is a list is told of as it is stored", async () => {
  const { desk, rows } = watched();
  await desk.send(
    "/batch/",
    `{"api_key":"${key}","batch":[{"event":"e","distinct_id":[ 1, "a" ],"uuid":"x"}]}`,
  );
  expect(rows.map(({ distinct_id }) => distinct_id)).toEqual(['[1,"a"]']);
});

test("a flood is a hundred rows and one that counts the rest", async () => {
  const { desk, rows, clock } = watched();
  const batch = Array.from({ length: 5000 }, (_, i) => ({ event: `e${i}` }));
  for (let i = 0; i < 3; i++) await desk.send("/batch/", { api_key: key, batch });
  expect(rows.length).toBe(100);
  clock.millis += minuteMs;
  await desk.book.poll();
  expect(rows.length).toBe(101);
  expect(rows[100]).toMatchObject({ type: "missing_distinct_id", count: 14_900 });
  expect(rows[100]!.timestamp).toBe(clock.millis * 1000 - 1);
  await desk.book.poll();
  expect(rows.length).toBe(101);
  await desk.send("/batch/", { api_key: key, batch });
  await desk.book.close();
  expect(rows.length).toBe(202);
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(20_000);
  expect((await desk.kept())["warnings"]).toBe(202);
});

test("nothing is told of a request that was refused", async () => {
  const { desk, rows } = watched();
  await desk.send("/batch/", { api_key: "phc_nobody", batch: [{ event: "e" }] });
  await desk.send("/batch/", `{"api_key":"${key}","batch":[{"event":"e"},{`);
  expect(rows).toEqual([]);
});

test("a spike is told of when it begins and when it ends; a migration is none", async () => {
  const { desk, rows, clock } = watched();
  const minute = Math.floor(clock.millis / minuteMs) - 30;
  desk.book.watch([{ project_id: 7, minute, events: 30, since: minute * minuteMs }]);
  const batch = Array.from({ length: 1500 }, () => ({ event: "e", distinct_id: "d" }));
  const began = clock.millis;
  await desk.send("/batch/", { api_key: key, batch, historical_migration: true });
  expect(desk.counts["spikes"]).toBe(0);
  await desk.send("/batch/", { api_key: key, batch });
  await desk.send("/batch/", { api_key: key, batch });
  expect(desk.counts["spikes"]).toBe(1);
  expect(rows.map(({ type }) => type)).toEqual(["spike_detected"]);
  expect(details(rows[0])).toMatchObject({
    start: new Date(began).toISOString(),
    end: null,
    peak: 1500,
    baseline: 1,
  });
  clock.millis += 2 * minuteMs;
  await desk.book.poll();
  expect(rows.map(({ type }) => type)).toEqual(["spike_detected", "spike_ended"]);
  expect(details(rows[1])).toMatchObject({ end: new Date(began + minuteMs).toISOString(), peak: 3000 });
});

test("a busy hour before the start makes its minutes usual", async () => {
  const { desk, rows, clock } = watched();
  const minute = clock.millis / minuteMs;
  const recent = Array.from({ length: 60 }, (_, i) => ({
    project_id: 7,
    minute: minute - 1 - i,
    events: 1000,
    since: (minute - 1 - i) * minuteMs,
  }));
  desk.book.watch(recent);
  const batch = Array.from({ length: 1500 }, () => ({ event: "e", distinct_id: "d" }));
  await desk.send("/batch/", { api_key: key, batch });
  expect(rows).toEqual([]);
});

test("a client's values are quoted up to a bound, whatever they are", () => {
  const bytes = new TextEncoder().encode(`{"event":"${"✓".repeat(1000)}","x":1}`);
  const outcomes = new Outcomes<Reason | Warning>();
  const entry = new Int32Array(19);
  entry.set([0, bytes.length, 9, bytes.length - 7]);
  outcomes.add(3, "missing_distinct_id", entry);
  const row = warningText(outcomes.examples[0]!, bytes, 1, 5);
  expect(row.event).toBe("✓".repeat(199));
  expect(row).toMatchObject({ distinct_id: "", timestamp: 5 });
  const none = warningText(
    { type: "malformed_event", index: 0, entry: undefined, uuid: undefined },
    bytes,
    1,
    5,
  );
  expect(none).toMatchObject({ event: "", distinct_id: "" });
});
