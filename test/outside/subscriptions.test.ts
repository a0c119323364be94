// Subscriptions as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
let insight: unknown;
beforeAll(async () => {
  app = await startApp();
  await ask(app, "PATCH", "/api/projects/1/", { timezone: "America/Chicago" });
  const query = { kind: "TrendsQuery", series: [{ event: "visit" }] };
  insight = (await ask(app, "POST", "/api/projects/1/insights/", { name: "n", query })).body["id"];
}, startMsMax);
afterAll(cleanUp, startMsMax);

const subscribe = (fields: object): Promise<Answer> =>
  ask(app, "POST", "/api/projects/1/subscriptions/", {
    insight,
    target_type: "email",
    target_value: "a@example.com",
    frequency: "daily",
    start_date: "2024-07-01T13:00:00Z",
    ...fields,
  });

/** The hour that the next delivery has on the clock of Chicago. */
function hourOf({ body }: Answer): number {
  const next = Temporal.Instant.from(String(body["next_delivery_date"]));
  return next.toZonedDateTimeISO("America/Chicago").hour;
}

// PostHog/posthog#42016: 8:00 in Chicago's summer stays 8:00 when clocks change, whatever the season of the delivery.
test("without a zone of its own a subscription follows its project's across clock changes", async () => {
  for (const month of ["01", "07"]) {
    const made = await subscribe({ start_date: `2024-${month}-01T${month === "01" ? 14 : 13}:00:00Z` });
    expect([made.status, made.body["timezone"], hourOf(made)]).toEqual([201, null, 8]);
    const path = `/api/projects/1/subscriptions/${made.body["id"]}/`;
    expect(hourOf(await ask(app, "PATCH", path, { interval: 2 }))).toBe(8);
    const own = await ask(app, "PATCH", path, { timezone: "UTC" });
    expect(String(own.body["next_delivery_date"])).toContain(month === "01" ? "T14:00:00" : "T13:00:00");
    expect(hourOf(await ask(app, "PATCH", path, { timezone: null }))).toBe(8);
  }
});

// PostHog's documentation names the operation with a dash.
test("a test delivery has both spellings of its name", async () => {
  const { body } = await subscribe({});
  for (const name of ["test_delivery", "test-delivery"]) {
    const sent = await ask(app, "POST", `/api/projects/1/subscriptions/${body["id"]}/${name}/`);
    expect([name, sent.status]).toEqual([name, 201]);
  }
});

// PostHog documents these filters and the operation of one delivery.
test("subscriptions are found by kind, channel, maker and text, in the order asked for", async () => {
  const board = (await ask(app, "POST", "/api/projects/1/dashboards/", { name: "Weekly 50%" })).body["id"];
  const other = { insight: null, dashboard: board, target_type: "webhook", title: "Zebra" };
  await subscribe({ ...other, target_value: "https://hooks.example.com/x" });
  await subscribe({ title: "Aardvark" });
  const list = async (query: string) => {
    const { status, body } = await ask(app, "GET", `/api/projects/1/subscriptions/?${query}`);
    return status === 200 ? (body["results"] as Record<string, unknown>[]).map(({ title }) => title) : status;
  };
  const me = (await ask(app, "GET", "/api/users/@me/")).body["uuid"];
  expect(await list("resource_type=dashboard")).toEqual(["Zebra"]);
  expect(await list("target_type=webhook")).toEqual(["Zebra"]);
  expect(await list("search=50%25")).toEqual(["Zebra"]);
  expect(await list("search=aard&ordering=title")).toEqual(["Aardvark"]);
  expect(((await list(`created_by=${me}&resource_type=insight&ordering=title`)) as unknown[])[0]).toBe(
    "Aardvark",
  );
  expect(await list(`created_by=${crypto.randomUUID()}`)).toEqual([]);
  expect(((await list("ordering=-created_at")) as unknown[])[0]).toBe("Aardvark");
  for (const wrong of ["resource_type=x", "target_type=fax", "ordering=password", "created_by=1"])
    expect([wrong, await list(wrong)]).toEqual([wrong, 400]);
});

test("a delivery is found by its id, below its own subscription only", async () => {
  const [one, other] = [await subscribe({}), await subscribe({})].map(({ body }) => String(body["id"]));
  const path = (id: string) => `/api/projects/1/subscriptions/${id}/`;
  const sent = (await ask(app, "POST", `${path(one!)}test_delivery/`)).body;
  const found = await ask(app, "GET", `${path(one!)}deliveries/${sent["id"]}/`);
  expect([found.status, found.body["id"], found.body["test"]]).toEqual([200, sent["id"], true]);
  expect((await ask(app, "GET", `${path(other!)}deliveries/${sent["id"]}/`)).status).toBe(404);
  expect((await ask(app, "GET", `${path(one!)}deliveries/x/`)).status).toBe(404);
});
