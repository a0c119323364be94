// Insights and dashboards in the console: opened, edited, renamed, arranged by keyboard, and kept through the API.

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { inBrowser, msMax, openConsole, settled } from "../support/console.ts";
import { until } from "../support/server.ts";

cleanUpEach();

const paid = (distinct_id: string, price: number, more: object = {}) => ({
  event: "paid",
  distinct_id,
  properties: { price },
  ...more,
});
const desk = openConsole(() => [
  paid("ann", 10),
  paid("ann", 20),
  paid("bob", 60),
  paid("eve", 60, { timestamp: "2026-03-02T12:00:00Z" }),
  {
    event: "$groupidentify",
    distinct_id: "ann",
    properties: { $group_type: "company", $group_key: "acme", $group_set: {} },
  },
]);
const { api, opened } = desk;

const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };

inBrowser(
  "each series has a count of its own, and the numbers say so",
  async () => {
    const page = await opened("explore");
    await page.getByLabel("Event", { exact: true }).fill("paid");
    await page.getByRole("button", { name: "Add event" }).press("Enter");
    // Whoever adds an event writes its name next.
    const added = page.getByLabel("Event 2", { exact: true });
    await added.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("paid");
    expect(await added.inputValue()).toBe("paid");
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
    await page.getByRole("link", { name: "Edit query" }).press("Enter");
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
    expect((await ask(desk.server, "GET", `/api/projects/1/${path}`)).status).toBe(404);
  },
  msMax,
);

inBrowser(
  "a question that the form cannot show whole is not edited there",
  async () => {
    const prices = Array.from({ length: 11 }, (_, i) => ({ key: "price", value: String(i) }));
    const filters = { type: "OR", values: prices };
    const { id } = await api("POST", "insights/", { query: { ...trend, properties: filters } });
    const page = await opened(`insights/${String(id)}`);
    await page.getByText("Its query has more than the form can show").waitFor();
    expect(await page.getByRole("link", { name: "Edit query" }).count()).toBe(0);
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
    // It is saved behind what is shown.
    await until(async () => Bun.deepEquals(await tilesOf(id), kept));

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

    await page.goto(`${desk.server.url}/#/1/insights/${String(insight["id"])}`);
    await page.getByLabel("Put it on").selectOption({ label: "The shop" });
    await page.getByRole("button", { name: "Put it there" }).press("Enter");
    await page.getByRole("link", { name: "The shop" }).waitFor();
    const dashboards = async () => (await api("GET", `insights/${String(insight["id"])}/`))["dashboards"];
    expect(await dashboards()).toEqual([id]);
    await page.getByRole("button", { name: "Remove from The shop" }).press("Enter");
    await page.getByText("No dashboard shows it.").waitFor();
    expect(await dashboards()).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a text is added beside insights, shown with its marks and without its HTML, moved, changed and removed",
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
    const shown = page.locator(".tiles section").first();
    expect(await shown.getByRole("heading").innerText()).toBe("Key metrics");
    expect(await shown.locator("p").innerText()).toBe(
      "<img src=x onerror=\"document.title='hit'\"> of today",
    );
    expect([await shown.locator("strong").innerText(), await shown.locator("img").count()]).toEqual([
      "today",
      0,
    ]);
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

/** What the first number of each tile is, by the tile's name. */
const numbersOf = async (page: Page): Promise<Record<string, string>> =>
  Object.fromEntries(
    await page
      .locator(".tiles section")
      .evaluateAll((all) =>
        all.map((one) => [
          one.querySelector("h2")?.textContent ?? "",
          one.querySelector(".bold-number")?.textContent ?? "",
        ]),
      ),
  ) as Record<string, string>;

inBrowser(
  "a dashboard's range and filters are asked of every tile, stand in the address, and are no part of its insights",
  async () => {
    const { id } = await api("POST", "dashboards/", { name: "Scoped" });
    const more = { dashboards: [id] };
    await api("POST", "insights/", {
      name: "sales",
      query: { ...trend, dateRange: { date_from: "-7d" } },
      ...more,
    });
    const entity = { id: "paid", type: "events" };
    const kept = {
      kind: "RetentionQuery",
      retentionFilter: { targetEntity: entity, returningEntity: entity },
    };
    await api("POST", "insights/", { name: "back", query: kept, ...more });
    const page = await opened(`dashboards/${String(id)}`);
    const sales = page.locator(".tiles section", { hasText: "sales" });
    await sales.locator(".bold-number", { hasText: /^3$/ }).waitFor();
    await page.getByLabel("Time range").selectOption({ label: "All time" });
    await page.waitForURL(/range=all/);
    await sales.locator(".bold-number", { hasText: /^4$/ }).waitFor();
    await page
      .locator(".tiles section", { hasText: "back" })
      .getByText("Shown without the range of this page.")
      .waitFor();
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Filtered property").fill("price");
    await page.getByLabel("Value", { exact: true }).fill("60");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/where=/);
    await sales.locator(".bold-number", { hasText: /^2$/ }).waitFor();
    await sales.getByText("Only where price is 60.").waitFor();
    expect(await allFindings(page)).toEqual([]);
    // Whoever is sent the address sees the same; the insight is as it was.
    const other = await opened(page.url().split("#/1/")[1]!);
    await other
      .locator(".tiles section", { hasText: "sales" })
      .locator(".bold-number", { hasText: /^2$/ })
      .waitFor();
    expect(await other.getByLabel("Value", { exact: true }).inputValue()).toBe("60");
    await page.getByRole("link", { name: "sales" }).click();
    await page.locator(".headline .bold-number", { hasText: /^3$/ }).waitFor();
  },
  msMax,
);

inBrowser(
  "tiles load by themselves, and show their last result at once when their dashboard is opened again",
  async () => {
    const id = await boardOf("quick", "slow");
    const ids = Object.fromEntries(
      ((await api("GET", `dashboards/${id}/`))["tiles"] as { insight: { id: number; name: string } }[]).map(
        ({ insight }) => [insight.name, insight.id],
      ),
    );
    const page = await opened("insights");
    let release = Promise.withResolvers<void>();
    await page.route(new RegExp(`insights/${ids["slow"]}/$`), async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.goto(`${desk.server.url}/#/1/dashboards/${id}`);
    const slow = page.locator(".tiles section", { hasText: "slow" });
    await page.locator(".tiles section", { hasText: "quick" }).locator(".u-over").waitFor();
    await slow.getByText("Loading …").waitFor();
    release.resolve();
    await slow.locator(".u-over").waitFor();
    release = Promise.withResolvers<void>();
    await page.getByRole("link", { name: "Insights", exact: true }).click();
    await page.getByRole("heading", { name: "Insights" }).waitFor();
    await page.goBack();
    await slow.locator(".u-over").waitFor();
    expect(await slow.locator("[aria-busy=true]").count()).toBe(1);
    release.resolve();
    await slow.locator("[aria-busy=false]").waitFor();
    expect((await numbersOf(page))["slow"]).toBe("3");
  },
  msMax,
);

inBrowser(
  "insights are found by their names and kinds, marked as favorites, and duplicated",
  async () => {
    const funnel = { kind: "FunnelsQuery", series: [{ event: "paid" }, { event: "paid" }] };
    const { id } = await api("POST", "insights/", { name: "Way to buy", query: funnel });
    await api("POST", "insights/", { name: "Another way", query: trend });
    const page = await opened(`insights/${String(id)}`);
    await page.getByRole("button", { name: "Favorite" }).click();
    await page.getByText("Added to the favorites.").waitFor();
    await page.getByRole("button", { name: "Duplicate" }).click();
    await page.getByRole("heading", { name: "Way to buy (copy)" }).waitFor();
    await page.goto(`${desk.server.url}/#/1/insights?search=way`);
    const rows = async () =>
      (await page.locator("tbody tr").allInnerTexts()).map((row) => row.split("\t").slice(0, 2));
    await page.locator("tbody tr").nth(2).waitFor();
    await page.getByLabel("Kind").selectOption({ label: "Funnels" });
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("tbody tr").nth(2).waitFor({ state: "detached" });
    expect(await rows()).toEqual([
      ["Way to buy (copy)", "Funnels"],
      ["★ Way to buy", "Funnels"],
    ]);
    await page.getByLabel("Favorites").check();
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    expect(await rows()).toEqual([["★ Way to buy", "Funnels"]]);
    expect(page.url()).toContain("favorited=true");
    expect(await allFindings(page)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "an address of a project, page, dashboard or insight that is none says so",
  async () => {
    const page = await opened("overview");
    for (const [address, words] of [
      ["99999/explore", "There is no project 99999 here"],
      ["1/nonsense", "There is no page nonsense here"],
      ["1/dashboards/abc", "There is no dashboard abc here"],
      ["1/dashboards/999999", "Not found"],
      ["1/insights/nobody99", "Not found"],
      ["1/insights/<b>", "Not found"],
    ] as const) {
      await page.goto(`${desk.server.url}/#/${address}`);
      await page.getByRole("alert").filter({ hasText: words }).waitFor();
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
    await settled(page);
  },
  msMax,
);
