// The page of one export: what each button sends, and when it reads again by itself.

import { afterEach, expect, jest, test } from "bun:test";
import { OneExport } from "../../../../src/console/app/batch_exports/one_export.tsx";
import { type Answers, closePage, drawPage } from "../drawn_page.tsx";

afterEach(async () => {
  await closePage();
  jest.useRealTimers();
});

const path = "/api/projects/7/batch_exports/e1";
const run = (id: string, status: string, start: string | null, end: string, more: object = {}) => ({
  id,
  status,
  data_interval_start: start,
  data_interval_end: end,
  records_completed: 1200,
  latest_error: null,
  ...more,
});
const newest = run("r2", "Completed", "2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z");
const failed = run("r1", "Failed", null, "2026-03-02T01:00:00Z", { latest_error: "no such bucket" });
const row = {
  id: "e1",
  name: "Nightly",
  model: "events",
  destination: { type: "S3", config: { bucket_name: "shop" } },
  interval: "hour",
  paused: false,
  latest_runs: [failed, newest],
};

function answersOf(found: object, more: Answers = {}): Answers {
  return {
    [`GET ${path}/`]: found,
    [`GET ${path}/backfills/`]: { results: [] },
    [`GET ${path}/logs/`]: { results: [] },
    [`POST ${path}/pause/`]: {},
    [`POST ${path}/backfills/`]: {},
    [`POST ${path}/runs/r1/retry/`]: {},
    [`POST ${path}/runs/r1/cancel/`]: {},
    ...more,
  };
}

test("a run that has ended can run again, one that is running can be cancelled", async () => {
  const page = await drawPage(<OneExport id="e1" />, { answers: answersOf(row) });
  const runs = page.texts('[aria-label="The newest runs"] tbody tr');
  expect(runs.map((text) => /^(Completed|Failed).*(Run again|Cancel)$/.exec(text)?.slice(1))).toEqual([
    ["Failed", "Run again"],
    ["Completed", "Run again"],
  ]);
  expect(runs[0]).toContain("the beginning");
  expect(runs[0]).toContain("1,200no such bucket");
  await closePage();
  const open = { ...row, latest_runs: [run("r1", "Running", null, "2026-03-02T01:00:00Z")] };
  const going = await drawPage(<OneExport id="e1" />, { answers: answersOf(open) });
  await going.press("Cancel");
  expect(going.asked.find(({ method }) => method === "POST")?.path).toBe(`${path}/runs/r1/cancel/`);
});

test("running now covers everything since the latest end of a run, whichever run is the newest", async () => {
  const page = await drawPage(<OneExport id="e1" />, { answers: answersOf(row) });
  await page.press("Run now");
  expect(page.asked.find(({ method }) => method === "POST")).toMatchObject({
    path: `${path}/backfills/`,
    body: { start_at: "2026-03-02T01:00:00Z", end_at: null },
  });
  await closePage();
  const without = await drawPage(<OneExport id="e1" />, { answers: answersOf({ ...row, latest_runs: [] }) });
  await without.press("Run now");
  expect(without.asked.find(({ method }) => method === "POST")?.body).toEqual({
    start_at: null,
    end_at: null,
  });
  expect(without.text()).toContain("A backfill of everything has begun.");
});

test("a backfill's times are sent as moments, and an empty one is none", async () => {
  const page = await drawPage(<OneExport id="e1" />, { answers: answersOf(row) });
  await page.fill("From", "2026-03-01T12:30");
  await page.fill("To", "");
  await page.submit("Start backfill");
  expect(page.asked.find(({ method }) => method === "POST")?.body).toEqual({
    start_at: new Date(2026, 2, 1, 12, 30).toISOString(),
    end_at: null,
  });
});

test("the page polls while a backfill is running, and stops when none is", async () => {
  const backfill = {
    id: "b1",
    start_at: null,
    end_at: null,
    progress: { total_runs: null, finished_runs: 2 },
  };
  let status = "Running";
  const backfills = () => ({ results: [{ ...backfill, status }] });
  jest.useFakeTimers();
  const page = await drawPage(<OneExport id="e1" />, {
    answers: answersOf(row, { [`GET ${path}/backfills/`]: backfills }),
  });
  const reads = () => page.asked.filter((one) => one.path === `${path}/`).length;
  expect(page.texts('[aria-label="Backfills"] tbody tr')).toEqual(["Runningthe beginningnow2 of ?"]);
  expect(reads()).toBe(1);
  status = "Completed";
  jest.advanceTimersByTime(2000);
  await page.settled();
  expect(reads()).toBe(2);
  jest.advanceTimersByTime(60_000);
  await page.settled();
  expect(reads()).toBe(2);
});

test("who may only read sees no button that changes something, and an unknown export says so", async () => {
  const reader = await drawPage(<OneExport id="e1" />, {
    answers: answersOf(row),
    scopes: ["batch_export:read"],
  });
  expect(reader.texts("button")).toEqual([]);
  await closePage();
  const none = await drawPage(<OneExport id="../7" />, {});
  expect(none.asked.map((one) => one.path)).toEqual(["/api/projects/7/batch_exports/..%2F7/"]);
  expect(none.texts('[role="alert"]')).toEqual(["no answer to GET /api/projects/7/batch_exports/..%2F7/"]);
});
