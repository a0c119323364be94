// The SQL page in a browser: names offered by keyboard, faults at their place, rows as a table and a chart, insights and tiles.

import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, settled, signedIn } from "../support/console.ts";
import { post, projectKey, rested, type Server, startServer } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;

/** Events of each plan, and what was paid for each. */
const paid = { free: [0, 0], gold: [5, 7, 9], silver: [3] };

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  const batch = Object.entries(paid).flatMap(([plan, prices]) =>
    prices.map((price, i) => ({
      event: "paid",
      distinct_id: `${plan} ${i}`,
      timestamp: `2026-03-0${i + 1}T12:00:00Z`,
      properties: { plan, price },
    })),
  );
  await post(server, "/batch/", { api_key: projectKey, batch });
  await rested(server);
}, msMax);

const addressOf = (query: string, display = "ActionsTable") =>
  `sql?${new URLSearchParams({ query, display }).toString()}`;

const byPlan =
  "select properties.plan as plan, sum(properties.price) as total from events group by plan order by plan";
const byDay = "select toDate(timestamp) as day, count() as events from events group by day order by day";
const sums = Object.entries(paid).map(([plan, prices]) => [plan, String(prices.reduce((a, b) => a + b))]);

const cells = async (page: Page) =>
  await page
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));

inBrowser(
  "a query is written with offered names, by keyboard alone, and its rows are those that were sent",
  async () => {
    const { page } = await signedIn(browser, server, "sql");
    await settled(page);
    const editor = page.getByLabel("Query in SQL");
    await editor.fill("select  from events");
    await editor.press("Home");
    for (let i = 0; i < 7; i++) await page.keyboard.press("ArrowRight");
    await page.locator("summary").getByText("events", { exact: true }).click();
    await page.getByRole("button", { name: "event string", exact: true }).click();
    await page.keyboard.type(", uuid");
    expect(await editor.inputValue()).toBe("select event, uuid from events");
    await editor.fill("");
    await editor.pressSequentially("select properties.pl");
    const option = page.getByRole("option", { name: "plan property" });
    await option.waitFor();
    expect(await option.getAttribute("aria-selected")).toBe("true");
    const active = await editor.getAttribute("aria-activedescendant");
    expect(await option.getAttribute("id")).toBe(active);
    await page.keyboard.press("Enter");
    expect(await editor.inputValue()).toBe("select properties.plan");
    await editor.pressSequentially(" as plan, sum(properties.price) as total from ev");
    await page.getByRole("option", { name: "events table", exact: true }).waitFor();
    await page.keyboard.press("Tab");
    await editor.pressSequentially(" where event = 'p");
    await page.getByRole("option", { name: "paid event" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("listbox").waitFor({ state: "detached" });
    await editor.pressSequentially("aid' group by plan order by plan");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("table").waitFor();
    expect(await cells(page)).toEqual(sums);
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Query in SQL");
    // The address is the query: whoever opens it sees the same.
    const { page: other } = await signedIn(browser, server, page.url().split("#/1/")[1]!);
    await other.getByRole("table").waitFor();
    expect(await cells(other)).toEqual(sums);
  },
  msMax,
);

inBrowser(
  "a fault is told in the API's words and marked at its place, until the text is changed",
  async () => {
    const { page } = await signedIn(browser, server, addressOf("select 1,\n  nam from events"));
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("(Line 2, column 3.)");
    expect(await page.locator(".editor mark.wrong").innerText()).toBe("nam");
    const editor = page.getByLabel("Query in SQL");
    expect(await editor.getAttribute("aria-invalid")).toBe("true");
    await editor.focus();
    expect(await page.evaluate("String(getSelection())")).toBe("nam");
    await editor.fill("select 1,\n  event from events");
    expect(await page.locator(".editor mark.wrong").count()).toBe(0);
    await page.getByText("changed since it was run").waitFor();
  },
  msMax,
);

inBrowser(
  "rows are drawn as bars and lines, saved as a file and as an insight, and shown on a dashboard",
  async () => {
    const { page } = await signedIn(browser, server, addressOf(byPlan));
    await page.getByRole("table").waitFor();
    await page.getByRole("button", { name: "Bars" }).click();
    const bars = page.getByRole("list", { name: "Bars from free to silver: total" });
    await bars.waitFor();
    expect(await bars.getByRole("listitem").allInnerTexts()).toEqual(
      sums.map(([plan, sum]) => `${plan}\n${sum}`),
    );
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const file = await (await saving).path();
    expect(readFileSync(file, "utf8")).toBe(
      `plan,total\r\n${sums.map((row) => `${row.join(",")}\r\n`).join("")}`,
    );

    await page.getByLabel("Name of the insight").fill("Paid by plan");
    await page.getByRole("button", { name: "Save as insight" }).click();
    await page.getByRole("heading", { name: "Paid by plan" }).waitFor();
    await bars.waitFor();
    const id = Number(page.url().split("/").at(-1));
    const insight = async () => (await ask(server, "GET", `/api/projects/1/insights/${id}/`)).body;
    expect((await insight())["query"]).toEqual({
      kind: "DataVisualizationNode",
      source: { kind: "HogQLQuery", query: byPlan },
      display: "ActionsBar",
    });

    const { body: board } = await ask(server, "POST", "/api/projects/1/dashboards/", { name: "Money" });
    await ask(server, "PATCH", `/api/projects/1/insights/${id}/`, { dashboards: [board["id"]] });
    await page.goto(`${server.url}/#/1/dashboards/${String(board["id"])}`);
    await bars.waitFor();
    expect(await bars.getByRole("listitem").allInnerTexts()).toEqual(
      sums.map(([plan, sum]) => `${plan}\n${sum}`),
    );

    // What was edited and not run is what is saved.
    await page.goto(`${server.url}/#/1/insights/${id}`);
    await page.getByRole("link", { name: "Edit query" }).click();
    await page.getByLabel("Query in SQL").fill(byDay);
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("heading", { name: "Paid by plan" }).waitFor();
    expect((await insight())["query"]).toMatchObject({ source: { query: byDay }, display: "ActionsBar" });
  },
  msMax,
);

inBrowser(
  "the page is whole at every width, in light and dark: with names offered, a fault, a chart",
  async () => {
    const faults = [
      ...(await faultsOfLooks(browser, server, "sql_offers", addressOf(byPlan), async (page) => {
        await page.getByRole("table").waitFor();
        const editor = page.getByLabel("Query in SQL");
        await editor.focus();
        await page.keyboard.press("Control+End");
        await editor.pressSequentially(", properties.p");
        await page.getByRole("listbox").waitFor();
      })),
      ...(
        await faultsOfLooks(browser, server, "sql_fault", addressOf("select evnt from events"), (page) =>
          page.getByRole("alert").waitFor(),
        )
      ).filter((one) => !/(400|status of 400)/.test(one)),
      ...(await faultsOfLooks(browser, server, "sql_bars", addressOf(byPlan, "ActionsBar"), (page) =>
        page.getByRole("list", { name: /^Bars from/ }).waitFor(),
      )),
      ...(await faultsOfLooks(browser, server, "sql_line", addressOf(byDay, "ActionsLineGraph"), (page) =>
        page.getByRole("img", { name: /^Lines from 2026-03-01 to 2026-03-03: events/ }).waitFor(),
      )),
    ];
    expect(faults).toEqual([]);
  },
  msMax,
);
