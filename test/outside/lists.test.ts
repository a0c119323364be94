// Lists as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  expect((await ask(app, "PATCH", "/api/projects/1/", { timezone: "Asia/Tokyo" })).status).toBe(200);
  const soon = new Date(Date.now() + 3 * 3_600_000).toISOString();
  const batch = [
    ...["2024-03-18T20:00:00Z", "2024-03-19T20:00:00Z"].map((ends, i) => ({
      event: "trial",
      distinct_id: `user-${i}`,
      properties: { ends, $set: { ends } },
    })),
    { event: "ahead", distinct_id: "user-0", timestamp: soon },
  ];
  const sent = await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "");
  expect(sent.status).toBe(200);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const idsOf = (results: unknown): unknown[] =>
  (results as Record<string, unknown>[]).map((row) => row["distinct_ids"] ?? row["distinct_id"]).flat();

async function listBy(list: "events" | "persons", operator: string): Promise<unknown[]> {
  const type = list === "events" ? "event" : "person";
  const properties = JSON.stringify([{ key: "ends", type, operator, value: "2024-03-19" }]);
  const { status, body } = await ask(
    app,
    "GET",
    `/api/projects/1/${list}/?properties=${encodeURIComponent(properties)}`,
  );
  expect(status).toBe(200);
  return idsOf(body["results"]).toSorted();
}

// PostHog/posthog#11922, lightdash/lightdash#3521: 20:00 UTC of 18 March is 19 March in Tokyo.
test.each(["events", "persons"] as const)(
  "a day in a filter of %s is a day of the project's zone",
  async (list) => {
    expect(await listBy(list, "is_date_exact")).toEqual(["user-0"]);
    expect(await listBy(list, "is_date_after")).toEqual(
      list === "events" ? ["user-0", "user-1"] : ["user-0", "user-1"],
    );
    expect(await listBy(list, "is_date_before")).toEqual([]);
  },
);

// PostHog/posthog#2871, #13579: a clock that is ahead moves the cursor of an incremental reader past what arrives meanwhile.
test("lists of events end now, unless they name a later end", async () => {
  const { body } = await ask(app, "GET", "/api/projects/1/events/");
  expect(idsOf(body["results"])).toHaveLength(2);
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const all = await ask(app, "GET", `/api/projects/1/events/?before=${later}`);
  expect(idsOf(all.body["results"])).toHaveLength(3);
  const query = { kind: "EventsQuery", select: ["event"], after: "-1d" };
  const listed = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect((listed.body["results"] as string[][]).flat()).not.toContain("ahead");
});

// events_query_runner.py and sessions_query_runner.py read relative dates to the second, as the list of events does.
test("what is relative in a query of a list is that long ago, not the day's start", async () => {
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  const week = 7 * 24;
  const batch = [week + 1, week - 1, 25, 23].map((hours) => ({
    event: "aged",
    distinct_id: `${hours} h`,
    timestamp: hoursAgo(hours),
    properties: { $session_id: `session ${hours}` },
  }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await rested(app);
  const read = async (more: object) => {
    const query = { after: "-7d", before: "-1d", orderBy: ["1"], ...more };
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
    expect(status).toBe(200);
    return (body["results"] as string[][]).flat();
  };
  const expected = [`${week - 1} h`, "25 h"];
  const events = { kind: "EventsQuery", event: "aged", orderBy: ["timestamp"] };
  expect(await read({ ...events, select: ["distinct_id"] })).toEqual(expected);
  expect(await read({ ...events, select: ["concat(distinct_id, '')"] })).toEqual(expected);
  const sessions = { kind: "SessionsQuery", select: ["session_id"], orderBy: ["$start_timestamp"] };
  expect(await read(sessions)).toEqual([`session ${week - 1}`, "session 25"]);
});

// property.py compares a session's moment, which PostHog stores with its zone, with the project's.
test("a filter of a session's start and end reads both in the right zone", async () => {
  const properties = { $session_id: "morning in Tokyo" };
  const batch = [{ event: "woke", distinct_id: "w", timestamp: "2024-03-04T23:00:00Z", properties }];
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await rested(app);
  for (const key of ["$start_timestamp", "$end_timestamp"]) {
    for (const [operator, value, expected] of [
      ["is_date_after", "2024-03-05T07:00:00", 1],
      ["is_date_after", "2024-03-05T09:00:00", 0],
      ["is_date_before", "2024-03-05T09:00:00", 1],
      ["is_date_before", "2024-03-05T07:00:00", 0],
      ["is_date_exact", "2024-03-05", 1],
      ["is_date_exact", "2024-03-04", 0],
      ["is_date_after", "2024-03-04T22:59:59Z", 1],
    ] as const) {
      const query = {
        kind: "TrendsQuery",
        series: [{ event: "woke" }],
        dateRange: { date_from: "2024-03-04", date_to: "2024-03-06" },
        properties: [{ type: "session", key, operator, value }],
      };
      const { body } = await ask(app, "POST", "/api/projects/1/query/", { query });
      const [line] = body["results"] as { count: number }[];
      expect([key, operator, value, line!.count]).toEqual([key, operator, value, expected]);
    }
  }
});

// PostHog/posthog#11922 again: the list's own days, and words for them, are those of the project; posthog's relative_date_parse.
test("days and words for days in the dates of lists are of the project's zone and week", async () => {
  const at = (moment: Temporal.ZonedDateTime) => moment.toInstant().toString({ smallestUnit: "second" });
  expect((await ask(app, "PATCH", "/api/projects/1/", { week_start_day: 1 })).status).toBe(200);
  const today = Temporal.Now.zonedDateTimeISO("Asia/Tokyo").startOfDay();
  const monday = today.subtract({ days: today.dayOfWeek - 1 });
  const starts = { dStart: today, wStart: monday, mStart: today.with({ day: 1 }) };
  const event = "begin";
  const batch = Object.entries(starts).flatMap(([distinct_id, start]) => [
    { event, distinct_id: `${distinct_id} before`, timestamp: at(start.subtract({ seconds: 1 })) },
    { event, distinct_id: `${distinct_id} in`, timestamp: at(start.add({ microseconds: 1_000_000 })) },
  ]);
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  for (const [word, start] of Object.entries(starts)) {
    for (const after of [word, start.toPlainDate().toString()]) {
      const path = `/api/projects/1/events/?event=${event}&after=${after}&limit=100`;
      const ids = idsOf((await ask(app, "GET", path)).body["results"]);
      expect([after, ids.includes(`${word} in`), ids.includes(`${word} before`)]).toEqual([
        after,
        true,
        false,
      ]);
    }
  }
});
