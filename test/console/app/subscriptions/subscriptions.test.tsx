// The pages of subscriptions: running and paused ones in one list, and one with its deliveries.

import { afterEach, expect, jest, test } from "bun:test";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { Subscriptions } from "../../../../src/console/app/subscriptions/subscriptions.tsx";
import { type Answers, closePage, drawPage } from "../drawn_page.tsx";

afterEach(async () => {
  await closePage();
  jest.useRealTimers();
});

const path = "/api/projects/7/subscriptions";
const row = {
  id: 4,
  title: null,
  summary: "sent every day",
  insight: 9,
  dashboard: null,
  target_type: "email",
  target_value: "ann@shop.example",
  next_delivery_date: "2026-03-02T09:00:00Z",
  deleted: false,
  enabled: true,
};
const delivery = {
  id: 1,
  status: "delivered",
  error: null,
  due_at: "2026-03-01T09:00:00Z",
  delivered_at: "2026-03-01T09:00:02Z",
  test: false,
  attempts: 1,
};

async function drawn(hash: string, more: Answers = {}, scopes: readonly string[] = ["*"]) {
  const answers: Answers = {
    [`GET ${path}/4/`]: row,
    [`GET ${path}/4/deliveries/`]: { results: [delivery] },
    [`PATCH ${path}/4/`]: {},
    [`POST ${path}/4/test_delivery/`]: {},
    ...more,
  };
  return await drawPage(<Subscriptions route={readRoute(hash)} />, { answers, scopes, hash: hash.slice(1) });
}

test("deleted ones are listed behind the others, those that do not run without a next delivery", async () => {
  const list = ({ query }: { query: Record<string, string> }) =>
    query["deleted"] === "true"
      ? { count: 1, results: [{ ...row, id: 5, title: "Old", deleted: true }] }
      : { count: 2, results: [row, { ...row, id: 6, title: "Quiet", enabled: false }] };
  const page = await drawn("#/7/subscriptions", { [`GET ${path}/`]: list });
  const rows = page.texts("tbody tr");
  expect(
    rows.map((text) => /^(Subscription 4|Quiet|Old).*(running|paused|deleted)/.exec(text)?.slice(1)),
  ).toEqual([
    ["Subscription 4", "running"],
    ["Quiet", "paused"],
    ["Old", "deleted"],
  ]);
  expect(rows[1]).toEndWith("pausednone");
  expect(rows[2]).toEndWith("deletednone");
  expect(rows[0]).not.toEndWith("none");
});

test("a running delivery is polled, one that has ended is not", async () => {
  jest.useFakeTimers();
  let status = "retrying";
  const deliveries = () => ({ results: [{ ...delivery, status, test: true, error: "no answer" }] });
  const page = await drawn("#/7/subscriptions/4", { [`GET ${path}/4/deliveries/`]: deliveries });
  const [shown] = page.texts("tbody tr");
  expect(shown).toStartWith("retrying");
  expect(shown).toContain("(by hand)");
  expect(shown).toEndWith("1no answer");
  const reads = () => page.asked.filter((one) => one.path.endsWith("/deliveries/")).length;
  status = "failed";
  jest.advanceTimersByTime(2000);
  await page.settled();
  expect(reads()).toBe(2);
  jest.advanceTimersByTime(60_000);
  await page.settled();
  expect(reads()).toBe(2);
});

test("pausing and deleting ask for confirmation, resuming does not", async () => {
  const page = await drawn("#/7/subscriptions/4");
  await page.press("Pause");
  await page.press("Yes, pause. Deliver nothing until it is resumed?");
  await page.press("Deliver now");
  expect(page.asked.filter(({ method }) => method !== "GET")).toMatchObject([
    { method: "PATCH", path: `${path}/4/`, body: { enabled: false } },
    { method: "POST", path: `${path}/4/test_delivery/`, body: {} },
  ]);
  await closePage();
  const paused = await drawn("#/7/subscriptions/4", { [`GET ${path}/4/`]: { ...row, enabled: false } });
  await paused.press("Resume");
  await paused.press("Delete");
  await paused.press("Yes, delete. Delete this subscription?");
  expect(paused.asked.filter(({ method }) => method === "PATCH").map(({ body }) => body)).toEqual([
    { deleted: false, enabled: true },
    { deleted: true },
  ]);
});

test("a deletion that is asked for is still the one to confirm when the subscription runs again", async () => {
  let enabled = false;
  const page = await drawn("#/7/subscriptions/4", {
    [`GET ${path}/4/`]: () => ({ ...row, enabled }),
    [`PATCH ${path}/4/`]: () => {
      enabled = true;
      return {};
    },
  });
  await page.press("Delete");
  await page.press("Resume");
  expect(page.texts("button")).toContain("Pause");
  expect(page.texts("button")).toContain("Yes, delete");
});

test.each(["abc", "0", "-1"])("an address that names no subscription says so: %s", async (id) => {
  const page = await drawn(`#/7/subscriptions/${id}`);
  expect(page.texts('[role="alert"]')).toEqual([
    `There is no subscription ${id} here, or it is not shown to you.`,
  ]);
  expect(page.asked).toEqual([]);
});

test("who may only read changes nothing, and a dashboard is named as one", async () => {
  const board = { ...row, insight: null, dashboard: 3 };
  const page = await drawn("#/7/subscriptions/4", { [`GET ${path}/4/`]: board }, ["subscription:read"]);
  expect(page.texts("button")).toEqual([]);
  expect(page.find("dl a").getAttribute("href")).toBe("#/7/dashboards/3");
});
