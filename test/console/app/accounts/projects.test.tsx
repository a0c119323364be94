// The page of projects: settings as they are sent, and what asks twice because it cannot be undone.

import { afterEach, expect, test } from "bun:test";
import { Projects } from "../../../../src/console/app/accounts/projects.tsx";
import { type Answers, closePage, drawPage, project, refused } from "../drawn_page.tsx";

afterEach(closePage);

const answers: Answers = {
  "PATCH /api/projects/7/": project,
  "PATCH /api/projects/7/reset_token/": project,
  "POST /api/projects/": project,
};
const unchanged = {
  name: "Shop",
  timezone: "UTC",
  week_start_day: 0,
  session_recording_opt_in: true,
  capture_console_log_opt_in: false,
  session_recording_load_hosts: [],
  sharing_embed_hosts: [],
  cookieless_server_hash_mode: 1,
  event_retention_days: null,
  daily_event_quota: null,
};

test("settings are sent whole: hosts as a list, an empty number as none", async () => {
  const page = await drawPage(<Projects />, { answers, project: { daily_event_quota: 500 } });
  await page.fill("Hosts that recordings load images and styles from", " cdn.example.com, img.example.com ");
  await page.fill("Count visitors without a cookie", "off");
  await page.fill("Events accepted a day", "");
  await page.submit("Save");
  expect(page.asked.map(({ method, body }) => [method, body])).toEqual([
    [
      "PATCH",
      {
        ...unchanged,
        session_recording_load_hosts: ["cdn.example.com", "img.example.com"],
        cookieless_server_hash_mode: 0,
      },
    ],
    ["REFRESH", undefined],
  ]);
});

test("a change that deletes events is confirmed, and unchanged days are not", async () => {
  const page = await drawPage(<Projects />, { answers, project: { event_retention_days: 90 } });
  await page.fill("Days that events are kept", "30");
  await page.press("Save");
  expect(page.asked).toEqual([]);
  await page.press("No");
  await page.fill("Days that events are kept", "90");
  await page.submit("Save");
  expect(page.asked[0]?.body).toEqual({ ...unchanged, event_retention_days: 90 });
  await page.fill("Days that events are kept", "30");
  await page.press("Save");
  await page.press("Yes, save. Events older than 30 days are deleted permanently, within an hour.");
  expect(page.asked[2]?.body).toEqual({ ...unchanged, event_retention_days: 30 });
});

test("own visits are told by filters that are added, changed and removed, but not those without fields", async () => {
  const own = { type: "person", key: "email", operator: "not_icontains", value: "@shop.example" };
  const page = await drawPage(<Projects />, { answers, project: { test_account_filters: [own] } });
  await page.press("Without a host");
  await page.submit("Set these filters");
  const host = { type: "event", key: "$host", operator: "not_icontains", value: "localhost" };
  expect(page.asked.findLast(({ method }) => method === "PATCH")?.body).toEqual({
    test_account_filters: [own, host],
  });
  await page.press("Remove filter 1");
  await page.submit("Set these filters");
  expect(page.asked.findLast(({ method }) => method === "PATCH")?.body).toEqual({
    test_account_filters: [host],
  });
  await closePage();
  const sql = [{ type: "hogql", key: "distinct_id != 'me'" }];
  const other = await drawPage(<Projects />, { answers, project: { test_account_filters: sql } });
  expect(other.text()).toContain("set through the API");
});

test("a key is rolled after a question, and a project is created by its name", async () => {
  const page = await drawPage(<Projects />, { answers });
  await page.press("Roll its key");
  await page.press("Yes, roll its key. Events sent with the old key are refused from then on.");
  await page.fill("Name of the project", "Blog");
  await page.submit("Create");
  expect(page.asked.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["PATCH", "/api/projects/7/reset_token/", {}],
    ["REFRESH", "", undefined],
    ["POST", "/api/projects/", { name: "Blog" }],
    ["REFRESH", "", undefined],
  ]);
  expect(page.text()).toContain("Blog is created. Choose it at the top.");
});

test("a refused setting is shown in the API's words, and a key that only reads changes nothing", async () => {
  const refusing: Answers = { "PATCH /api/projects/7/": refused(400, "“Mars/Olympus” is no time zone.") };
  const page = await drawPage(<Projects />, { answers: refusing });
  await page.fill("Time zone", "Mars/Olympus");
  await page.submit("Save");
  expect(page.texts('[role="alert"]')).toEqual(["“Mars/Olympus” is no time zone."]);
  await closePage();
  const reader = await drawPage(<Projects />, { scopes: ["project:read"] });
  expect(reader.texts("form")).toEqual([]);
  expect(reader.texts("tbody tr")).toEqual(["Shop7phc_shopUTC"]);
});
