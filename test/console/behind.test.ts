// Behind numbers, persons: each opens those that a computation of our own finds, and from there what they did.

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, inBrowser, msMax, openConsole, settled, signedIn } from "../support/console.ts";

cleanUpEach();

interface Sent {
  event: string;
  user: string;
  day: number;
  plan: string;
}

/** Sixty visitors; each third tries, each sixth buys, on later days. */
const users = Array.from({ length: 60 }, (_, i) => `user${String(i).padStart(2, "0")}`);
const sent: Sent[] = users.flatMap((user, i) => {
  const plan = i % 4 === 0 ? "gold" : "free";
  const of = (event: string, day: number): Sent => ({ event, user, day, plan });
  return [
    of("seen", 1),
    ...(i % 2 === 0 ? [of("seen", 2), of("seen", 2)] : []),
    ...(i % 3 === 0 ? [of("tried", 3)] : []),
    ...(i % 6 === 0 ? [of("bought", 4)] : []),
  ];
});

/** Who did what, by our own walk over what was sent. */
function who(condition: (one: Sent) => boolean): string[] {
  return [...new Set(sent.filter(condition).map(({ user }) => user))].toSorted();
}

const desk = openConsole(() =>
  sent.map(({ event, user, day, plan }) => ({
    event,
    distinct_id: user,
    timestamp: `2026-03-0${day}T12:00:00Z`,
    properties: { plan, $device_type: "Mobile", $timezone: "Europe/Oslo", $set: { name: user } },
  })),
);
const { api, opened } = desk;

const march = { date_from: "2026-03-01", date_to: "2026-03-05" };

async function insightOf(query: object): Promise<number> {
  const source = { dateRange: march, ...query };
  return Number((await api("POST", "insights/", { query: source }))["id"]);
}

/** The persons that the opened page lists, of all its pages. */
async function listed(page: Page): Promise<string[]> {
  await page.getByRole("heading", { name: "Persons behind a number" }).waitFor();
  const names: string[] = [];
  for (;;) {
    await page.locator('[role=group][aria-label="The persons"], [role=alert]').first().waitFor();
    expect(await page.getByRole("alert").allInnerTexts()).toEqual([]);
    names.push(...(await page.locator("tbody tr td:first-child").allInnerTexts()));
    const next = page.getByRole("button", { name: "Next" });
    if ((await next.count()) === 0 || (await next.isDisabled())) return names.toSorted();
    await next.click();
    await page.getByText(`${names.length + 1} – `).waitFor();
    await page.locator(".old").waitFor({ state: "detached" });
  }
}

inBrowser(
  "a number of a trend opens its persons, by a click, by a key and in the table, and the address keeps them",
  async () => {
    const page = await opened("explore?event=seen&range=2026-03-01&to=2026-03-05");
    const table = page.getByRole("group", { name: "The numbers of the lines" });
    const cell = (day: number) => table.locator("tbody tr").nth(day).getByRole("link");
    // 60 events on the first day, 60 of 30 persons on the second, none on the fifth.
    expect(await cell(1).innerText()).toBe(
      String(sent.filter(({ day, event }) => day === 2 && event === "seen").length),
    );
    expect(await cell(4).count()).toBe(0);
    await cell(1).click();
    await page.getByText("30 persons", { exact: true }).waitFor();
    expect(await listed(page)).toEqual(who(({ day }) => day === 2));
    expect(await page.getByRole("heading", { level: 2 }).innerText()).toBe("seen, Mar 2, 2026");
    await page.reload();
    await page.getByText("30 persons", { exact: true }).waitFor();

    await page.goBack();
    // A pointer over the chart would point at another time.
    await page.mouse.move(0, 0);
    const chart = page.getByRole("group", { name: /Enter: the persons/ });
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("status").filter({ hasText: "Mar 1, 2026" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("60 persons", { exact: true }).waitFor();
    await page.getByText("and 10 more").waitFor();
    await page.getByRole("cell", { name: "Mobile" }).first().waitFor();
    expect(await page.locator("tbody tr").first().locator("td").allInnerTexts()).toEqual(
      expect.arrayContaining(["Norway", "Mobile", "none"]),
    );
    expect(await listed(page)).toEqual(who(({ day }) => day === 1));
    await page.goBack();
    await page.getByText("and 10 more").waitFor();

    await page.goBack();
    const over = page.locator(".u-over");
    const box = (await over.boundingBox())!;
    await over.click({ position: { x: box.width / 4, y: box.height / 2 } });
    await page.getByText("30 persons", { exact: true }).waitFor();
  },
  msMax,
);

inBrowser(
  "lines of a breakdown, steps and drop-offs of funnels, rows of retention, lifecycles and stickiness have persons",
  async () => {
    const series = [{ kind: "EventsNode", event: "seen", math: "dau" }];
    const trend = await insightOf({
      kind: "TrendsQuery",
      series,
      breakdownFilter: { breakdown: "plan" },
    });
    const page = await opened(`insights/${trend}`);
    const open = async (address: string, group: string, row: number, column: number) => {
      await page.goto(`${desk.server.url}/#/1/${address}`);
      const cell = page
        .getByRole("group", { name: group })
        .locator("tbody tr")
        .nth(row)
        .locator("td")
        .nth(column);
      const text = (await cell.getByRole("link").innerText()).replace("-", "");
      await cell.getByRole("link").click();
      const found = await listed(page);
      expect([address, row, column, String(found.length)]).toEqual([address, row, column, text]);
      return found;
    };
    const lines = "The numbers of the lines";
    // Of two lines, the one with more persons comes first.
    expect(await open(`insights/${trend}`, lines, 1, 2)).toEqual(
      who(({ day, plan }) => day === 2 && plan === "gold"),
    );
    const funnel = await insightOf({
      kind: "FunnelsQuery",
      series: ["seen", "tried", "bought"].map((event) => ({ kind: "EventsNode", event })),
    });
    const steps = "The steps of the funnel";
    const tried = who(({ event }) => event === "tried");
    const bought = who(({ event }) => event === "bought");
    expect(await open(`insights/${funnel}`, steps, 1, 1)).toEqual(tried);
    expect(await open(`insights/${funnel}`, steps, 2, 2)).toEqual(
      tried.filter((one) => !bought.includes(one)),
    );
    const retention = await insightOf({
      kind: "RetentionQuery",
      dateRange: { date_to: "2026-03-04" },
      retentionFilter: { totalIntervals: 4, targetEntity: { id: "seen" }, returningEntity: { id: "tried" } },
    });
    expect(await open(`insights/${retention}`, "Retention", 1, 0)).toEqual(who(({ day }) => day === 2));
    // Of those who came on the second day, who tried on the day after.
    const second = who(({ day }) => day === 2);
    expect(await open(`insights/${retention}`, "Retention", 1, 1)).toEqual(
      second.filter((one) => tried.includes(one)),
    );
    const lifecycle = await insightOf({
      kind: "LifecycleQuery",
      series: [{ kind: "EventsNode", event: "seen" }],
    });
    await page.goto(`${desk.server.url}/#/1/insights/${lifecycle}`);
    const heads = await page.getByRole("group", { name: lines }).locator("th").allInnerTexts();
    const dormant = heads.findIndex((head) => head.includes("dormant"));
    expect(await open(`insights/${lifecycle}`, lines, 1, dormant)).toEqual(
      users.filter((one) => !second.includes(one)),
    );
    const stickiness = await insightOf({
      kind: "StickinessQuery",
      series: [{ kind: "EventsNode", event: "seen" }],
    });
    expect(await open(`insights/${stickiness}`, lines, 1, 1)).toEqual(second);
    const bold = await insightOf({ kind: "TrendsQuery", series, trendsFilter: { display: "BoldNumber" } });
    await page.goto(`${desk.server.url}/#/1/insights/${bold}`);
    await page.locator(".bold-number a").click();
    expect(await listed(page)).toEqual(users);
  },
  msMax,
);

inBrowser(
  "averages and formulas open nothing, and a key that may not see persons is told so",
  async () => {
    const average = [{ kind: "EventsNode", event: "seen", math: "avg", math_property: "plan" }];
    const events = [{ kind: "EventsNode", event: "seen" }];
    for (const more of [{ series: average }, { series: events, trendsFilter: { formula: "A * 2" } }]) {
      const page = await opened(`insights/${await insightOf({ kind: "TrendsQuery", ...more })}`);
      await page.getByRole("group", { name: "The numbers of the lines" }).waitFor();
      expect(await page.locator("a.behind, .picks").count()).toBe(0);
    }
    const body = { label: "no persons", scopes: ["query:read", "project:read"] };
    const { body: key } = await ask(desk.server, "POST", "/api/personal_api_keys/", body);
    const address = "explore?event=seen&range=2026-03-01&to=2026-03-05";
    const { page } = await signedIn(desk.browser, desk.server, address, String(key["value"]));
    await page.locator("a.behind").first().click();
    await page.getByText("a key needs the scope person:read").waitFor();
  },
  msMax,
);

inBrowser(
  "rows of the question before open nothing while the next is asked",
  async () => {
    const page = await opened("persons");
    const first = page.locator("tbody a").first();
    await first.waitFor();
    const other = await first.innerText();
    const wanted = other === "user00" ? "user01" : "user00";
    const release = Promise.withResolvers<void>();
    await page.route(/persons\/\?.*search=/, async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.getByLabel("Id, e-mail address or name").fill(wanted);
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator(".old").waitFor();
    const address = page.url();
    await page.getByRole("link", { name: other }).click();
    await page.getByRole("link", { name: other }).press("Enter");
    expect(page.url()).toBe(address);
    release.resolve();
    await page.locator(".old").waitFor({ state: "detached" });
    await page.getByRole("link", { name: wanted }).click();
    await page.getByRole("heading", { name: wanted }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: wanted }).waitFor();
    expect(await page.getByLabel("Id, e-mail address or name").inputValue()).toBe(wanted);
    expect(await page.getByRole("link", { name: other }).count()).toBe(0);
    await page.goBack();
    await page.getByRole("link", { name: other }).waitFor();
    expect(await page.getByLabel("Id, e-mail address or name").inputValue()).toBe("");
  },
  msMax,
);

inBrowser(
  "persons are filtered by their properties, and the address keeps the filters",
  async () => {
    const page = await opened("persons");
    await page.getByText("1 – 50 of 60").waitFor();
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Filtered property").fill("name");
    await page.getByLabel("Must").selectOption({ label: "contains" });
    await page.getByLabel("Value", { exact: true }).fill("user5");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/where=/);
    const names = async () => (await page.locator("tbody tr td:first-child").allInnerTexts()).toSorted();
    const wanted = users.filter((user) => user.includes("user5"));
    await page.locator(".old").waitFor({ state: "detached" });
    await page.locator("tbody tr").nth(wanted.length).waitFor({ state: "detached" });
    expect(await names()).toEqual(wanted);
    await page.reload();
    await page.locator("tbody tr").first().waitFor();
    expect([await names(), await page.getByLabel("Value", { exact: true }).inputValue()]).toEqual([
      wanted,
      "user5",
    ]);
  },
  msMax,
);

inBrowser(
  "the focus stays on the button of the last page, and pages that are left are no warnings",
  async () => {
    const page = await opened("persons");
    await page.getByRole("button", { name: "Next" }).press("Enter");
    await page.getByText("51 – 60 of 60").waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Next");
    for (let n = 0; n < 5; n++) {
      for (const address of ["explore?event=seen", "overview", "persons", "recordings"]) {
        await page.goto(`${desk.server.url}/#/1/${address}`);
      }
    }
    await page.close();
    const { page: next } = await signedIn(desk.browser, desk.server, "persons");
    await settled(next);
    expect(desk.server.logged()).not.toContain("unavailable");
  },
  msMax,
);

inBrowser(
  "the persons behind a number look right at each width, light and dark",
  async () => {
    const source = {
      kind: "InsightActorsQuery",
      source: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "seen" }], dateRange: march },
      day: "2026-03-01",
      series: 0,
    };
    const query = new URLSearchParams({ title: "seen, 2026-03-01", of: JSON.stringify({ source }) });
    const faults = await faultsOfLooks(
      desk.browser,
      desk.server,
      "behind",
      `behind?${query}`,
      async (page) => {
        await page.getByText("and 10 more").waitFor();
      },
    );
    expect(faults).toEqual([]);
  },
  msMax,
);
