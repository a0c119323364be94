// The bodies of queries that PostHog's own clients, pages and scripts send: which are answered, each held against a
// computation of this test's own, and which are refused by name.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { answered, refused, sentEvents, testAccountFilters, zone } from "../support/client_bodies.ts";
import { projectKey, rested } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const settings = { timezone: zone, test_account_filters: testAccountFilters };
  expect((await ask(app, "PATCH", "/api/projects/1/", settings)).status).toBe(200);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch: sentEvents });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

/** Numbers with nine decimals: averages are divided in another order. */
const roughly = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, one: unknown) =>
    typeof one === "number" ? Number(one.toFixed(9)) : one,
  );

test("of 67 bodies 62 are answered, and five are refused", () => {
  expect([answered.length, refused.length]).toEqual([62, 5]);
});

for (const { name, query, of = (results: never) => results as unknown, is } of answered) {
  test(`${name}: as computed apart`, async () => {
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
    expect([status, body["detail"]]).toEqual([200, undefined]);
    const expected = is();
    expect(roughly(of(body["results"] as never))).toEqual(roughly(expected));
    expect(JSON.stringify(expected)).toMatch(/[1-9a-z]/);
  });
}

for (const [name, query, attr] of refused) {
  test(`${name}: refused by name, also when it is saved`, async () => {
    for (const path of ["query/", "insights/"]) {
      const { status, body } = await ask(app, "POST", `/api/projects/1/${path}`, { query });
      expect([path, status, body["attr"]]).toEqual([path, 400, attr]);
    }
  });
}
