// Backfills as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startMsMax } from "../support/accounts.ts";
import { type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { endedRuns, runsOf } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { post, projectKey, rested, type Server, startServer, storesOf } from "../support/server.ts";

const folder = makeFolder();
const home = "/api/projects/1/batch_exports/";
let server: Server;
beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50", EXPORT_FILE_DIR: folder });
  const days = ["2024-01-05", "2024-01-20", "2024-03-05"];
  const batch = days.map((day) => ({ event: "old", distinct_id: day, timestamp: `${day}T10:00:00Z` }));
  const clock = { event: "old", distinct_id: "1970", timestamp: "1970-01-02T00:00:00Z" };
  const body = { api_key: projectKey, historical_migration: true, batch: [...batch, clock] };
  expect((await post(server, "/batch/", JSON.stringify(body))).status).toBe(200);
  await rested(server);
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function makeExport(name: string, fields: object = {}): Promise<string> {
  const destination = { type: "File", config: { path: name, file_format: "JSONLines" } };
  const input = { name, interval: "day", paused: true, destination, ...fields };
  const { body } = await ask(server, "POST", home, input);
  return String(body["id"]);
}

const backfill = (id: string, range: object): Promise<Answer> =>
  ask(server, "POST", `${home}${id}/backfills/`, range);

/** Distinct ids in the files below a folder. */
function readIds(name: string): string[] {
  const files = readdirSync(join(folder, name), { recursive: true, encoding: "utf8" });
  const lines = files
    .filter((file) => file.endsWith(".jsonl"))
    .flatMap((file) =>
      readFileSync(join(folder, name, file), "utf8")
        .trim()
        .split("\n"),
    );
  return lines.map((line) => (JSON.parse(line) as { distinct_id: string }).distinct_id).toSorted();
}

// PostHog/posthog#22673, #27699: a history imported today is in the backfill of its month.
test("a backfill goes by the events' own time, and so does its repetition", async () => {
  const id = await makeExport("month");
  const range = { start_at: "2024-01-01T00:00:00Z", end_at: "2024-01-21T00:00:00Z" };
  expect((await backfill(id, range)).status).toBe(201);
  const stores = await storesOf(server);
  const runs = await endedRuns(stores, id, 20);
  expect(runs.map(({ records_completed }) => records_completed ?? -1).reduce((a, b) => a + b)).toBe(2);
  expect(readIds("month")).toEqual(["2024-01-05", "2024-01-20"]);
  const [first] = runs.filter(({ records_completed }) => records_completed === 1);
  expect((await ask(server, "POST", `${home}${id}/runs/${first!.id}/retry/`)).status).toBe(200);
  const again = await endedRuns(stores, id, 21);
  expect(again.filter(({ records_completed }) => records_completed === 1)).toHaveLength(3);
  expect(readIds("month")).toEqual(["2024-01-05", "2024-01-20"]);
});

// PostHog/posthog#27689: a range before any data looks done and is not.
test("a range before the first event is refused and names it, one after it completes", async () => {
  const id = await makeExport("before");
  const refused = await backfill(id, { start_at: "1969-01-01T00:00:00Z", end_at: "2024-01-05T00:00:00Z" });
  expect(problemOf(refused).slice(0, 4)).toEqual([
    400,
    "validation_error",
    "invalid_input",
    "There is nothing in this range: the first event is of 2024-01-05T10:00:00+00:00.",
  ]);
  const range = { start_at: "2024-02-01T00:00:00Z", end_at: "2024-02-02T00:00:00Z" };
  expect((await backfill(id, range)).status).toBe(201);
  const [run] = await endedRuns(await storesOf(server), id);
  expect([run!.status, run!.records_completed]).toEqual(["Completed", 0]);
  // Without an end nothing is before the first event, however new it is.
  expect((await backfill(id, {})).status).toBe(201);
});

// PostHog/posthog#38102: backfills of daily exports are asked for by dates.
test("exports of days and weeks take dates, those of hours do not", async () => {
  const id = await makeExport("dates");
  expect((await backfill(id, { start_at: "2024-01-05", end_at: "2024-01-06" })).status).toBe(201);
  await endedRuns(await storesOf(server), id);
  expect(readIds("dates")).toEqual(["2024-01-05"]);
  const hourly = await makeExport("hours", { interval: "hour" });
  const refused = await backfill(hourly, { start_at: "2024-01-05", end_at: "2024-01-06" });
  expect(problemOf(refused)[3]).toBe("Input 2024-01-05 is naive.");
  expect(await runsOf(await storesOf(server), hourly)).toEqual([]);
});
