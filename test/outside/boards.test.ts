// Dashboards and saved insights as PostHog's own tests manage them; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/projects/1/";
const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "visit" }] };

// PostHog's test_insight.py and test_dashboard.py: soft deletion, and its reversal by PATCH.
test.each(["insights", "dashboards"])(
  "of %s a deleted one is gone, and back when a PATCH says so",
  async (list) => {
    const { body } = await ask(app, "POST", `${home}${list}/`, {
      name: "kept",
      ...(list === "insights" && { query }),
    });
    const path = `${home}${list}/${body["id"]}/`;
    expect((await ask(app, "PATCH", path, { deleted: true })).status).toBe(200);
    expect((await ask(app, "GET", path)).status).toBe(404);
    const listed = (await ask(app, "GET", `${home}${list}/`)).body["results"] as { id: unknown }[];
    expect(listed.some(({ id }) => id === body["id"])).toBe(false);
    expect((await ask(app, "PATCH", path, { deleted: false })).status).toBe(200);
    expect((await ask(app, "GET", path)).body).toMatchObject({ name: "kept", deleted: false });
  },
);

// PostHog's test_dashboard.py: insights stay when their dashboard goes.
test("a deleted dashboard leaves its insights", async () => {
  const dashboard = (await ask(app, "POST", `${home}dashboards/`, { name: "d" })).body["id"];
  const made = await ask(app, "POST", `${home}insights/`, { name: "i", query, dashboards: [dashboard] });
  expect([made.status, made.body["dashboards"]]).toEqual([201, [dashboard]]);
  await ask(app, "PATCH", `${home}dashboards/${dashboard}/`, { deleted: true });
  const { status, body } = await ask(app, "GET", `${home}insights/${made.body["id"]}/`);
  expect([status, body["name"]]).toEqual([200, "i"]);
});
