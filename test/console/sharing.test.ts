// The pages of links to insights and dashboards, and the console's control that makes, replaces and ends them.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import { settled, signedIn } from "../support/console.ts";
import { post, projectKey, rested, type Server, startServer } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;
let board: number;

const api = async (method: string, path: string, body: object) =>
  (await ask(server, method, `/api/projects/1/${path}`, body)).body;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  const batch = ["ann", "ann", "bob"].map((distinct_id) => ({ event: "paid", distinct_id, properties: {} }));
  await post(server, "/batch/", { api_key: projectKey, batch });
  await rested(server);
  board = Number((await api("POST", "dashboards/", { name: "On the wall" }))["id"]);
  const steps = [{ event: "paid" }, { event: "paid" }];
  for (const [name, query] of [
    ["Sales", { kind: "TrendsQuery", series: [{ event: "paid" }] }],
    ["Again", { kind: "FunnelsQuery", series: steps }],
  ] as const)
    await api("POST", "insights/", { name, query, dashboards: [board] });
}, msMax);

inBrowser(
  "a link is made, opened without a key, replaced and ended, and the open page is empty then",
  async () => {
    const { page } = await signedIn(browser, server, `dashboards/${board}`);
    await settled(page);
    await page.getByRole("button", { name: "Share by a link" }).click();
    const address = await page.getByText(/\/shared\/\w{43}\/$/).innerText();
    expect(await allFindings(page)).toEqual([]);
    for (const [width, colorScheme] of [
      [375, "dark"],
      [1280, "light"],
    ] as const) {
      const settings = { viewport: { width, height: 800 }, colorScheme };
      const { page: shared } = await visit(browser, address, settings);
      await shared.getByRole("img", { name: /Lines from/ }).waitFor();
      await shared.getByRole("heading", { name: "On the wall" }).waitFor();
      expect(await shared.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect([width, await allFindings(shared)]).toEqual([width, []]);
    }
    const { page: open } = await visit(browser, address);
    await open.getByRole("heading", { name: "Sales" }).waitFor();
    await page.getByRole("button", { name: "Replace the link" }).click();
    await page.getByText("There is a new link.").waitFor();
    await open.getByText("This link is not valid, or was revoked.").waitFor({ timeout: 60_000 });
    expect(await open.getByRole("heading", { name: "Sales" }).count()).toBe(0);
    await page.getByRole("button", { name: "Stop sharing" }).click();
    await page.getByRole("button", { name: "Share by a link" }).waitFor();
  },
  msMax,
);

inBrowser(
  "a page on a listed host shows the form of a link with a password, and what it opens",
  async () => {
    await api("PATCH", "", { sharing_embed_hosts: ["wiki.example.com"] });
    const path = `dashboards/${board}/sharing/`;
    const { access_token: token } = await api("PATCH", path, { enabled: true, password_required: true });
    await api("POST", `${path}passwords/`, { raw_password: "a word of eight" });
    const context = await browser.newContext();
    later(() => context.close());
    const html = `<!doctype html><title>Wiki</title><iframe src="https://data.example.org/shared/${String(token)}/"></iframe>`;
    // No host is asked: the browser's requests for it end here.
    await context.route("https://*.example.com/**", (route) =>
      route.fulfill({ contentType: "text/html", body: html }),
    );
    await context.route("https://data.example.org/**", async (route) => {
      const url = server.url + new URL(route.request().url()).pathname;
      await route.fulfill({
        response: await route.fetch({ url, headers: await route.request().allHeaders() }),
      });
    });
    const page = await context.newPage();
    await page.goto("https://wiki.example.com/page");
    const frame = page.frameLocator("iframe");
    await frame.getByLabel("Password of this link").fill("a word of eight");
    await frame.getByRole("button", { name: "Open" }).click();
    await frame.getByRole("heading", { name: "On the wall" }).waitFor();
    const blocked = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await page.goto("https://other.example.com/page");
    await blocked;
    expect(await frame.getByLabel("Password of this link").count()).toBe(0);
    await api("PATCH", path, { enabled: false, password_required: false });
  },
  msMax,
);
