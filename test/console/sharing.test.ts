// The pages of links to insights and dashboards, and the console's control that makes, replaces and ends them.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
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
