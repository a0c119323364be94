// Insights and dashboards in the console: opened, edited, renamed, arranged by keyboard, and kept through the API.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { type Answer, ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { settled, signedIn } from "../support/console.ts";
import { post, projectKey, rested, type Server, startServer } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  const paid = (distinct_id: string, price: number) => ({
    event: "paid",
    distinct_id,
    properties: { price },
  });
  const company = { $group_type: "company", $group_key: "acme", $group_set: {} };
  const batch = [
    paid("ann", 10),
    paid("ann", 20),
    paid("bob", 60),
    { event: "$groupidentify", distinct_id: "ann", properties: company },
  ];
  await post(server, "/batch/", { api_key: projectKey, batch });
  await rested(server);
}, msMax);

async function api(method: string, path: string, body?: object): Promise<Answer["body"]> {
  const answer = await ask(server, method, `/api/projects/1/${path}`, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

async function opened(address: string): Promise<Page> {
  const { page } = await signedIn(browser, server, address);
  await settled(page);
  return page;
}

const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };

inBrowser(
  "each series has a count of its own, and the numbers say so",
  async () => {
    const page = await opened("explore");
    await page.getByLabel("Event", { exact: true }).fill("paid");
    await page.getByRole("button", { name: "Add event" }).press("Enter");
    await page.getByLabel("Event 2", { exact: true }).fill("paid");
    await page.getByLabel("Count of event 2").selectOption({ label: "Persons" });
    await page.getByRole("button", { name: "Add event" }).press("Enter");
    await page.getByLabel("Event 3", { exact: true }).fill("paid");
    await page.getByLabel("Count of event 3").selectOption({ label: "Sum of a property" });
    await page.getByLabel("Property of event 3").fill("price");
    // Groups are counted by their types, as the project has them.
    await page
      .getByLabel("Count of event 1")
      .locator("option", { hasText: "Groups: company" })
      .waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Show" }).click();
    const sums = page.getByRole("row", { name: "Sum" }).getByRole("cell");
    await sums.first().waitFor();
    // Persons of several days do not add up.
    expect(await sums.allInnerTexts()).toEqual(["Sum", "3", "", "90"]);
    const heads = await page
      .getByRole("group", { name: "numbers" })
      .getByRole("columnheader")
      .allInnerTexts();
    expect(heads).toEqual(["Time", "paid", "paid · Persons", "paid · Sum of price"]);
    expect(await allFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Remove Event 2" }).press("Enter");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("columnheader", { name: "Persons" }).first().waitFor({ state: "detached" });
    await sums.first().waitFor();
    expect(await sums.allInnerTexts()).toEqual(["Sum", "3", "90"]);
  },
  msMax,
);

inBrowser(
  "a saved insight is opened, its question changed and saved again, renamed, and deleted",
  async () => {
    const { id } = await api("POST", "insights/", {
      name: "Sales",
      query: { kind: "InsightVizNode", source: { ...trend, dateRange: { date_from: "-30d" } } },
    });
    const path = `insights/${String(id)}/`;
    const page = await opened(`insights/${String(id)}`);
    await page.getByRole("link", { name: "Edit question" }).press("Enter");
    await page.getByRole("heading", { name: "Edit an insight" }).waitFor();
    expect(await page.getByLabel("Event", { exact: true }).inputValue()).toBe("paid");
    expect(await page.getByLabel("Time range").inputValue()).toBe("-30d");
    await page.getByLabel("Count", { exact: true }).selectOption("dau");
    await page.getByLabel("Time range").selectOption("-7d");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("columnheader", { name: "Persons" }).first().waitFor();
    expect((await api("GET", path))["query"]).toMatchObject({ source: { dateRange: { date_from: "-30d" } } });
    await page.getByRole("button", { name: "Save changes" }).press("Enter");
    await page.getByRole("heading", { name: "Sales" }).waitFor();
    expect((await api("GET", path))["query"]).toMatchObject({
      kind: "InsightVizNode",
      source: {
        kind: "TrendsQuery",
        series: [{ event: "paid", math: "dau" }],
        dateRange: { date_from: "-7d" },
      },
    });

    await page.getByLabel("Name", { exact: true }).fill("Buyers");
    await page.getByLabel("Description").fill("Who paid");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Buyers" }).waitFor();
    await page.getByText("Who paid").waitFor();
    expect(await api("GET", path)).toMatchObject({ name: "Buyers", description: "Who paid" });
    expect(await allFindings(page)).toEqual([]);

    await page.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByRole("button", { name: "Yes, delete" }).press("Enter");
    await page.getByRole("heading", { name: "Insights" }).waitFor();
    expect((await ask(server, "GET", `/api/projects/1/${path}`)).status).toBe(404);
  },
  msMax,
);

inBrowser(
  "a question that the form cannot show whole is not edited there",
  async () => {
    const filters = [{ key: "price", value: "1.", operator: "regex", type: "event" }];
    const { id } = await api("POST", "insights/", { query: { ...trend, properties: filters } });
    const page = await opened(`insights/${String(id)}`);
    await page.getByText("Its query has more than the form can show").waitFor();
    expect(await page.getByRole("link", { name: "Edit question" }).count()).toBe(0);
    expect(await page.getByLabel("Name", { exact: true }).count()).toBe(1);
  },
  msMax,
);

async function boardOf(...names: string[]): Promise<number> {
  const { id } = await api("POST", "dashboards/", { name: "Board" });
  for (const name of names) await api("POST", "insights/", { name, query: trend, dashboards: [id] });
  return Number(id);
}

interface Tile {
  layouts: { sm: { x: number; y: number; w: number; h: number } };
  insight: { name: string };
}

async function tilesOf(id: number): Promise<Record<string, number[]>> {
  const tiles = (await api("GET", `dashboards/${id}/`))["tiles"] as Tile[];
  const places = tiles.map(({ insight, layouts: { sm } }) => [insight.name, [sm.x, sm.y, sm.w, sm.h]]);
  return Object.fromEntries(places) as Record<string, number[]>;
}

const headings = (page: Page) => page.locator(".tiles h2").allInnerTexts();

inBrowser(
  "tiles are moved, widened and heightened by keyboard, and stand there for whoever comes next",
  async () => {
    const id = await boardOf("one", "two", "three");
    const page = await opened(`dashboards/${id}`);
    expect(await headings(page)).toEqual(["one", "two", "three"]);
    await page.getByRole("button", { name: "Arrange" }).press("Enter");
    const tile = (name: string) =>
      page.locator(".tiles section", { has: page.getByRole("link", { name, exact: true }) });
    await tile("three").getByRole("button", { name: "Earlier" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("three: moved earlier, 2 of 3.").waitFor({ state: "attached" });
    // The focus stays with the tile that moved, at its end too.
    await page.keyboard.press("Enter");
    await page.getByText("three: moved earlier, 1 of 3.").waitFor({ state: "attached" });
    await page.keyboard.press("Enter");
    expect(await headings(page)).toEqual(["three", "one", "two"]);
    await tile("two").getByRole("button", { name: "Wider" }).press("Enter");
    await tile("two").getByRole("button", { name: "Narrower" }).waitFor();
    await tile("one").getByRole("button", { name: "Taller" }).press("Enter");
    await page.getByText("one: taller, 2 of 3.").waitFor({ state: "attached" });
    expect(await allFindings(page)).toEqual([]);
    const kept = { three: [0, 0, 6, 5], one: [6, 0, 6, 10], two: [0, 10, 12, 5] };
    await page.waitForLoadState("networkidle");
    expect(await tilesOf(id)).toEqual(kept);

    await page.reload();
    await settled(page);
    expect(await headings(page)).toEqual(["three", "one", "two"]);
    const boxes = await page.locator(".tiles section").evaluateAll((sections) =>
      sections.map((one) => {
        const { x, y, width } = one.getBoundingClientRect();
        return { x, y, width };
      }),
    );
    const [three, one, two] = boxes;
    expect([three!.y === one!.y, one!.x > three!.x, two!.y > one!.y]).toEqual([true, true, true]);
    expect(two!.width).toBeGreaterThan(three!.width * 1.9);
  },
  msMax,
);

inBrowser(
  "places that cannot be kept say so",
  async () => {
    const id = await boardOf("one", "two");
    const page = await opened(`dashboards/${id}`);
    await page.getByRole("button", { name: "Arrange" }).press("Enter");
    await api("DELETE", `dashboards/${id}/`);
    await page.getByRole("button", { name: "Later" }).first().press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("Not found");
  },
  msMax,
);

inBrowser(
  "a dashboard is created, named and pinned, and insights are put on it and taken off",
  async () => {
    const insight = await api("POST", "insights/", { name: "Sales", query: trend });
    const page = await opened("dashboards");
    await page.getByLabel("Name of the dashboard").fill("Shop");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("No insights yet.").waitFor();
    const id = Number(page.url().split("/").at(-1));
    await page.getByRole("button", { name: "Arrange" }).press("Enter");
    await page.getByLabel("Name", { exact: true }).fill("The shop");
    await page.getByLabel("Pinned: first in the list").check();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "The shop" }).waitFor();
    expect(await api("GET", `dashboards/${id}/`)).toMatchObject({ name: "The shop", pinned: true });

    await page.goto(`${server.url}/#/1/insights/${String(insight["id"])}`);
    await page.getByLabel("Put it on").selectOption({ label: "The shop" });
    await page.getByRole("button", { name: "Put it there" }).press("Enter");
    await page.getByRole("link", { name: "The shop" }).waitFor();
    const dashboards = async () => (await api("GET", `insights/${String(insight["id"])}/`))["dashboards"];
    expect(await dashboards()).toEqual([id]);
    await page.getByRole("button", { name: "Take off The shop" }).press("Enter");
    await page.getByText("No dashboard shows it.").waitFor();
    expect(await dashboards()).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a text is added beside insights, shown as it was written, moved, changed and removed",
  async () => {
    const id = await boardOf("one");
    const page = await opened(`dashboards/${id}`);
    await page.getByRole("button", { name: "Arrange" }).press("Enter");
    const written = "## Key metrics\n<img src=x onerror=\"document.title='hit'\"> of **today**";
    await page.getByLabel("Text", { exact: true }).fill(written);
    await page.getByRole("button", { name: "Add text" }).press("Enter");
    await page.getByRole("button", { name: "Save text" }).waitFor();
    const tile = page.locator(".tiles section", { has: page.getByRole("button", { name: "Save text" }) });
    const moved = page.waitForResponse((reply) => reply.request().method() === "PATCH");
    await tile.getByRole("button", { name: "Earlier" }).press("Enter");
    await page.getByText("Key metrics: moved earlier, 1 of 2.").waitFor({ state: "attached" });
    expect(await allFindings(page)).toEqual([]);
    expect((await moved).status()).toBe(200);
    await page.reload();
    await settled(page);
    expect(await page.locator(".tiles section").first().innerText()).toBe(written);
    expect(await page.title()).not.toBe("hit");
    expect(await allFindings(page)).toEqual([]);

    const texts = async () =>
      ((await api("GET", `dashboards/${id}/`))["tiles"] as { text: { body: string } | null }[]).flatMap(
        ({ text }) => text?.body ?? [],
      );
    expect(await texts()).toEqual([written]);
    await page.getByRole("button", { name: "Arrange" }).press("Enter");
    await tile.getByLabel("Text", { exact: true }).fill("Changed");
    await tile.getByRole("button", { name: "Save text" }).press("Enter");
    await tile.getByText("Saved.").waitFor();
    expect(await texts()).toEqual(["Changed"]);
    await tile.getByRole("button", { name: "Remove" }).press("Enter");
    await tile.getByRole("button", { name: "Yes, remove" }).press("Enter");
    await page.locator(".tiles section").nth(1).waitFor({ state: "detached" });
    expect(await texts()).toEqual([]);
  },
  msMax,
);
