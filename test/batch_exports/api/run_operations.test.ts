// Runs, backfills and logs over HTTP. Nothing runs here: what the scheduler would do is written by the tests.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { findRangeEnd } from "../../../src/batch_exports/api/backfill_range.ts";
import { startMsMax } from "../../support/accounts.ts";
import { problemOf } from "../../support/ask.ts";
import { addRun, type ExportDesk, openExportDesk } from "../../support/batch_exports.ts";
import { cleanUp } from "../../support/cleanup.ts";

let desk: ExportDesk;

beforeAll(async () => {
  desk = await openExportDesk();
}, startMsMax);
afterAll(cleanUp, startMsMax);

const wrong = (detail: string, attr: string | null = null, code = "invalid_input") => [
  400,
  "validation_error",
  code,
  detail,
  attr,
];
const notFound = [404, "invalid_request", "not_found", "Not found.", null];

async function makeExport(body: Record<string, unknown> = {}): Promise<{ id: string; path: string }> {
  // Paused, so that no scheduler takes it up.
  const id = String((await desk.make({ paused: true, ...body }))["id"]);
  return { id, path: `${desk.home}${id}/` };
}

function idsOf(page: Record<string, unknown>): string[] {
  return (page["results"] as { id: string }[]).map(({ id }) => id);
}

/** Every page from a path on, by its next links. */
async function allPages(path: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let at: string | null = path; at !== null;) {
    const { status, body } = await desk.ask("GET", at);
    expect(status).toBe(200);
    pages.push(idsOf(body));
    const next = body["next"];
    at = typeof next === "string" ? new URL(next).pathname + new URL(next).search : null;
  }
  return pages;
}

test("runs are listed newest first, and followed by their links both ways", async () => {
  const { id, path } = await makeExport();
  const added: string[] = [];
  for (let i = 0; i < 5; i++) {
    added.unshift(
      await addRun(desk.sql, id, { created_at: new Date(Date.now() - 60_000 + i).toISOString() }),
    );
  }
  expect(await allPages(`${path}runs/?limit=2`)).toEqual([
    added.slice(0, 2),
    added.slice(2, 4),
    added.slice(4),
  ]);
  const first = (await desk.ask("GET", `${path}runs/?limit=2`)).body;
  expect(Object.keys(first)).toEqual(["next", "previous", "results"]);
  expect(first["previous"]).toBeNull();
  const second = (await desk.ask("GET", pathOf(first["next"]))).body;
  const back = (await desk.ask("GET", pathOf(second["previous"]))).body;
  expect(idsOf(back)).toEqual(added.slice(0, 2));
  expect(back["previous"]).toBeNull();
  expect(idsOf((await desk.ask("GET", pathOf(back["next"]))).body)).toEqual(added.slice(2, 4));
});

function pathOf(link: unknown): string {
  const url = new URL(String(link));
  return url.pathname + url.search;
}

test("only the last week's runs are listed by default", async () => {
  const { id, path } = await makeExport();
  const old = await addRun(desk.sql, id, { created_at: "2025-01-01T00:00:00Z" });
  const recent = await addRun(desk.sql, id);
  const list = async (query: string) => idsOf((await desk.ask("GET", `${path}runs/?${query}`)).body);
  expect(await list("")).toEqual([recent]);
  expect(await list("after=2024-12-31")).toEqual([recent, old]);
  expect(await list("after=2024-12-31&before=-1d")).toEqual([old]);
  expect(problemOf(await desk.ask("GET", `${path}runs/?after=soon`))[4]).toBe("after");
});

test("runs may be chosen and ordered by their interval", async () => {
  const { id, path } = await makeExport();
  const run = (day: number) =>
    addRun(desk.sql, id, { start: `2025-02-0${day}T00:00:00Z`, end: `2025-02-0${day + 1}T00:00:00Z` });
  const days = [await run(1), await run(2), await run(3)];
  const everything = await addRun(desk.sql, id, { start: null, end: "2025-02-01T00:00:00Z" });
  const list = async (query: string) => idsOf((await desk.ask("GET", `${path}runs/?${query}`)).body);
  expect(await list("ordering=data_interval_start")).toEqual([everything, ...days]);
  expect(await list("ordering=-data_interval_start")).toEqual([...days.toReversed(), everything]);
  expect(await list("start=2025-02-02&end=2025-02-03T00:00:00Z")).toEqual([days[1]!]);
  expect((await allPages(`${path}runs/?ordering=data_interval_start&limit=1`)).flat()).toEqual([
    everything,
    ...days,
  ]);
  const refused = await desk.ask("GET", `${path}runs/?ordering=status`);
  expect(problemOf(refused).slice(2)).toEqual([
    "invalid_choice",
    "Order by created_at or data_interval_start, with a minus before it for falling.",
    "ordering",
  ]);
});

test("a cursor nobody gave out leads nowhere", async () => {
  const { path } = await makeExport();
  const forged = Buffer.from("n|2025-01-01'; DROP|x").toString("base64url");
  for (const cursor of ["x", forged, "%00", "a".repeat(5000)]) {
    const reply = await desk.ask("GET", `${path}runs/?cursor=${cursor}`);
    expect(problemOf(reply)).toEqual([404, "invalid_request", "not_found", "Invalid cursor", null]);
  }
});

test("a run is one export's", async () => {
  const { id, path } = await makeExport();
  const other = await makeExport();
  const run = await addRun(desk.sql, id);
  const { body } = await desk.ask("GET", `${path}runs/${run}/`);
  expect(body).toMatchObject({
    id: run,
    batch_export: id,
    status: "Completed",
    records_completed: 5,
    records_total_count: 6,
    cursor: null,
  });
  for (const below of [`runs/${run}/`, `runs/${run}/logs/`, "runs/none/", `runs/${crypto.randomUUID()}/`]) {
    expect(problemOf(await desk.ask("GET", other.path + below))).toEqual(notFound);
  }
  expect(problemOf(await desk.ask("POST", `${other.path}runs/${run}/cancel/`))).toEqual(notFound);
});

test("what is open can be cancelled, once; what is over cannot", async () => {
  const { id, path } = await makeExport();
  for (const status of ["Starting", "Running", "FailedRetryable"]) {
    const run = await addRun(desk.sql, id, { status });
    const reply = await desk.ask("POST", `${path}runs/${run}/cancel/`);
    expect([reply.status, reply.body]).toEqual([200, { cancelled: true }]);
    const { body } = await desk.ask("GET", `${path}runs/${run}/`);
    expect(body).toMatchObject({ status: "Cancelled", finished_at: expect.any(String) as unknown });
    const again = wrong("Cannot cancel a run that is in 'Cancelled' status");
    expect(problemOf(await desk.ask("POST", `${path}runs/${run}/cancel/`))).toEqual(again);
  }
  const done = await addRun(desk.sql, id);
  const refused = wrong("Cannot cancel a run that is in 'Completed' status");
  expect(problemOf(await desk.ask("POST", `${path}runs/${done}/cancel/`))).toEqual(refused);
});

test("what is over can be run again, as a backfill of its interval", async () => {
  const { id, path } = await makeExport({ interval: "week" });
  const run = await addRun(desk.sql, id, {
    status: "Failed",
    start: "2025-03-01T00:00:00Z",
    end: "2025-03-02T00:00:00Z",
  });
  const { status, body } = await desk.ask("POST", `${path}runs/${run}/retry/`);
  expect(status).toBe(200);
  const backfill = await desk.ask("GET", `${path}backfills/${String(body["backfill_id"])}/`);
  expect(backfill.body).toMatchObject({
    start_at: "2025-03-01T00:00:00Z",
    end_at: "2025-03-02T00:00:00Z",
    progress: { total_runs: 1 },
  });
  const [row] =
    await desk.sql`SELECT "interval" FROM batch_export_backfills WHERE id = ${String(body["backfill_id"])}`;
  expect(row?.["interval"]).toBe("whole range");
  const longest = { start: "2025-10-25T22:00:00Z", end: "2025-11-02T00:00:00Z" };
  const long = await addRun(desk.sql, id, { status: "Failed", ...longest });
  const retried = (await desk.ask("POST", `${path}runs/${long}/retry/`)).body["backfill_id"];
  const { body: shown } = await desk.ask("GET", `${path}backfills/${String(retried)}/`);
  expect(shown).toMatchObject({ progress: { total_runs: 1 } });
  const open = await addRun(desk.sql, id, { status: "Running" });
  const refused = wrong("Cannot retry a run that is in 'Running' status");
  expect(problemOf(await desk.ask("POST", `${path}runs/${open}/retry/`))).toEqual(refused);
});

test("what a pause missed begins where the last run of another grid ended", async () => {
  const { id, path } = await makeExport({ interval: "day", offset_hour: 5 });
  const last = { start: "2025-01-01T05:00:00Z", end: "2025-01-02T05:00:00Z" };
  await addRun(desk.sql, id, last);
  await desk.sql`UPDATE batch_exports SET scheduled_until = ${last.end} WHERE id = ${id}`;
  await desk.ask("PATCH", path, { timezone: "Asia/Tokyo", offset_hour: 0 });
  await desk.ask("POST", `${path}unpause/`, { backfill: true });
  const { body } = await desk.ask("GET", `${path}backfills/`);
  const [backfill] = body["results"] as Record<string, string>[];
  expect([backfill!["start_at"], backfill!["end_at"]!.slice(11)]).toEqual([last.end, "15:00:00Z"]);
});

test("a date is the begin of the export's day or week there", async () => {
  const weekly = { interval: "week", timezone: "Asia/Kathmandu", offset_day: 3, offset_hour: 20 };
  const { path } = await makeExport(weekly);
  const dates = { start_at: "2026-01-07", end_at: "2026-01-14" };
  const { status, body } = await desk.ask("POST", `${path}backfills/`, dates);
  expect(status).toBe(201);
  const shown = (await desk.ask("GET", `${path}backfills/${String(body["backfill_id"])}/`)).body;
  expect(shown).toMatchObject({
    start_at: "2026-01-07T14:15:00Z",
    end_at: "2026-01-14T14:15:00Z",
    progress: { total_runs: 1 },
  });
  const refused = await desk.ask("POST", `${path}backfills/`, { ...dates, end_at: "2026-01-11" });
  expect(problemOf(refused)).toEqual(
    wrong("Input 2026-01-11 is a Sunday; weeks of this export begin on Wednesdays."),
  );
});

test("a backfill starts with a range, under either path, and takes back what it shows", async () => {
  const { id, path } = await makeExport({ interval: "hour" });
  const range = { start_at: "2025-01-01T00:00:00+02:00", end_at: "2025-01-01T03:30:00+02:00" };
  for (const word of ["backfill", "backfills"]) {
    const { status, body } = await desk.ask("POST", `${path}${word}/`, {
      ...range,
      batch_export: id,
      status: "Completed",
    });
    expect([status, Object.keys(body)]).toEqual([word === "backfill" ? 200 : 201, ["backfill_id"]]);
    const shown = (await desk.ask("GET", `${path}backfills/${String(body["backfill_id"])}/`)).body;
    expect(shown).toEqual({
      id: body["backfill_id"],
      team: desk.project_id,
      batch_export: id,
      start_at: "2024-12-31T22:00:00Z",
      end_at: "2025-01-01T01:30:00Z",
      status: expect.stringMatching(/Starting|Running|Completed/) as unknown,
      created_at: expect.any(String) as unknown,
      finished_at: shown["finished_at"],
      last_updated_at: expect.any(String) as unknown,
      // The half hour left over is not run.
      progress: {
        total_runs: 4,
        finished_runs: expect.any(Number) as unknown,
        progress: expect.any(Number) as unknown,
      },
    });
  }
});

test("without a start a backfill goes from the first data, without an end until now", async () => {
  const { path } = await makeExport();
  for (const body of [
    undefined,
    {},
    { start_at: null, end_at: null },
    { end_at: "2025-01-01T00:00:00Z" },
    { start_at: "2025-01-01T00:00:00Z" },
  ]) {
    expect((await desk.ask("POST", `${path}backfills/`, body)).status).toBe(201);
  }
  const rows = (await desk.ask("GET", `${path}backfills/`)).body["results"] as Record<string, unknown>[];
  expect(rows.map(({ start_at, end_at }) => [start_at, end_at])).toEqual([
    ["2025-01-01T00:00:00Z", null],
    [null, "2025-01-01T00:00:00Z"],
    [null, null],
    [null, null],
    [null, null],
  ]);
});

test("without an end, what is under way is left to a schedule that will run it", () => {
  const asked = (paused: boolean, start?: string, end_at: string | null = null) =>
    findRangeEnd(
      { start: start ? new Date(start) : null, end: null },
      { interval: "hour", timezone: "UTC", offset_day: 0, offset_hour: 0, paused, end_at },
      new Date("2025-01-01T12:20:00Z"),
    ).toISOString();
  expect(asked(false)).toBe("2025-01-01T12:00:00.000Z");
  expect(asked(false, "2025-01-01T11:30:00Z")).toBe("2025-01-01T12:00:00.000Z");
  expect(asked(false, "2025-01-01T12:00:00Z")).toBe("2025-01-01T12:20:00.000Z");
  expect(asked(true)).toBe("2025-01-01T12:20:00.000Z");
  expect(asked(false, undefined, "2025-01-01T12:30:00Z")).toBe("2025-01-01T12:20:00.000Z");
});

test("a range that cannot be is refused, in PostHog's words", async () => {
  const { path } = await makeExport();
  const order = "The initial backfill datetime 'start_at' happens after 'end_at'";
  const cases: [Record<string, unknown>, string][] = [
    [{ start_at: "not a date" }, "Input not a date is not a valid ISO formatted datetime."],
    [{ start_at: 5 }, "Input 5 is not a valid ISO formatted datetime."],
    [{ end_at: "2021-02-30T00:00:00Z" }, "Input 2021-02-30T00:00:00Z is not a valid ISO formatted datetime."],
    [{ start_at: "2021-01-01T01:00:00" }, "Input 2021-01-01T01:00:00 is naive."],
    [{ start_at: "2021-01-01T01:00:00Z", end_at: "2021-01-01T01:00:00Z" }, order],
    [{ start_at: "2021-01-02T01:00:00Z", end_at: "2021-01-01T01:00:00Z" }, order],
    [{ start_at: "2999-01-01T00:00:00Z" }, order],
    [{ end_at: "2999-01-01T00:00:00Z" }, "The provided 'end_at' (2999-01-01T00:00:00Z) is in the future"],
  ];
  for (const word of ["backfill", "backfills"]) {
    for (const [body, detail] of cases) {
      expect(problemOf(await desk.ask("POST", `${path}${word}/`, body))).toEqual(wrong(detail));
    }
  }
  const often = await makeExport({ interval: "every 1 minutes" });
  const long = await desk.ask("POST", `${often.path}backfills/`, { start_at: "2000-01-01T00:00:00Z" });
  expect(problemOf(long)[3]).toContain("a backfill can have at most 100000");
});

test("backfills are listed newest first, fifty to a page, with their progress", async () => {
  const { id, path } = await makeExport({ interval: "hour" });
  const made: string[] = [];
  const range = { start_at: "2025-01-01T00:00:00Z", end_at: "2025-01-01T04:00:00Z" };
  for (let i = 0; i < 3; i++) {
    made.unshift(String((await desk.ask("POST", `${path}backfills/`, range)).body["backfill_id"]));
  }
  expect(await allPages(`${path}backfills/?limit=2`)).toEqual([made.slice(0, 2), made.slice(2)]);
  const backfill_id = made[0]!;
  // While one runs, the worker makes no further ones.
  const running = await addRun(desk.sql, id, { status: "Running", backfill_id });
  await desk.sql`UPDATE batch_export_backfills SET status = 'Running' WHERE id = ${backfill_id}`;
  await desk.sql`DELETE FROM batch_export_runs WHERE backfill_id = ${backfill_id} AND id <> ${running}`;
  for (const status of ["Completed", "Failed"]) await addRun(desk.sql, id, { status, backfill_id });
  const { body } = await desk.ask("GET", `${path}backfills/${backfill_id}/`);
  expect(body["progress"]).toEqual({ total_runs: 4, finished_runs: 2, progress: 0.5 });
});

test("cancelling a backfill ends it and what of it runs", async () => {
  const { id, path } = await makeExport();
  const { body } = await desk.ask("POST", `${path}backfills/`, { start_at: "2000-01-01T00:00:00Z" });
  const backfill_id = String(body["backfill_id"]);
  await desk.sql`UPDATE batch_export_backfills SET status = 'Running' WHERE id = ${backfill_id}`;
  const [done, open] = [
    await addRun(desk.sql, id, { backfill_id }),
    await addRun(desk.sql, id, { backfill_id, status: "Running" }),
  ];
  const cancelled = await desk.ask("POST", `${path}backfills/${backfill_id}/cancel/`);
  expect([cancelled.status, cancelled.body]).toEqual([200, { cancelled: true }]);
  const statusOf = async (below: string) => (await desk.ask("GET", path + below)).body["status"];
  expect(await statusOf(`backfills/${backfill_id}/`)).toBe("Cancelled");
  expect([await statusOf(`runs/${done}/`), await statusOf(`runs/${open}/`)]).toEqual([
    "Completed",
    "Cancelled",
  ]);
  const again = wrong("Cannot cancel a backfill that is in 'Cancelled' status");
  expect(problemOf(await desk.ask("POST", `${path}backfills/${backfill_id}/cancel/`))).toEqual(again);
});

async function addLog(
  id: string,
  run_id: string | null,
  timestamp: string,
  level: string,
  message: string,
): Promise<void> {
  await desk.sql`
    INSERT INTO batch_export_logs (batch_export_id, run_id, "timestamp", level, message)
    VALUES (${id}, ${run_id}, ${timestamp}, ${level}, ${message})`;
}

test("logs are read newest first, by level, text, moment and run", async () => {
  const { id, path } = await makeExport();
  const run = await addRun(desk.sql, id);
  await addLog(id, run, "2025-01-01T00:00:00Z", "DEBUG", "looking around");
  await addLog(id, run, "2025-01-01T00:00:01Z", "INFO", "Starting batch export 100% of_it");
  await addLog(id, null, "2025-01-01T00:00:02.5Z", "WARNING", "paused");
  await addLog(id, run, "2025-01-01T00:00:03Z", "ERROR", "it failed");
  const read = async (query: string, below = "logs/") => {
    const { status, body } = await desk.ask("GET", `${path}${below}?${query}`);
    expect([query, status]).toEqual([query, 200]);
    return (body["results"] as { message: string }[]).map(({ message }) => message.split(" ")[0]);
  };
  const { body } = await desk.ask("GET", `${path}logs/`);
  expect(body).toMatchObject({ count: 4, next: null, previous: null });
  expect((body["results"] as unknown[])[1]).toEqual({
    log_source_id: id,
    instance_id: null,
    timestamp: "2025-01-01T00:00:02.500000Z",
    level: "WARNING",
    message: "paused",
  });
  expect(await read("level=ERROR&level=debug")).toEqual(["it", "looking"]);
  expect(await read("level=error,INFO")).toEqual(["it", "Starting"]);
  expect(await read("search=BATCH")).toEqual(["Starting"]);
  expect(await read("search=100%25")).toEqual(["Starting"]);
  expect(await read("search=f_i")).toEqual(["Starting"]);
  expect(await read("search=%25z")).toEqual([]);
  expect(await read("after=2025-01-01T00:00:01Z&before=2025-01-01T00:00:03Z")).toEqual(["paused"]);
  expect(await read(`instance_id=${run}`)).toEqual(["it", "Starting", "looking"]);
  expect(await read("", `runs/${run}/logs/`)).toEqual(["it", "Starting", "looking"]);
  expect(await read("limit=1&offset=1")).toEqual(["paused"]);
  const page = (await desk.ask("GET", `${path}logs/?limit=1`)).body;
  expect([page["count"], typeof page["next"]]).toEqual([4, "string"]);
});

test("a request for a log stays within its bounds", async () => {
  const { path } = await makeExport();
  const refusal = async (query: string) => problemOf(await desk.ask("GET", `${path}logs/?${query}`));
  const most = wrong("Ensure this value is less than or equal to 10000.", "limit", "max_value");
  expect(await refusal("limit=10001")).toEqual(most);
  expect(await refusal("limit=0")).toEqual(
    wrong("Ensure this value is greater than or equal to 1.", "limit", "min_value"),
  );
  expect(await refusal("limit=x")).toEqual(wrong("A valid integer is required.", "limit"));
  expect(await refusal("level=LOUD")).toEqual(
    wrong('"LOUD" is not a valid choice.', "level", "invalid_choice"),
  );
  expect((await refusal("instance_id=x"))[4]).toBe("instance_id");
  expect((await refusal("after=x"))[4]).toBe("after");
  expect((await refusal("search=%00"))[2]).toBe("null_characters_not_allowed");
});
