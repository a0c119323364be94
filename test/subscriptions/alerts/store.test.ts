import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { alertLimits } from "../../../src/subscriptions/alerts/limits.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { addInsight, openSubscriptionDesk, type SubscriptionDesk } from "../../support/subscriptions.ts";

let desk: SubscriptionDesk;
let insight: number;
let id: string;
let path: string;

beforeAll(async () => {
  desk = await openSubscriptionDesk();
  insight = await addInsight(desk.sql, desk.accounts.project_id);
  await desk.sql`UPDATE insights SET query = '{"kind":"TrendsQuery","series":[{"event":"signed up"}]}'`;
}, startMsMax);

beforeEach(async () => {
  const home = `/api/projects/${desk.accounts.project_id}/alerts/`;
  const threshold = { configuration: { type: "absolute", bounds: { lower: 50 } } };
  const config = { type: "TrendsAlertConfig", series_index: 0 };
  const { body } = await desk.ask("POST", home, { insight, threshold, config, subscribed_users: [] });
  id = body["id"] as string;
  path = `${home}${id}/`;
});

afterAll(cleanUp, startMsMax);

test("each change of what is judged begins anew; the same value, a null left out and a name do not", async () => {
  const lower = { type: "absolute", bounds: { lower: 50 } };
  const cases: [object, boolean][] = [
    [{ name: "n" }, false],
    [{ insight, condition: {} }, false],
    [{ condition: { type: "absolute_value" } }, true],
    [{ config: { series_index: 0, type: "TrendsAlertConfig", check_ongoing_interval: null } }, false],
    [{ config: { type: "TrendsAlertConfig", series_index: 1 } }, true],
    [{ config: null }, true],
    [{ threshold: { name: "t", configuration: { ...lower, bounds: { lower: 50, upper: null } } } }, false],
    [{ threshold: { configuration: { ...lower, bounds: { lower: 51 } } } }, true],
    [{ snoozed_until: null, enabled: true, calculation_interval: "daily" }, false],
    [{ snoozed_until: "1d" }, true],
  ];
  for (const [sent, isAnew] of cases) {
    await desk.sql`UPDATE alerts SET firing = true WHERE id = ${id}`;
    expect((await desk.ask("PATCH", path, sent)).status).toBe(200);
    const [row] = await desk.sql<{ firing: boolean }[]>`SELECT firing FROM alerts WHERE id = ${id}`;
    expect([sent, row!.firing]).toEqual([sent, !isAnew]);
  }
});

test("snoozes keep no more checks than checks do", async () => {
  await desk.sql`
    INSERT INTO alert_checks (id, alert_id, created_at, state)
    SELECT gen_random_uuid(), ${id}, now(), 'Firing' FROM generate_series(1, ${alertLimits.checksKeptMax}::integer)`;
  await desk.ask("PATCH", path, { snoozed_until: "1w" });
  const [row] = await desk.sql<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM alert_checks WHERE alert_id = ${id}`;
  expect(row!.count).toBe(alertLimits.checksKeptMax);
});
