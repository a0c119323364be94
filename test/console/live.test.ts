// The live page in a browser: events as they come, and how an import goes.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { seriousOf, settled, signedIn } from "../support/console.ts";
import { post, projectKey, type Server, startServer } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({
    METRICS_TOKEN: "for_the_metrics_alone",
    LOG_LEVEL: "error",
  });
  browser = await openBrowser();
}, msMax);

inBrowser(
  "live events come by themselves, as far as the filter says",
  async () => {
    const { page, complaints } = await signedIn(browser, server, "live");
    await settled(page);
    await page.getByRole("heading", { name: "Live events / s" }).waitFor();
    await page.getByLabel("Only this event").fill("paid");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("No such events yet.").waitFor();
    await page.getByText("live", { exact: true }).first().waitFor();
    const send = (event: string) =>
      post(server, "/capture/", { api_key: projectKey, event, distinct_id: "me", properties: { price: 12 } });
    await send("looked");
    // The stream with the filter may open after the first one was sent.
    const paid = page.getByRole("button", { name: "paid" });
    while ((await paid.count()) === 0) {
      await send("paid");
      await paid
        .first()
        .waitFor({ timeout: 5000 })
        .catch(() => undefined);
    }
    expect(await page.getByRole("button", { name: "looked" }).count()).toBe(0);
    await paid.first().click();
    await page.getByText("price", { exact: true }).waitFor();
    // The address has the filter, so that it can be sent, and going back shows all again.
    expect(page.url()).toEndWith("/live?event=paid");
    await page.goBack();
    await page.getByRole("button", { name: "looked" }).first().waitFor();
    expect(await page.getByLabel("Only this event").inputValue()).toBe("");
    expect(seriousOf(complaints)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "an import is told in figures: accepted, pending and stored, until all of it is stored",
  async () => {
    // What was accepted waits this long: a page on a busy machine sees it, too.
    const slow = await startServer({ FLUSH_INTERVAL_MS: "10000", LOG_LEVEL: "error" });
    const { page } = await signedIn(browser, slow, "live");
    await settled(page);
    await page.getByRole("heading", { name: "Imported events / s" }).waitFor();
    expect(await page.getByRole("heading", { name: "Import", exact: true }).count()).toBe(0);
    const day = (i: number) => new Date(Date.UTC(2020, 0, 1 + (i % 300))).toISOString();
    const batch = Array.from({ length: 5000 }, (_, i) => ({
      event: "old",
      distinct_id: `p${i % 50}`,
      properties: {},
      timestamp: day(i),
    }));
    await post(slow, "/batch/", { api_key: projectKey, historical_migration: true, batch });
    const card = page.locator("section", {
      has: page.getByRole("heading", { name: "Import", exact: true }),
    });
    await card.getByText("5,000 events in the journal").waitFor();
    expect(await card.getByText(/^5,000 events, [\d.,]+ a second$/).count()).toBe(1);
    const bar = card.getByRole("progressbar", { name: "Imported events that are stored" });
    expect(Number(await bar.getAttribute("max"))).toBe(5000);
    expect(await allFindings(page)).toEqual([]);
    await card.getByText("0 events in the journal", { exact: true }).waitFor({ timeout: 120_000 });
    await card.getByText("nothing: all is stored").waitFor();
    expect(Number(await bar.getAttribute("value"))).toBe(5000);
  },
  msMax,
);

inBrowser(
  "a key without all scopes is told why it sees no figures, another is not",
  async () => {
    const { body } = await ask(server, "POST", "/api/personal_api_keys/", {
      label: "reads",
      scopes: ["query:read", "project:read"],
    });
    const { page } = await signedIn(browser, server, "live", String(body["value"]));
    await settled(page);
    await page.getByText("Figures of the whole server are shown to keys with all scopes.").waitFor();
    const whole = await signedIn(browser, server, "live");
    await settled(whole.page);
    await whole.page.getByRole("heading", { name: "Free disk" }).waitFor();
    expect(await whole.page.getByText("Figures of the whole server").count()).toBe(0);
  },
  msMax,
);
