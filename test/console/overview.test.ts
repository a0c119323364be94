// The overview in a browser: its figures and rows against visits that are walked one by one here.

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, inBrowser, msMax, openConsole, signedIn } from "../support/console.ts";
import { post, projectKey, rested, until } from "../support/server.ts";

cleanUpEach();

interface Visit {
  user: string;
  start: string;
  /** Seconds after the start, and the page. */
  views: [seconds: number, pathname: string][];
  browser: string;
  zone: string;
  country?: string;
  referrer?: string;
  campaign?: string;
}

const berlin = { zone: "Europe/Berlin", country: "DE" };
const tokyo = { zone: "Asia/Tokyo" };
const visits: Visit[] = [
  { user: "ann", start: "2024-03-28T10:00:00Z", views: [[0, "/"]], browser: "Firefox", ...berlin },
  { user: "ann", start: "2024-03-30T10:00:00Z", views: [[0, "/"]], browser: "Firefox", ...berlin },
  {
    user: "bob",
    start: "2024-03-30T11:00:00Z",
    views: [
      [0, "/"],
      [40, "/tea"],
      [60, "/cup"],
    ],
    browser: "Chrome",
    referrer: "news.example",
    ...tokyo,
  },
  {
    user: "cid",
    start: "2024-03-30T12:00:00Z",
    views: [
      [0, "/tea"],
      [20, "/cup"],
    ],
    browser: "Chrome",
    campaign: "spring",
    referrer: "ads.example",
    ...tokyo,
  },
  { user: "ann", start: "2024-03-31T12:00:00Z", views: [[0, "/tea"]], browser: "Firefox", ...berlin },
];

const desk = openConsole(() =>
  visits.flatMap((visit, i) =>
    visit.views.map(([seconds, path]) => ({
      event: "$pageview",
      distinct_id: visit.user,
      timestamp: new Date(Date.parse(visit.start) + seconds * 1000).toISOString(),
      properties: {
        $session_id: `018e8a2c-0000-7000-8000-00000000000${i}`,
        $pathname: path,
        $current_url: `https://shop.example${path}${visit.campaign ? `?utm_campaign=${visit.campaign}` : ""}`,
        $browser: visit.browser,
        $os: "Linux",
        $device_type: "Desktop",
        $timezone: visit.zone,
        $referring_domain: visit.referrer ?? "$direct",
        ...(visit.country && { $geoip_country_code: visit.country }),
        ...(visit.campaign && { utm_campaign: visit.campaign }),
      },
    })),
  ),
);

const range = "range=2024-03-30&to=2024-03-31";
const current = visits.filter(({ start }) => start >= "2024-03-30");
const before = visits.filter(({ start }) => start < "2024-03-30");

/** The first words of each figure, as the page writes them. */
function figuresOf(of: readonly Visit[]): Record<string, string> {
  const mean = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const rate = mean(of.map(({ views }) => (views.length === 1 ? 100 : 0)));
  return {
    Visitors: String(new Set(of.map(({ user }) => user)).size),
    "Page views": String(of.reduce((sum, { views }) => sum + views.length, 0)),
    Sessions: String(of.length),
    "Time of a session": `${Math.round(mean(of.map(({ views }) => views.at(-1)![0])))} s`,
    "Bounce rate": `${Math.round(rate * 10) / 10} %`,
  };
}

const shownFigures = async (page: Page) =>
  Object.fromEntries(
    await page
      .locator("dl.figures > div")
      .evaluateAll((all) =>
        all.map((one) => ["dt", ".big"].map((part) => one.querySelector(part)!.textContent!)),
      ),
  ) as Record<string, string>;

/** Visitors and views of each value, the most visitors first. */
function rowsOf(valuesOf: (visit: Visit) => string[]): string[] {
  const values = [...new Set(current.flatMap(valuesOf))].toSorted();
  return values
    .map((value) => {
      const own = current.filter((visit) => valuesOf(visit).includes(value));
      const views = own.flatMap(valuesOf).filter((one) => one === value).length;
      return { value, visitors: new Set(own.map(({ user }) => user)).size, views };
    })
    .toSorted((a, b) => b.visitors - a.visitors || b.views - a.views)
    .map(({ value, visitors, views }) => `${value} ${visitors} · ${views}`);
}

const list = (page: Page, name: string) => page.getByRole("list", { name, exact: true });
const shownRows = async (page: Page, name: string) =>
  (await list(page, name).getByRole("listitem").allInnerTexts()).map((text) => text.replace("\n", " "));

async function opened(address: string): Promise<Page> {
  const page = await desk.opened(address);
  await page.locator("dl.figures").waitFor();
  return page;
}

inBrowser(
  "figures are those of the visits, with the change against the time before",
  async () => {
    const pings = ["x", "y"].map((distinct_id) => ({ event: "ping", distinct_id, properties: {} }));
    await post(desk.server, "/batch/", { api_key: projectKey, batch: pings });
    await rested(desk.server);
    const page = await opened(`overview?${range}`);
    expect(await shownFigures(page)).toEqual(figuresOf(current));
    const [now, then] = [current, before].map((of) => new Set(of.map(({ user }) => user)).size);
    const change = Math.round((100 * (now! - then!)) / then!);
    await page.getByText(`+${change} % before: ${then}`).waitFor();
    await page.getByText("2 persons in the last 5 minutes").waitFor();
  },
  msMax,
);

inBrowser(
  "a figure that is pressed is drawn day by day, and the persons behind it are listed",
  async () => {
    const page = await opened(`overview?${range}`);
    const perDay = (of: (some: readonly Visit[]) => number) =>
      ["2024-03-30", "2024-03-31"].map((day) =>
        String(of(current.filter(({ start }) => start.startsWith(day)))),
      );
    const counts: Record<string, (some: readonly Visit[]) => number> = {
      "Page views": (some) => some.reduce((sum, { views }) => sum + views.length, 0),
      Sessions: (some) => some.length,
      Visitors: (some) => new Set(some.map(({ user }) => user)).size,
    };
    const rows = page.locator("details.numbers tbody tr");
    const drawn = async () =>
      await rows.evaluateAll((all) => all.map((row) => row.children[1]?.textContent ?? "").slice(0, 2));
    for (const [figure, of] of Object.entries(counts)) {
      await page.getByRole("button", { name: figure, exact: true }).click();
      await until(async () => JSON.stringify(await drawn()) === JSON.stringify(perDay(of)));
      await page.getByRole("button", { name: figure, exact: true, pressed: true }).waitFor();
    }
    await page.getByRole("link", { name: "The persons" }).click();
    await page.getByRole("heading", { name: "Visitors, 2024-03-30 to 2024-03-31" }).waitFor();
    const users = [...new Set(current.map(({ user }) => user))].toSorted();
    await page.getByText(`${users.length} persons`, { exact: true }).waitFor();
    expect(
      (await page.locator("tbody td:first-child").allInnerTexts()).map((name) => name.slice(0, 3)).toSorted(),
    ).toEqual(users);
  },
  msMax,
);

inBrowser(
  "rows are those of the visits; a country that a time zone tells says so",
  async () => {
    const page = await opened("overview?range=dStart");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${desk.server.url}/#/1/overview?${range}`);
    for (const name of ["Referrers", "Pages", "Browsers", "Countries"]) await list(page, name).waitFor();
    expect(await shownRows(page, "Pages")).toEqual(rowsOf(({ views }) => views.map(([, path]) => path)));
    expect(await shownRows(page, "Browsers")).toEqual(
      rowsOf(({ views, browser: own }) => views.map(() => own)),
    );
    const sourceOf = ({ referrer = "Direct" }: Visit) => referrer;
    expect((await shownRows(page, "Referrers")).toSorted()).toEqual(
      rowsOf((visit) => visit.views.map(() => sourceOf(visit))).toSorted(),
    );
    const placeOf = ({ country, zone }: Visit) => (country ? "Germany" : `Japan (by time zone ${zone})`);
    expect(await shownRows(page, "Countries")).toEqual(
      rowsOf((visit) => visit.views.map(() => placeOf(visit))),
    );
    // A badge stands before each: of this page alone, nothing is asked of the sites.
    const badgesOf = async (name: string) =>
      await list(page, name)
        .locator(".badge")
        .evaluateAll((all) => all.map((badge) => badge.getAttribute("data-badge")));
    expect(await badgesOf("Countries")).toEqual(
      (await shownRows(page, "Countries")).map((row) => (row.startsWith("Germany") ? "DE" : "JP")),
    );
    expect(await badgesOf("Referrers")).toEqual(
      (await shownRows(page, "Referrers")).map((row) =>
        row.startsWith("Direct") ? "→" : row[0]!.toUpperCase(),
      ),
    );
    expect(asked.filter((url) => !url.startsWith(desk.server.url))).toEqual([]);
    await page.getByRole("button", { name: "Entry pages" }).click();
    await list(page, "Entry pages").waitFor();
    expect((await shownRows(page, "Entry pages")).toSorted()).toEqual(
      rowsOf(({ views }) => views.map(() => views[0]![1])).toSorted(),
    );
  },
  msMax,
);

inBrowser(
  "each row is a filter, which the address has and a press takes away",
  async () => {
    const page = await opened(`overview?${range}`);
    const filtered = async (row: string, of: readonly Visit[]) => {
      await page.getByRole("link", { name: row, exact: true }).click();
      const chip = page.locator(".chip", { hasText: row });
      await chip.waitFor();
      expect(page.url()).toContain("filter=");
      const { page: other } = await signedIn(desk.browser, desk.server, page.url().split("#/1/")[1]!);
      await other.locator("dl.figures:not([aria-busy])").waitFor();
      expect([row, await shownFigures(other)]).toEqual([row, figuresOf(of)]);
      await chip.click();
      await chip.waitFor({ state: "detached" });
      expect(page.url()).not.toContain("filter=");
    };
    await filtered(
      "Japan (by time zone Asia/Tokyo)",
      current.filter(({ zone }) => zone === "Asia/Tokyo"),
    );
    await filtered(
      "Firefox",
      current.filter((visit) => visit.browser === "Firefox"),
    );
    await filtered(
      "ads.example",
      current.filter(({ referrer }) => referrer === "ads.example"),
    );
    await page.getByLabel("Time range").selectOption({ label: "30 days" });
    await page.waitForURL(/range=-30d/);
    await page.goBack();
    await page.waitForURL(/range=2024-03-30/);
    expect(await page.getByLabel("From", { exact: true }).inputValue()).toBe("2024-03-30");
  },
  msMax,
);

inBrowser(
  "a filter is typed: what a page is not, a part of its address, and one of several",
  async () => {
    const page = await opened(`overview?${range}`);
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    const add = async (operator: string, value: string, chip: string) => {
      await page.getByLabel("Must").selectOption({ label: operator });
      await page.getByLabel("Value", { exact: true }).fill(value);
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.locator(".chip", { hasText: chip }).waitFor();
    };
    const matching = (keeps: (path: string) => boolean) =>
      rowsOf(({ views }) => views.map(([, path]) => path).filter(keeps));
    const shows = async (keeps: (path: string) => boolean) =>
      await until(
        async () => JSON.stringify(await shownRows(page, "Pages")) === JSON.stringify(matching(keeps)),
      );
    await add("is not", "/tea", "Pages is not /tea");
    await shows((path) => path !== "/tea");
    await add("is not", "/cup", "Pages is not /tea or /cup");
    await shows((path) => path === "/");
    await page.locator(".chip").click();
    await add("contains", "u", "Pages contains u");
    await shows((path) => path.includes("u"));
    await page.locator(".chip").click();
    await add("is", "/tea", "Pages: /tea");
    await add("is", "/cup", "Pages: /tea or /cup");
    await shows((path) => path !== "/");
    // What is loaded again is pale until then.
    await until(async () => (await page.locator('.old, [aria-busy="true"]').count()) === 0);
    expect(await allFindings(page)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "it is the first page once there are events; until then that is how to send them",
  async () => {
    const page = await opened("");
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("Overview");
    const { body } = await ask(desk.server, "POST", "/api/projects/", { name: "Empty" });
    await page.goto(`${desk.server.url}/#/${String(body["id"])}/`);
    await page.reload();
    await page.getByRole("heading", { name: "Send events" }).waitFor();
  },
  msMax,
);

inBrowser(
  "it is whole at every width, in light and dark, with and without visits",
  async () => {
    const ready = async (page: Page) => {
      await page.locator("dl.figures").waitFor();
      await page.locator("main .side-bars, main .card p.quiet").nth(4).waitFor();
    };
    const filter = "filter=Browser:Chrome&filter=Page:/tea";
    expect([
      ...(await faultsOfLooks(desk.browser, desk.server, "overview", `overview?${range}`, ready)),
      ...(await faultsOfLooks(
        desk.browser,
        desk.server,
        "overview_filtered",
        `overview?${range}&${filter}`,
        ready,
      )),
      ...(await faultsOfLooks(desk.browser, desk.server, "overview_empty", "overview?range=dStart", ready)),
    ]).toEqual([]);
  },
  msMax,
);
