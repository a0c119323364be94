// Buttons of the console, pressed as a person would, and their effect as the API tells it.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { type Answer, ask } from "../support/ask.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { settled, signedIn } from "../support/console.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";
import { openWebSink, type WebSink } from "../support/web_sink.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;
let sink: WebSink;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({
    FLUSH_INTERVAL_MS: "50",
    ALLOW_PRIVATE_DESTINATIONS: "1",
    LOG_LEVEL: "error",
  });
  browser = await openBrowser();
  sink = openWebSink();
}, msMax);

async function api(method: string, path: string, body?: object): Promise<Answer["body"]> {
  const answer = await ask(server, method, `/api/projects/1/${path}`, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

async function resultsOf(path: string): Promise<Record<string, unknown>[]> {
  return (await api("GET", path))["results"] as Record<string, unknown>[];
}

async function opened(address: string): Promise<Page> {
  const { page } = await signedIn(browser, server, address);
  await settled(page);
  return page;
}

const hourMs = 3_600_000;

/** The start of the hour `hours` ago. */
function hoursAgo(hours: number): Date {
  return new Date(Math.floor(Date.now() / hourMs - hours) * hourMs);
}

/** What a field for a time takes. The browser and this test are in one time zone. */
function fieldOf(moment: Date): string {
  const own = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return own.toISOString().slice(0, 16);
}

inBrowser(
  "an export is created, paused, resumed, run now and backfilled, and says what became of it",
  async () => {
    const page = await opened("exports");
    await page.getByLabel("Name of the export").fill("To the sink");
    await page.getByLabel("Destination", { exact: true }).selectOption("HTTP");
    await page.getByLabel("Project API key there").fill("phc_sink");
    await page.getByLabel("URL").fill("nowhere");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Configuration has invalid value for field 'url'").waitFor();
    await page.getByLabel("URL").fill(`${sink.url}/batch/`);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "To the sink" }).waitFor();
    const [made] = await resultsOf("batch_exports/");
    const path = `batch_exports/${String(made?.["id"])}/`;

    await page.getByRole("button", { name: "Pause" }).press("Enter");
    await page.getByText("The export is paused.").waitFor();
    expect(await api("GET", path)).toMatchObject({ paused: true });
    await page.getByRole("button", { name: "Resume" }).press("Enter");
    await page.getByText("The export is running again.").waitFor();
    expect(await api("GET", path)).toMatchObject({ paused: false });

    const timestamp = hoursAgo(6).toISOString();
    await post(server, "/capture/", { api_key: projectKey, event: "exported", distinct_id: "me", timestamp });
    await rested(server);
    await page.getByRole("button", { name: "Run now" }).press("Enter");
    await page.getByText("A backfill of everything has begun.").waitFor();
    await page.getByRole("cell", { name: "Completed" }).first().waitFor();
    const [all] = await resultsOf(`${path}backfills/`);
    expect(all).toMatchObject({ start_at: null, end_at: null });
    expect(sink.posted.map(({ body }) => JSON.stringify(body)).join("\n")).toContain("exported");

    const [from, to] = [hoursAgo(5), hoursAgo(3)];
    await page.getByLabel("From").fill(fieldOf(from));
    await page.getByLabel("To", { exact: true }).fill(fieldOf(to));
    await page.getByRole("button", { name: "Start backfill" }).press("Enter");
    await page.getByText("The backfill has begun.").waitFor();
    await page.getByRole("cell", { name: "2 of 2", exact: true }).waitFor();
    const [backfill] = await resultsOf(`${path}backfills/`);
    expect([backfill?.["start_at"], backfill?.["end_at"]].map((at) => new Date(String(at)))).toEqual([
      from,
      to,
    ]);
    // It goes on where the newest interval ended, not where the newest run did.
    await page.getByRole("button", { name: "Run now" }).press("Enter");
    await page.getByText("A backfill has begun: everything since").waitFor();
    const newest = (await resultsOf(`${path}runs/`))
      .map((run) => String(run["data_interval_end"]))
      .toSorted();
    const [last] = await resultsOf(`${path}backfills/`);
    expect(newest).toContain(String(last?.["start_at"]));
    expect(Date.parse(String(last?.["start_at"]))).toBeGreaterThan(to.getTime());

    await page.getByLabel("From").fill(fieldOf(to));
    await page.getByLabel("To", { exact: true }).fill(fieldOf(from));
    await page.getByRole("button", { name: "Start backfill" }).press("Enter");
    await page.getByText("happens after").waitFor();
    await page.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByRole("button", { name: "Yes, delete" }).press("Enter");
    await page.getByText("No exports yet.").waitFor();
    expect(await resultsOf("batch_exports/")).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a subscription is created, delivered now, paused and resumed",
  async () => {
    const query = { kind: "TrendsQuery", series: [{ event: "paid" }] };
    const insight = await api("POST", "insights/", { name: "Sales", query });
    const page = await opened("subscriptions");
    await page.getByLabel("What to send").selectOption({ label: "Insight: Sales" });
    await page.getByLabel("By", { exact: true }).selectOption("webhook");
    await page.getByLabel("To", { exact: true }).fill(`${sink.url}/hook`);
    await page.getByLabel("How often").selectOption("weekly");
    await page.getByLabel("Title").fill("Every week");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Created.").waitFor();
    expect(await page.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
    const [made] = await resultsOf("subscriptions/");
    expect(made).toMatchObject({ insight: insight["id"], target_type: "webhook", frequency: "weekly" });
    const path = `subscriptions/${String(made?.["id"])}/`;

    const sent = page.getByRole("link", { name: "Insight: Sales", exact: true });
    expect(await sent.getAttribute("href")).toContain(`insights/${String(insight["id"])}`);
    await page.getByRole("link", { name: "Every week" }).press("Enter");
    await page.getByText("No deliveries yet.").waitFor();
    await sent.waitFor();
    await page.getByRole("button", { name: "Deliver now" }).press("Enter");
    await page.getByText("A delivery has begun.").waitFor();
    await page.getByRole("cell", { name: "delivered", exact: true }).waitFor();
    expect((await resultsOf(`${path}deliveries/`)).map(({ status }) => status)).toEqual(["delivered"]);
    expect(sink.posted.map((posted) => posted.path)).toContain("/hook");

    await page.getByRole("button", { name: "Pause" }).press("Enter");
    await page.getByRole("button", { name: "Yes, pause" }).press("Enter");
    await page.getByText("The subscription is paused.").waitFor();
    expect(await api("GET", path)).toMatchObject({ deleted: false, enabled: false });
    // It is among the others, so that somebody can resume it.
    await page.getByRole("link", { name: "Subscriptions" }).press("Enter");
    await page.getByRole("cell", { name: "paused", exact: true }).waitFor();
    await page.getByRole("link", { name: "Every week" }).press("Enter");
    await page.getByRole("button", { name: "Resume" }).press("Enter");
    await page.getByText("The subscription is running again.").waitFor();
    expect(await api("GET", path)).toMatchObject({ deleted: false, enabled: true });
    await page.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByRole("button", { name: "Yes, delete" }).press("Enter");
    await page.getByText("The subscription is deleted.").waitFor();
    expect(await api("GET", path)).toMatchObject({ deleted: true });
  },
  msMax,
);

async function holderOf(key: string): Promise<Answer> {
  return await ask(server, "GET", "/api/personal_api_keys/@current/", undefined, key);
}

inBrowser(
  "a key is created and rolled, each value is shown once, and revoking ends it",
  async () => {
    const page = await opened("keys");
    await page.getByLabel("Label").fill("for the night");
    await page.getByLabel("insight:read").check();
    await page.getByLabel("query:read").uncheck();
    await page.getByLabel(/^Only for/).check();
    await page.getByRole("button", { name: "Create" }).click();
    const shown = page.locator(".copied code");
    await shown.waitFor();
    const first = await shown.innerText();
    expect((await holderOf(first)).body).toMatchObject({
      label: "for the night",
      scopes: ["project:read", "insight:read"],
      scoped_teams: [1],
    });

    const row = page.getByRole("row", { name: "for the night" });
    await row.getByRole("button", { name: "Roll" }).press("Enter");
    await row.getByRole("button", { name: "Yes, roll" }).press("Enter");
    await page.getByText("The old value is no longer valid.").waitFor();
    const second = await shown.innerText();
    expect(second).not.toBe(first);
    expect([(await holderOf(first)).status, (await holderOf(second)).status]).toEqual([401, 200]);
    await page.reload();
    await settled(page);
    await row.waitFor();
    const content = await page.content();
    expect([content.includes(first), content.includes(second)]).toEqual([false, false]);

    await row.getByRole("button", { name: "Revoke" }).press("Enter");
    // The question has the focus: a second Enter says yes.
    await page.locator(":focus", { hasText: "Yes, revoke" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("for the night is revoked.").waitFor();
    expect((await holderOf(second)).status).toBe(401);
    // Whoever looks cannot lock themselves out: the key of this tab has no such buttons.
    const own = page.getByRole("row", { name: "used by this tab" });
    expect(await own.getByRole("button").count()).toBe(0);
  },
  msMax,
);

inBrowser(
  "a project is created, chosen, renamed, and its key rolled",
  async () => {
    const page = await opened("projects");
    await page.getByLabel("Name of the project").fill("Bicycles");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Bicycles is created.").waitFor();
    const find = async (name: string) => {
      const { body } = await ask(server, "GET", "/api/projects/");
      return (body["results"] as Record<string, unknown>[]).find((one) => one["name"] === name);
    };
    const made = await find("Bicycles");
    await page.getByLabel("Project", { exact: true }).selectOption("Bicycles");
    await page.getByRole("heading", { name: "Settings of Bicycles" }).waitFor();
    expect(page.url()).toContain(`#/${String(made?.["id"])}/projects`);
    await page.getByLabel("Name", { exact: true }).fill("Tandems");
    await page.getByLabel("Time zone").fill("Europe/Paris");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    expect(await find("Tandems")).toMatchObject({ id: made?.["id"], timezone: "Europe/Paris" });
    // A shorter time deletes events: that is asked again.
    await page.getByLabel("Days that events are kept").fill("90");
    await page.getByLabel("Events accepted a day").fill("5000");
    await page.getByLabel("Count visitors without a cookie").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Events older than 90 days are deleted permanently").waitFor();
    expect(await find("Tandems")).toMatchObject({ event_retention_days: null });
    await page.getByRole("button", { name: "Yes, save" }).click();
    await page.getByText("Saved.").waitFor();
    expect(await find("Tandems")).toMatchObject({
      event_retention_days: 90,
      daily_event_quota: 5000,
      cookieless_server_hash_mode: 0,
    });

    await page.getByRole("button", { name: "Roll its key" }).press("Enter");
    await page.getByRole("button", { name: "Yes, roll its key" }).press("Enter");
    await page.getByText("The project has a new key.").waitFor();
    const rolled = String((await find("Tandems"))?.["api_token"]);
    expect(rolled).not.toBe(String(made?.["api_token"]));
    await page.locator(".copied code", { hasText: rolled }).waitFor();
    const send = async (api_key: string) =>
      (await post(server, "/capture/", { api_key, event: "hello", distinct_id: "me" })).status;
    expect(await send(rolled)).toBe(200);
    await until(async () => (await send(String(made?.["api_token"]))) === 401);
  },
  msMax,
);
