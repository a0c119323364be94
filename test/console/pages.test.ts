// The console's pages in a browser: what they show, to whom, and what hostile names do to them (nothing).

import { beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { type Answer, ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import { faultsOfState, faultsOfVisit, seriousOf, settled, signedIn } from "../support/console.ts";
import { bodyOf } from "../support/recordings.ts";
import { personalKey, post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;
const hostile = `<img src=x onerror="window.hacked=1">"'><script>window.hacked=1</script>`;
/** Where screenshots are wanted, if they are: to be looked at. */
const shots = process.env["CONSOLE_SCREENSHOTS"];

let server: Server;
let browser: Browser;
/** Addresses of pages, by what they are. */
let addresses: Record<string, string>;
/** Another server, which no page may ask, and what it was asked all the same. */
let elsewhere: string;
const asked: string[] = [];

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({
    FLUSH_INTERVAL_MS: "50",
    ALLOW_PRIVATE_DESTINATIONS: "1",
    // What is tested here is pages, not how long a busy machine takes to run exports.
    LOG_LEVEL: "error",
  });
  browser = await openBrowser();
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      asked.push(url);
      return new Response();
    },
  });
  later(() => other.stop(true));
  elsewhere = `http://127.0.0.1:${other.port}`;
  addresses = await seed();
}, msMax);

async function make(path: string, body: object, method = "POST"): Promise<Answer["body"]> {
  const answer = await ask(server, method, `/api/projects/1/${path}`, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** One of everything, named by somebody who means harm. */
async function seed(): Promise<Record<string, string>> {
  const at = Date.now();
  const event = (name: string, daysAgo: number, more: object = {}) => ({
    event: name,
    distinct_id: `${hostile} ${daysAgo % 3}`,
    properties: { [hostile]: hostile, $session_id: "s-1", $groups: { company: hostile }, ...more },
    timestamp: new Date(at - daysAgo * 86_400_000).toISOString(),
  });
  const batch = [
    ...Array.from({ length: 12 }, (_, i) => event("$pageview", i % 6)),
    ...Array.from({ length: 6 }, (_, i) => event(hostile, i % 3)),
    event("$identify", 0, { $set: { name: hostile, email: hostile } }),
    event("$groupidentify", 0, {
      $group_type: "company",
      $group_key: hostile,
      $group_set: { name: hostile },
    }),
    { event: "", distinct_id: hostile },
    { event: hostile },
  ];
  await post(server, "/batch/", { api_key: projectKey, batch });
  await record(at);
  await rested(server);
  const source = (name: string) => ({
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: name }],
    dateRange: { date_from: "-7d" },
    breakdownFilter: { breakdown: hostile, breakdown_type: "event" },
  });
  const dashboard = await make("dashboards/", { name: hostile, description: hostile });
  const query = { kind: "InsightVizNode", source: source("$pageview") };
  const insight = await make("insights/", { name: hostile, query, dashboards: [dashboard["id"]] });
  const destination = { type: "HTTP", config: { url: "http://127.0.0.1:9/batch/", token: "phc_nobody" } };
  const made = await make("batch_exports/", { name: hostile, interval: "hour", destination, paused: true });
  const subscription = await make("subscriptions/", {
    insight: insight["id"],
    target_type: "webhook",
    target_value: "http://127.0.0.1:9/<script>",
    frequency: "yearly",
    start_date: new Date(at + 86_400_000).toISOString(),
    title: hostile,
  });
  const threshold = { configuration: { type: "absolute", bounds: { upper: 0 } } };
  await make("alerts/", { insight: insight["id"], name: hostile, threshold });
  await ask(server, "POST", "/api/personal_api_keys/", {
    label: hostile.slice(0, 40),
    scopes: ["query:read"],
  });
  await ask(server, "PATCH", "/api/projects/1/", { name: hostile });
  const persons = await ask(server, "GET", "/api/projects/1/persons/?limit=1");
  const [person] = persons.body["results"] as { uuid: string }[];
  const steps = `kind=funnel&event=%24pageview&event=${encodeURIComponent(hostile)}`;
  return {
    overview: "overview",
    start: "start",
    live: "live",
    sql: `sql?query=${encodeURIComponent("select event, count() as events from events group by event")}`,
    trend: `explore?kind=trend&event=%24pageview&compare=true&breakdown=${encodeURIComponent(hostile)}`,
    funnel: `explore?${steps}`,
    retention: "explore?kind=retention&event=%24pageview",
    edited: `explore?insight=${String(insight["id"])}&event=%24pageview&math=p90&property=${encodeURIComponent(hostile)}`,
    insights: "insights",
    insight: `insights/${String(insight["id"])}`,
    dashboards: "dashboards",
    dashboard: `dashboards/${String(dashboard["id"])}`,
    persons: "persons",
    person: `persons/${person?.uuid}`,
    groups: "groups",
    recordings: "recordings",
    recording: "recordings/s-1",
    exports: "exports",
    export: `exports/${String(made["id"])}`,
    subscriptions: "subscriptions",
    alerts: `alerts?insight=${String(insight["id"])}`,
    subscription: `subscriptions/${String(subscription["id"])}`,
    keys: "keys",
    projects: "projects",
  };
}

const text = (id: number, content: string) => ({ type: 3, id, textContent: content });
const element = (id: number, tagName: string, attributes: object, ...childNodes: object[]) => ({
  type: 2,
  id,
  tagName,
  attributes,
  childNodes,
});

/** A page that would do harm, and fetch from elsewhere, if it were more than a picture of one. */
async function record(at: number): Promise<void> {
  const head = element(4, "head", {}, element(5, "style", { _cssText: "h1 { color: rgb(38, 139, 210) }" }));
  const body = element(
    6,
    "body",
    {},
    element(7, "h1", {}, text(8, "A shop for bicycles")),
    element(9, "img", { src: `${elsewhere}/recorded.png`, onerror: "parent.hacked=1" }),
    element(10, "script", {}, text(11, "parent.hacked = 1; top.hacked = 1")),
    element(12, "iframe", { src: `${elsewhere}/recorded.html` }),
    element(13, "link", { rel: "stylesheet", href: `${elsewhere}/recorded.css` }),
  );
  const document = {
    type: 0,
    id: 1,
    childNodes: [{ type: 1, id: 2, name: "html" }, element(3, "html", {}, head, body)],
  };
  const events = [
    { type: 4, timestamp: at, data: { href: `http://shop.example/${hostile}`, width: 800, height: 600 } },
    { type: 2, timestamp: at + 10, data: { node: document, initialOffset: { left: 0, top: 0 } } },
    { type: 3, timestamp: at + 4000, data: { source: 2, type: 2, id: 7, x: 1, y: 1 } },
  ];
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const pieces = bodyOf({ session: "s-1", distinct_id: hostile, events });
  await until(async () => (await (await post(server, "/s/", pieces)).text()) === '{"status":"Ok"}');
}

/** Requests that a browser counts although its policy stopped them are those of the recording. */
function leavingOf(requests: readonly string[]): string[] {
  return requests.filter((one) => !one.includes("/recorded."));
}

inBrowser(
  "every page is whole at every width, light and dark and while it loads, whatever things are called",
  async () => {
    const visited = await signedIn(browser, server, "start");
    const { page, requests } = visited;
    const faults: string[] = [];
    for (const [name, address] of Object.entries(addresses)) {
      const found = await faultsOfVisit(visited, name, address, async () => {
        if (name === "recording") {
          await page.frameLocator("iframe").getByRole("button", { name: "Play" }).waitFor();
        }
        faults.push(...(await page.getByRole("alert").allInnerTexts()).map((text) => `${name}: ${text}`));
      });
      faults.push(...found);
    }
    expect(faults).toEqual([]);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect({ leaving: leavingOf(requests), asked }).toEqual({ leaving: [], asked: [] });
  },
  msMax,
);

inBrowser(
  "a wrong key says so, a right one signs in without standing anywhere a script reads, and signing out ends it",
  async () => {
    const { page } = await visit(browser, `${server.url}/`);
    await page.getByLabel("Personal API key").fill("phx_wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("This personal API key is not valid.");
    expect(await allFindings(page)).toEqual([]);
    if (shots) await page.screenshot({ path: `${shots}/sign_in.png` });
    await page.getByLabel("Personal API key").fill(personalKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const readable = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + document.cookie";
    expect(await page.evaluate(readable)).toBe('[{"sluice_signed_in":"1"},{}]');
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Personal API key").waitFor();
    expect(await page.evaluate(readable)).toBe("[{},{}]");
  },
  msMax,
);

async function keyWith(scopes: string[]): Promise<{ id: string; value: string }> {
  const { body } = await ask(server, "POST", "/api/personal_api_keys/", { label: "some", scopes });
  return { id: String(body["id"]), value: String(body["value"]) };
}

inBrowser(
  "pages that a key's scopes do not allow are not shown",
  async () => {
    const { value } = await keyWith(["query:read", "dashboard:read"]);
    const { page, complaints } = await signedIn(browser, server, "live", value);
    await settled(page);
    const menu = page.getByRole("navigation", { name: "Pages of the console" });
    expect(await menu.getByRole("link").allInnerTexts()).toEqual([
      "Overview",
      "Live",
      "Explore",
      "SQL",
      "Dashboards",
    ]);
    await page.goto(`${server.url}/#/1/dashboards`);
    await page.getByRole("heading", { name: "Dashboards" }).waitFor();
    expect(await page.getByRole("button", { name: "Create" }).count()).toBe(0);
    expect(seriousOf(complaints)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a key that is revoked while somebody looks leads back to the sign-in, in words",
  async () => {
    const { id, value } = await keyWith(["query:read", "project:read", "person:read"]);
    const { page } = await signedIn(browser, server, "persons", value);
    await settled(page);
    await ask(server, "DELETE", `/api/personal_api_keys/${id}/`);
    // What the page asks for by itself may be refused before.
    await page
      .getByRole("button", { name: "Search" })
      .click({ timeout: 5000 })
      .catch(() => undefined);
    await page.getByLabel("Personal API key").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("This personal API key is not valid.");
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  },
  msMax,
);

inBrowser(
  "refusals of the API are shown in its words",
  async () => {
    const { page } = await signedIn(browser, server, "projects");
    await settled(page);
    await page.getByLabel("Time zone").fill("Nowhere/Land");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("Nowhere/Land");
  },
  msMax,
);

inBrowser(
  "a question is asked by keyboard alone, and kept as an insight",
  async () => {
    const { page } = await signedIn(browser, server, "explore");
    await settled(page);
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("To the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("page-content");
    await page.getByLabel("Event", { exact: true }).focus();
    await page.keyboard.type("$pageview");
    await page.keyboard.press("Enter");
    await page.getByRole("img", { name: /Lines from .*: Page views/ }).waitFor();
    expect(page.url()).toContain("event=%24pageview");
    await page.getByLabel("Name of the insight").focus();
    await page.keyboard.type("Visits");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Visits" }).waitFor();
    await page.getByRole("img", { name: /Lines from/ }).waitFor();
  },
  msMax,
);

inBrowser(
  "a shared recording is a player to browsers and JSON to programs",
  async () => {
    const path = "/api/projects/1/session_recordings/s-1/sharing/";
    const { body } = await ask(server, "PATCH", path, { enabled: true });
    const url = `${server.url}/shared/${String(body["access_token"])}/`;
    expect(await (await fetch(url)).json()).toMatchObject({ storage: "clickhouse", click_count: 1 });
    const { page, requests, complaints } = await visit(browser, url);
    await page.getByRole("button", { name: "Play" }).waitFor();
    const recorded = page.frameLocator(".replayer-wrapper iframe");
    expect(await recorded.locator("h1").innerText()).toBe("A shop for bicycles");
    const colour = await recorded
      .locator("h1")
      .evaluate((node) => node.ownerDocument.defaultView?.getComputedStyle(node).color);
    expect(colour).toBe("rgb(38, 139, 210)");
    await page.getByRole("button", { name: "Play" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    expect(await faultsOfState(page, "shared recording")).toEqual([]);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.content()).not.toContain(hostile);
    const refused = seriousOf(complaints);
    expect({ refused, leaving: leavingOf(requests), asked }).toEqual({ refused: [], leaving: [], asked: [] });
    await ask(server, "PATCH", path, { enabled: false });
    // The page that is open loses what it shows.
    await page.getByText("This recording is not shared, or its link was revoked.").waitFor();
    expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
    const late = await visit(browser, url);
    await late.page.getByText("This link is not valid, or was revoked.").waitFor();
    expect(await faultsOfState(late.page, "ended link")).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a server that is away says so, and the page comes back with it",
  async () => {
    const own = await startServer();
    const { page } = await visit(browser, `${own.url}/`);
    await page.getByLabel("Personal API key").fill(personalKey);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Persons" }).click();
    await settled(page);
    await own.end("SIGKILL");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("The server does not answer.").first().waitFor();
    await startServer({ PORT: new URL(own.url).port }, own.dataDir);
    await page.getByText("The server does not answer.").first().waitFor({ state: "detached" });
    await page.getByText("Nobody found.").waitFor();
  },
  msMax,
);

test(
  "pages are small, run no script of their own text, and programs get what they got before",
  async () => {
    const own = server ?? (await startServer());
    const page = await fetch(`${own.url}/`, { headers: { accept: "text/html,*/*" } });
    const html = await page.text();
    expect(html.match(/<script[^>]*>[^<]/g)).toBeNull();
    expect(html.match(/<style| style=| on\w+=/g)).toBeNull();
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self';");
    expect(page.headers.get("content-security-policy")).toContain("style-src 'self';");
    let [bytes, scripts] = [gzipSync(html).length, 0];
    const names = new Set(["main.js", "style.css", "icon.svg"]);
    for (const name of names) {
      const asset = await fetch(`${own.url}/console/assets/${name}`);
      expect([name, asset.status]).toEqual([name, 200]);
      const text = await asset.text();
      const packed = gzipSync(text).length;
      bytes += packed;
      if (!name.endsWith(".js")) continue;
      scripts += packed;
      // What it imports is loaded before it runs; what it may import later is not.
      for (const [, part] of text.matchAll(/(?:from|import)"\.\/(part-\w+\.js)"/g)) names.add(part!);
    }
    expect(names.size).toBeGreaterThan(3);
    expect(scripts).toBeLessThan(92_000);
    expect(bytes).toBeLessThan(150_000);
    for (const name of ["app.tsx", "..%2froute.ts", "constructor"]) {
      expect((await fetch(`${own.url}/console/assets/${name}`)).status).toBe(404);
    }
    const program = await fetch(`${own.url}/`, { redirect: "manual" });
    expect([program.status, program.headers.get("location")]).toEqual([302, "/docs"]);
    expect((await fetch(`${own.url}/console/stream/1`)).status).toBe(401);
    if (shots) expect(existsSync(shots)).toBe(true);
  },
  msMax,
);
