// Pictures of figures: values beside the pointer, bars beside each other, long names, many rows, files; each against
// what was sent.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, inBrowser, msMax, openConsole, settled } from "../support/console.ts";

cleanUpEach();

interface Sent {
  event: string;
  user: string;
  day: number;
}

const users = ["ann", "bob", "cid", "dot", "eve", "fay"];
const sent: Sent[] = users.flatMap((user, u) => [
  ...[1, 2, 3].filter((day) => (u + day) % 3 > 0).map((day) => ({ event: "seen", user, day })),
  ...[2, 3].filter((day) => (u + day) % 2 > 0).map((day) => ({ event: "tried", user, day })),
]);
const longName = `long event ${"x".repeat(150)}`;
const longValue = "v".repeat(5000);
/** What each did one after the other. */
const ways: Record<string, string[]> = {
  ann: ["open", "read", "buy"],
  bob: ["open", "read"],
  cid: ["open", "buy"],
  dot: ["open", "read"],
};
const waysDay = { date_from: "2026-02-20", date_to: "2026-02-20" };
const march = { date_from: "2026-03-01", date_to: "2026-03-03" };

const desk = openConsole(() => [
  ...sent.map(({ event, user, day }) => ({
    event,
    distinct_id: user,
    timestamp: `2026-03-0${day}T${event === "seen" ? 12 : 15}:00:00Z`,
    properties: { $set: { name: user } },
  })),
  ...[1, 2].map((day) => ({
    event: longName,
    distinct_id: "ann",
    timestamp: `2026-03-0${day}T13:00:00Z`,
    properties: { long: longValue },
  })),
  { event: "today", distinct_id: "ann", properties: {} },
  ...Object.entries(ways).flatMap(([distinct_id, events]) =>
    events.map((event, i) => ({ event, distinct_id, timestamp: `2026-02-20T10:0${i}:00Z`, properties: {} })),
  ),
]);

const count = (event: string, day?: number) =>
  sent.filter((one) => one.event === event && (day === undefined || one.day === day)).length;
const who = (event: string, day: number) =>
  [
    ...new Set(sent.filter((one) => one.event === event && one.day === day).map(({ user }) => user)),
  ].toSorted();

async function insightOf(query: object): Promise<string> {
  const { id } = await desk.api("POST", "insights/", { query: { dateRange: march, ...query } });
  return `insights/${String(id)}`;
}

const nodes = (...events: string[]) => events.map((event) => ({ kind: "EventsNode", event }));

/** Where the middle of a day is in the chart, in pixels of the page: bars leave half a step at either end. */
async function placeOf(page: Page, day: number, isOfBars: boolean): Promise<{ x: number; y: number }> {
  const over = page.locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = (await over.boundingBox())!;
  const share = isOfBars ? (day - 0.5) / 3 : (day - 1) / 2;
  return { x: box.x + share * box.width, y: box.y + box.height / 2 };
}

/** The persons of the page behind a figure. */
async function listed(page: Page): Promise<string[]> {
  await page.getByRole("heading", { name: "Persons behind a number" }).waitFor();
  await page.getByRole("group", { name: "The persons" }).waitFor();
  return (await page.locator("tbody tr td:first-child").allInnerTexts()).toSorted();
}

const explored = "explore?event=seen&event=tried&range=2026-03-01&to=2026-03-03";

inBrowser(
  "the values of a time stand beside the pointer, and at the first touch; a second touch opens its persons",
  async () => {
    const page = await desk.opened(explored);
    const at = await placeOf(page, 2, false);
    const shown = async (other: Page) =>
      (await other.locator(".values").innerText())
        .split(/\s*\n\s*/)
        .filter(Boolean)
        .toSorted();
    const expected = [
      "Mar 2, 2026",
      ...["seen", "tried"].flatMap((event) => [event, String(count(event, 2))]),
    ].toSorted();
    await page.mouse.move(at.x, at.y);
    await page.locator(".values").waitFor();
    expect(await shown(page)).toEqual(expected);
    await page.mouse.move(0, 0);
    await page.locator(".values").waitFor({ state: "detached" });

    const touched = await desk.opened(explored, { hasTouch: true, viewport: { width: 375, height: 800 } });
    const finger = await placeOf(touched, 2, false);
    await touched.touchscreen.tap(finger.x, finger.y);
    await touched.locator(".values").waitFor();
    expect(await shown(touched)).toEqual(expected);
    expect(touched.url()).toContain("explore");
    await touched.touchscreen.tap(finger.x, finger.y);
    const found = await listed(touched);
    expect([who("seen", 2), who("tried", 2)]).toContainEqual(found);
  },
  msMax,
);

inBrowser(
  "bars of what does not add up stand beside each other, each with its own persons",
  async () => {
    const series = nodes("seen", "tried").map((node) => ({ ...node, math: "dau" }));
    const address = await insightOf({
      kind: "TrendsQuery",
      series,
      trendsFilter: { display: "ActionsBar" },
    });
    const page = await desk.opened(address);
    for (const [event, by] of [
      ["seen", -20],
      ["tried", 20],
    ] as const) {
      const { x, y } = await placeOf(page, 3, true);
      await page.mouse.click(x + by, y);
      expect([event, await listed(page)]).toEqual([event, who(event, 3)]);
      await page.goBack();
      await page.locator(".u-over").waitFor();
    }
  },
  msMax,
);

async function fileOf(page: Page): Promise<string[][]> {
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const text = readFileSync(await (await saving).path(), "utf8");
  return text
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));
}

inBrowser(
  "funnels, retention, pies and tables are files as well, with every row of a long one",
  async () => {
    const both = users.filter((user) =>
      sent.some(
        (one) =>
          one.user === user &&
          one.event === "tried" &&
          sent.some((other) => other.user === user && other.event === "seen" && other.day <= one.day),
      ),
    );
    const seen = new Set(sent.filter(({ event }) => event === "seen").map(({ user }) => user));
    const funnel = await desk.opened(
      await insightOf({ kind: "FunnelsQuery", series: nodes("seen", "tried") }),
    );
    expect((await fileOf(funnel)).map((row) => row.slice(0, 3))).toEqual([
      ["Step", "Name", "Persons"],
      ["1", "seen", String(seen.size)],
      ["2", "tried", String(both.length)],
    ]);

    // Of one day, and of the day before: who tried after they had seen.
    const range = { dateRange: { date_from: "2026-03-03", date_to: "2026-03-03" } };
    const later = await desk.opened(
      await insightOf({ kind: "FunnelsQuery", series: nodes("seen", "tried"), ...range }),
    );
    const rate = (day: number) => {
      const own = who("seen", day);
      return (
        Math.round((own.filter((user) => who("tried", day).includes(user)).length / own.length) * 1000) / 10
      );
    };
    const points = Math.round((rate(3) - rate(2)) * 10) / 10;
    const sign = points > 0 ? "+" : points < 0 ? "−" : "±";
    await later
      .getByText(`${rate(3)} %`, { exact: true })
      .first()
      .waitFor();
    await later.getByText(`${sign}${Math.abs(points)} points (before: ${rate(2)} %)`).waitFor();

    const entity = { id: "seen", type: "events" };
    const retention = await desk.opened(
      await insightOf({
        kind: "RetentionQuery",
        dateRange: { date_to: march.date_to },
        retentionFilter: { totalIntervals: 3, targetEntity: entity, returningEntity: entity },
      }),
    );
    const stayed = (from: number, later: number) =>
      who("seen", from).filter((user) => who("seen", from + later).includes(user)).length;
    expect((await fileOf(retention)).slice(1).map((row) => row.slice(1))).toEqual(
      [1, 2, 3].map((day) => [0, 1, 2].map((later) => (day + later > 3 ? "" : String(stayed(day, later))))),
    );
    // Above the table, how many came back, of the rows that have a next day.
    const [began, back] = [0, 1].map((later) => stayed(1, later) + stayed(2, later));
    const share = Math.round((back! / began!) * 1000) / 10;
    await retention.getByText(`${share} %`, { exact: true }).first().waitFor();
    await retention.getByText(`${back} of ${began} came back in the next interval`).waitFor();
    expect(await retention.locator(".unfinished").count()).toBe(0);

    for (const display of ["ActionsPie", "ActionsTable", "BoldNumber"]) {
      const totals = await desk.opened(
        await insightOf({ kind: "TrendsQuery", series: nodes("seen", "tried"), trendsFilter: { display } }),
      );
      expect([display, ...(await fileOf(totals)).slice(1)]).toEqual([
        display,
        ...["seen", "tried"].map((event) => [event, String(count(event))]),
      ]);
    }

    const hours = await desk.opened("explore?event=seen&range=2026-02-01&to=2026-03-03&interval=hour");
    await hours.getByText("Numbers", { exact: true }).click();
    await hours.getByText("The first 500 of 744 rows; the file has all of them.").waitFor();
    const shown = hours.getByRole("group", { name: "The numbers of the lines" }).locator("tbody tr");
    expect(await shown.count()).toBe(501);
    expect(await shown.last().innerText()).toContain("Sum");
    const rows = await fileOf(hours);
    expect(rows).toHaveLength(1 + 31 * 24);
    expect(rows.reduce((sum, [, value]) => sum + (Number(value) || 0), 0)).toBe(count("seen"));
  },
  msMax,
);

inBrowser(
  "paths are a flow whose steps and bands have the numbers of the API, and each band opens its persons",
  async () => {
    const pathsFilter = { includeEventTypes: ["custom_event"] };
    const query = { kind: "PathsQuery", pathsFilter, dateRange: waysDay };
    const answer = await desk.api("POST", "query/", { query });
    const links = answer["results"] as { source: string; target: string; value: number }[];
    expect(links.length).toBeGreaterThan(2);
    const page = await desk.opened(await insightOf(query));
    const titles = await page.locator(".flow path title").allTextContents();
    const titleOf = (key: string) => key.replace("_", ". ");
    expect(titles).toEqual(
      links.map(({ source, target, value }) => `${titleOf(source)} → ${titleOf(target)}: ${value}`),
    );
    const sum = (key: string, end: "source" | "target") =>
      links.filter((link) => link[end] === key).reduce((all, { value }) => all + value, 0);
    const steps = [...new Set(links.flatMap(({ source, target }) => [source, target]))];
    expect((await page.locator(".flow > div").allInnerTexts()).toSorted()).toEqual(
      steps.map((key) => `${key.slice(2)}\n${Math.max(sum(key, "source"), sum(key, "target"))}`).toSorted(),
    );
    const [first] = links;
    await page.locator(".flow path").first().click();
    expect(await listed(page)).toHaveLength(first!.value);
  },
  msMax,
);

inBrowser(
  "retention has a curve of all rows, its points those of the table's last row",
  async () => {
    const entity = { id: "seen", type: "events" };
    const retentionFilter = { totalIntervals: 3, targetEntity: entity, returningEntity: entity };
    const page = await desk.opened(
      await insightOf({ kind: "RetentionQuery", dateRange: { date_to: march.date_to }, retentionFilter }),
    );
    const mean = async (column: number) =>
      (await page.locator(".cohort tfoot td").nth(column).innerText()).replace(" %", "");
    await page.getByRole("group", { name: "Values of one time" }).focus();
    const points: string[] = [];
    for (const _ of [1, 2]) {
      await page.keyboard.press("ArrowRight");
      points.push((await page.locator(".values").innerText()).replaceAll(/\s*\n\s*/g, " "));
    }
    expect(points).toEqual([`Day 1 All rows, % ${await mean(1)}`, `Day 2 All rows, % ${await mean(2)}`]);
    await page.locator(".u-legend").getByText("All rows, %").waitFor();
  },
  msMax,
);

inBrowser(
  "retention of today marks what is not over",
  async () => {
    const entity = { id: "today", type: "events" };
    const query = {
      kind: "RetentionQuery",
      dateRange: {},
      retentionFilter: { totalIntervals: 3, targetEntity: entity, returningEntity: entity },
    };
    const page = await desk.opened(await insightOf(query));
    await page.getByText("Dashed: in progress.").waitFor();
    expect(
      await page
        .locator(".cohort tr")
        .evaluateAll((rows) => rows.map((row) => row.innerHTML.includes("unfinished"))),
    ).toEqual([false, true, true, true, false]);
    expect(await page.locator(".unfinished").count()).toBe(3);
  },
  msMax,
);

inBrowser(
  "names longer than a line are cut, with the whole of them at hand",
  async () => {
    const broken = { series: nodes(longName), breakdownFilter: { breakdown: "long" } };
    const looks = {
      lines: { kind: "TrendsQuery", ...broken },
      pie: { kind: "TrendsQuery", ...broken, trendsFilter: { display: "ActionsPie" } },
      table: { kind: "TrendsQuery", ...broken, trendsFilter: { display: "ActionsTable" } },
      funnel: { kind: "FunnelsQuery", ...broken, series: nodes(longName, longName) },
    };
    for (const [name, query] of Object.entries(looks)) {
      const address = await insightOf(query);
      for (const width of [375, 1280]) {
        const page = await desk.opened(address, { viewport: { width, height: 800 } });
        const titles = await page
          .locator("[title]")
          .evaluateAll((all) => all.map((one) => one.getAttribute("title")));
        const isWhole = (title: string | null) => title?.includes(longValue.slice(0, 400)) === true;
        expect([name, width, titles.some(isWhole)]).toEqual([name, width, true]);
        expect(Number(await page.evaluate("document.documentElement.scrollHeight"))).toBeLessThan(3200);
        expect(
          Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth")),
        ).toBeLessThanOrEqual(0);
        await page.context().close();
      }
    }
  },
  msMax,
);

inBrowser(
  "pictures are whole at every width, in light and dark",
  async () => {
    const series = nodes("seen", "tried").map((node) => ({ ...node, math: "dau" }));
    const today = { date_from: "-6d", date_to: null };
    const queries = {
      beside: { kind: "TrendsQuery", series, trendsFilter: { display: "ActionsUnstackedBar" } },
      unfinished_bars: {
        kind: "TrendsQuery",
        series: nodes("today"),
        dateRange: today,
        trendsFilter: { display: "ActionsBar" },
      },
      unfinished_area: {
        kind: "TrendsQuery",
        series: nodes("today"),
        dateRange: today,
        trendsFilter: { display: "ActionsAreaGraph" },
      },
      lifecycle: { kind: "LifecycleQuery", series: nodes("seen") },
      stickiness: { kind: "StickinessQuery", series: nodes("seen") },
      paths: {
        kind: "PathsQuery",
        pathsFilter: { includeEventTypes: ["custom_event"] },
        dateRange: waysDay,
      },
      retention: { kind: "RetentionQuery", retentionFilter: { targetEntity: { id: "seen" } } },
      totals_table: { kind: "TrendsQuery", series, trendsFilter: { display: "ActionsTable" } },
    };
    const faults: string[] = [];
    for (const [name, query] of Object.entries(queries)) {
      const ready = async (page: Page) => {
        await settled(page);
        await page.locator(".u-over, .side-bars, .flow, td.number").first().waitFor();
      };
      faults.push(...(await faultsOfLooks(desk.browser, desk.server, name, await insightOf(query), ready)));
    }
    expect(faults).toEqual([]);
  },
  msMax,
);
