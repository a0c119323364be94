// PostHog's alerts/ as its own tests use it, and what is refused.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { alertLimits } from "../../../src/subscriptions/alerts/limits.ts";
import { addUser, startMsMax } from "../../support/accounts.ts";
import { problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { addInsight, openSubscriptionDesk, type SubscriptionDesk } from "../../support/subscriptions.ts";

let desk: SubscriptionDesk;
let home: string;
let insight: number;
let user: number;

beforeAll(async () => {
  desk = await openSubscriptionDesk();
  home = `/api/projects/${desk.accounts.project_id}/alerts/`;
  insight = await addInsight(desk.sql, desk.accounts.project_id);
  const trends = {
    kind: "InsightVizNode",
    source: { kind: "TrendsQuery", series: [{ event: "$pageview" }] },
  };
  await desk.sql`UPDATE insights SET query = ${desk.sql.json(trends)}`;
  const [row] = await desk.sql<{ id: number }[]>`SELECT id FROM users LIMIT 1`;
  user = row!.id;
}, startMsMax);

afterAll(cleanUp, startMsMax);

const configuration = { type: "absolute", bounds: {} };
const body = (fields: object = {}) => ({
  insight,
  subscribed_users: [user],
  name: "alert name",
  threshold: { configuration },
  ...fields,
});

async function make(fields: object = {}): Promise<Record<string, unknown>> {
  const { status, body: alert, text } = await desk.ask("POST", home, body(fields));
  if (status !== 201) throw new Error(text);
  return alert;
}

const listIds = async (query: string) =>
  ((await desk.ask("GET", `${home}?${query}`)).body["results"] as { id: string }[]).map(({ id }) => id);

test("an alert has PostHog's fields, is listed by its insight, sent back whole, and deleted", async () => {
  const config = { type: "TrendsAlertConfig", series_index: 0 };
  const made = await make({ config, calculation_interval: "daily" });
  expect(made).toMatchObject({
    calculation_interval: "daily",
    condition: {},
    enabled: true,
    insight: { id: insight },
    last_notified_at: null,
    last_checked_at: null,
    next_check_at: null,
    snoozed_until: null,
    skip_weekend: false,
    name: "alert name",
    subscribed_users: [{ id: user }],
    state: "Not firing",
    config,
    threshold: { configuration, name: "" },
  });
  expect(made).not.toHaveProperty("checks");
  const other = await addInsight(desk.sql, desk.accounts.project_id);
  expect(await listIds(`insight=${insight}`)).toEqual([made["id"] as string]);
  expect(await listIds(`insight_id=${insight}&search=NAME`)).toEqual([made["id"] as string]);
  expect(await listIds(`insight=${other}`)).toEqual([]);
  const path = `${home}${String(made["id"])}/`;
  const read = (await desk.ask("GET", path)).body;
  expect(read).toEqual({ ...made, checks: [] });
  expect((await desk.ask("PATCH", path, read)).body).toEqual(made);
  expect((await desk.ask("DELETE", path)).status).toBe(204);
  expect((await desk.ask("GET", path)).status).toBe(404);
});

test("an alert may be snoozed until a moment or for a time, and begins anew after it", async () => {
  const path = `${home}${String((await make({ state: "Firing" }))["id"])}/`;
  const snoozed = (await desk.ask("PATCH", path, { snoozed_until: "2024-01-15T10:00:00.123456" })).body;
  expect(snoozed).toMatchObject({ state: "Snoozed", snoozed_until: "2024-01-15T10:00:00.123000Z" });
  expect((await desk.ask("PATCH", path, { snoozed_until: "1w" })).body["snoozed_until"]).toBe(
    "2024-01-22T10:00:00Z",
  );
  expect((await desk.ask("PATCH", path, { snoozed_until: null })).body).toMatchObject({
    state: "Not firing",
    snoozed_until: null,
  });
  const { checks } = (await desk.ask("GET", path)).body;
  expect((checks as { state: string }[]).map(({ state }) => state)).toEqual([
    "Not firing",
    "Snoozed",
    "Snoozed",
  ]);
});

test("wrong ones are refused by the field that is wrong", async () => {
  const { insight: _, ...without } = body();
  const stranger = await addUser(desk.sql, "stranger@example.com");
  const paths = await addInsight(desk.sql, desk.accounts.project_id);
  await desk.sql`UPDATE insights SET query = '{"kind":"PathsQuery"}' WHERE id = ${paths}`;
  const share = { type: "percentage", bounds: { upper: 0.1 } };
  const cases: [object, string][] = [
    [without, "insight"],
    [body({ insight: 99_999 }), "insight"],
    [body({ insight: "x" }), "insight"],
    [body({ insight: paths }), "insight"],
    [body({ threshold: { configuration: {} } }), "threshold__configuration__type"],
    [body({ threshold: undefined }), "threshold"],
    [body({ subscribed_users: [stranger] }), "subscribed_users"],
    [body({ subscribed_users: ["me"] }), "subscribed_users__0"],
    [body({ threshold: { configuration: share } }), "threshold__configuration"],
    [
      body({ threshold: { configuration: { type: "absolute", bounds: { lower: 2, upper: 1 } } } }),
      "threshold__configuration",
    ],
    [body({ calculation_interval: "yearly" }), "calculation_interval"],
    [body({ snoozed_until: "soon" }), "snoozed_until"],
    [body({ detector_config: { type: "zscore" } }), "detector_config"],
    [body({ target_type: "webhook" }), "target_value"],
    [body({ target_type: "webhook", target_value: "http://inside.example/x" }), "target_value"],
    [body({ target_type: "slack", target_value: "#general" }), "target_value"],
  ];
  for (const [sent, attr] of cases) {
    const [status, , , , wrong] = problemOf(await desk.ask("POST", home, sent));
    expect([sent, status, wrong]).toEqual([sent, 400, attr]);
  }
});

test("a project has so many alerts", async () => {
  await desk.sql`
    INSERT INTO alerts (id, project_id, insight_id, name, subscribed_users, condition, threshold, calculation_interval,
      skip_weekend, enabled, created_at)
    SELECT gen_random_uuid(), ${desk.accounts.project_id}, ${insight}, '', '{}', '{}', '{}', 'daily', false, false, now()
    FROM generate_series(1, ${alertLimits.alertsPerProjectMax}::integer)`;
  expect(problemOf(await desk.ask("POST", home, body())).slice(0, 3)).toEqual([
    400,
    "validation_error",
    "invalid_input",
  ]);
});
