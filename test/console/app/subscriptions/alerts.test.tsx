// The pages of alerts: the list with rules in words, one with its history, and what the form sends.

import { afterEach, expect, test } from "bun:test";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { Alerts, ruleText } from "../../../../src/console/app/subscriptions/alerts.tsx";
import { type Answers, closePage, drawPage } from "../drawn_page.tsx";

afterEach(closePage);

const path = "/api/projects/7/alerts";
const threshold = { configuration: { type: "absolute", bounds: { lower: 50, upper: null } } };
const row = {
  id: "a-1",
  name: "Few sign-ups",
  insight: { id: 9, name: null, derived_name: "Sign-ups" },
  subscribed_users: [{ email: "ann@shop.example" }],
  target_type: "slack",
  threshold,
  condition: {},
  state: "Firing",
  enabled: true,
  calculation_interval: "daily",
  last_checked_at: "2026-03-01T09:00:00Z",
  next_check_at: null,
  snoozed_until: null,
};
const check = {
  id: "c-1",
  created_at: "2026-03-01T09:00:00Z",
  value: 12,
  previous_value: 90,
  state: "Firing",
  delivery_status: "delivered",
  error: null,
};

async function drawn(hash: string, more: Answers = {}, scopes: readonly string[] = ["*"]) {
  const answers: Answers = {
    [`GET ${path}/`]: { count: 1, results: [row] },
    [`GET ${path}/a-1/`]: { ...row, checks: [check] },
    ...more,
  };
  return await drawPage(<Alerts route={readRoute(hash)} />, { answers, scopes, hash: hash.slice(1) });
}

test("a rule is told in words", () => {
  const tell = (type: string | undefined, unit: string, bounds: object) =>
    ruleText({ condition: type ? { type } : {}, threshold: { configuration: { type: unit, bounds } } });
  expect(tell(undefined, "absolute", { lower: 50, upper: 1000 })).toBe("below 50 or above 1,000");
  expect(tell("relative_decrease", "percentage", { upper: 0.2 })).toBe("fell by more than 20%");
  expect(tell("relative_increase", "absolute", { lower: 3 })).toBe("rose by less than 3");
  expect(tell("absolute_value", "absolute", {})).toBe("never");
});

test("the list has each alert's rule and state, and one its checks and whom it tells", async () => {
  const list = await drawn("#/7/alerts", {}, ["alert:read"]);
  expect(list.texts("tbody tr")[0]).toMatch(/Few sign-ups.*Sign-ups.*below 50.*daily.*Firing/);
  await closePage();
  const one = await drawn("#/7/alerts/a-1", {}, ["alert:read"]);
  expect(one.texts("tbody tr")[0]).toMatch(/Firing.*12.*90.*delivered/);
  expect(one.texts("main, body")[0]).toContain("ann@shop.example, slack");
  expect(one.texts("button").filter((text) => /Pause|Delete|Snooze/.test(text))).toEqual([]);
});
