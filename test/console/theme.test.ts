// Light and dark: as the system has it, or as somebody chose, on every page, in charts, and for the next visit.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { settled, signedIn } from "../support/console.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  await post(server, "/capture/", { api_key: projectKey, event: "paid", distinct_id: "ann" });
  await rested(server);
}, msMax);

/** Of the page's ground: 0 is black, 255 is white. */
async function brightness(page: Page): Promise<number> {
  const colour = String(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
  const [red = 0] = /\d+/.exec(colour)?.map(Number) ?? [];
  return red;
}

/** The mean brightness of what the first chart has drawn. */
async function inkOf(page: Page): Promise<number> {
  return await page.evaluate<number>(`(() => {
    const canvas = document.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let [sum, count] = [0, 0];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 200) continue;
      sum += (data[i] + data[i + 1] + data[i + 2]) / 3;
      count++;
    }
    return count === 0 ? -1 : sum / count;
  })()`);
}

const theme = (page: Page) => page.getByRole("button", { name: /^Colours:/ });

inBrowser(
  "the system decides, until somebody chooses; the choice holds for pages, charts and the next visit",
  async () => {
    const { page, context } = await signedIn(browser, server, "explore", undefined, { colorScheme: "dark" });
    await settled(page);
    await page.getByRole("img", { name: /Lines from/ }).waitFor();
    expect(await brightness(page)).toBeLessThan(60);
    const dark = await inkOf(page);
    await page.emulateMedia({ colorScheme: "light" });
    await until(async () => (await brightness(page)) > 200);
    // The chart is drawn again a moment after the page has its colours.
    await until(async () => (await inkOf(page)) !== dark);
    const light = await inkOf(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await until(async () => (await brightness(page)) < 60);
    await until(async () => (await inkOf(page)) === dark);

    await theme(page).focus();
    await page.keyboard.press("Enter");
    expect(await theme(page).getAttribute("aria-label")).toBe("Colours: light. Change to dark");
    expect(await brightness(page)).toBeGreaterThan(200);
    // The chart is drawn again, in the colours of the light page.
    await until(async () => (await inkOf(page)) === light);
    expect(await allFindings(page)).toEqual([]);
    await page.reload();
    await settled(page);
    expect(await brightness(page)).toBeGreaterThan(200);
    // The choice is all that is kept, and no key.
    expect(await page.evaluate("JSON.stringify({ ...localStorage })")).toBe('{"sluice_theme":"light"}');

    const other = await context.newPage();
    await other.goto(`${server.url}/`);
    await other.getByLabel("Personal API key").waitFor();
    expect(await brightness(other)).toBeGreaterThan(200);
    await theme(other).press("Enter");
    expect(await brightness(other)).toBeLessThan(60);
    // Other tabs follow.
    await until(async () => (await page.evaluate("document.documentElement.dataset.theme")) === "dark");
    await theme(page).press("Enter");
    expect(await theme(page).getAttribute("aria-label")).toStartWith("Colours: as the system has them");
    expect(await page.evaluate("localStorage.length")).toBe(0);
  },
  msMax,
);

inBrowser(
  "the page of a shared recording has the switch, and pages follow whatever the system has",
  async () => {
    const shared = await visit(browser, `${server.url}/shared/nobody/`, { colorScheme: "light" });
    await shared.page.getByText("This link is not valid").waitFor();
    await theme(shared.page).press("Enter");
    await theme(shared.page).press("Enter");
    expect(await brightness(shared.page)).toBeLessThan(60);
    expect(await allFindings(shared.page)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "every page has the switch and follows it",
  async () => {
    const query = { kind: "TrendsQuery", series: [{ event: "paid" }] };
    await ask(server, "POST", "/api/projects/1/insights/", { name: "Sales", query });
    const { page } = await signedIn(browser, server, "start", undefined, { colorScheme: "light" });
    await settled(page);
    await theme(page).press("Enter");
    await theme(page).press("Enter");
    const links = page.getByRole("navigation", { name: "Pages of the console" }).getByRole("link");
    for (const name of await links.allInnerTexts()) {
      await links.filter({ hasText: name }).first().press("Enter");
      await settled(page);
      expect([name, await theme(page).count(), (await brightness(page)) < 60]).toEqual([name, 1, true]);
      // A card on it is dark, too: nothing has a light ground of its own. Some pages are loaded when they are opened.
      await page.locator(".card").first().waitFor();
      const ground = await page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor");
      expect([name, ground]).toEqual([name, "rgb(24, 28, 34)"]);
    }
  },
  msMax,
);
