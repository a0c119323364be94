// What pages say is so: their texts against figures that are computed here, of the events that were sent.

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { answered, sentEvents, testAccountFilters, zone } from "../support/client_bodies.ts";
import { faultsOfLooks, inBrowser, msMax, openConsole, settled } from "../support/console.ts";
import { post, rested, until } from "../support/server.ts";
import { comparable, expectedFigures, figuresOf } from "../support/shown_figures.ts";

cleanUpEach();

interface Sent {
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

const users = ["ann", "bob", "eve"];
/** Visits of ten days of March, each user with a rhythm of their own. */
const visits: Sent[] = users.flatMap((distinct_id, u) =>
  Array.from({ length: 10 }, (_, day) => ({ day }))
    .filter(({ day }) => day >= u * 2 && day % (u + 1) === 0)
    .map(({ day }) => ({
      event: "visit",
      distinct_id,
      timestamp: `2026-03-${String(day + 1).padStart(2, "0")}T12:00:00Z`,
      properties: { load_ms: 100 * (day + 1) + u, plan: ["gold", "", null][u] },
    })),
);
/** Of one person, more than any page lists. */
const busyDays = 40;
const busy: Sent[] = Array.from({ length: 336 }, (_, i) => ({
  event: "tick",
  distinct_id: "busy",
  timestamp: new Date(Date.UTC(2026, 1, 1 + (i % busyDays), 8, 0, i)).toISOString(),
  properties: {},
}));
const colours: Sent[] = Array.from({ length: 14 }, (_, i) => ({
  event: "coloured",
  distinct_id: "ann",
  timestamp: "2026-03-02T10:00:00Z",
  properties: { colour: `c${i}` },
}));
const old: Sent = { event: "old", distinct_id: "ann", timestamp: "1995-06-15T12:00:00Z", properties: {} };
/** Half past one, twice: before and after clocks of New York went back. */
const twice: Sent[] = ["05:30", "06:30", "06:40"].map((time) => ({
  event: "late",
  distinct_id: "ann",
  timestamp: `2026-11-01T${time}:00Z`,
  properties: {},
}));

const desk = openConsole(() => [...visits, ...busy, ...colours, old, ...twice]);
const { api, opened } = desk;

async function insightOf(query: object): Promise<number> {
  const { id } = await api("POST", "insights/", { query: { kind: "InsightVizNode", source: query } });
  return Number(id);
}

const march = { date_from: "2026-03-01", date_to: "2026-03-10" };
const trendOf = (series: object[], more: object = {}) => ({
  kind: "TrendsQuery",
  series: series.map((one) => ({ kind: "EventsNode", event: "visit", ...one })),
  dateRange: march,
  ...more,
});

/** The cells of a table, row by row, closed ones as well. */
const rowsOf = async (page: Page, name: string) =>
  await page
    .locator(`[role=group][aria-label="${name}"] tbody tr`)
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));

const dayOf = ({ timestamp }: Sent) => Number(timestamp.slice(8, 10)) - 1;

inBrowser(
  "retention says which kind it is, and each kind shows its own figures",
  async () => {
    const days = 4;
    const did = new Map(
      users.map((user) => [user, visits.filter((one) => one.distinct_id === user).map(dayOf)]),
    );
    const own = (isFirst: boolean) =>
      Array.from({ length: days }, (_, start) =>
        Array.from({ length: days - start }, (__, later) => {
          const cohort = users.filter((user) => {
            const all = did.get(user)!;
            return isFirst ? Math.min(...all) === start : all.includes(start);
          });
          return cohort.filter((user) => did.get(user)!.includes(start + later)).length;
        }),
      );
    for (const [retentionType, head, isFirst] of [
      ["retention_first_time", "First time in", true],
      ["retention_recurring", "Active in", false],
    ] as const) {
      const entity = { id: "visit", type: "events" };
      const id = await insightOf({
        kind: "RetentionQuery",
        dateRange: { date_to: "2026-03-04" },
        retentionFilter: {
          ...(isFirst && { retentionType }),
          period: "Day",
          totalIntervals: days,
          targetEntity: entity,
          returningEntity: entity,
        },
      });
      const page = await opened(`insights/${id}`);
      expect(await page.getByRole("columnheader").first().innerText()).toBe(head);
      // A cell is a number and, beneath it, its share.
      const counts = await page
        .locator(".cohort tbody tr")
        .evaluateAll((rows) =>
          rows.map((row) =>
            [...row.querySelectorAll("td")].flatMap(({ firstChild }) =>
              firstChild ? [Number(firstChild.textContent)] : [],
            ),
          ),
        );
      expect(counts).toEqual(own(isFirst));
    }
    expect(own(true)).not.toEqual(own(false));
    // The form offers both, and the address has the choice.
    const page = await opened("explore?kind=retention&event=visit");
    await page.getByLabel("Who is counted").selectOption({ label: "Only their first time ever" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("for the first time ever").waitFor();
    expect(page.url()).toContain("first=true");
  },
  msMax,
);

inBrowser(
  "a number, a pie, a table and a map show the total that was computed",
  async () => {
    const total = String(visits.length);
    for (const display of ["BoldNumber", "ActionsPie", "ActionsTable", "WorldMap"]) {
      const id = await insightOf(trendOf([{}], { trendsFilter: { display } }));
      const page = await opened(`insights/${id}`);
      const shown = await page.locator(".bold-number, .side-bars b, td.number").allInnerTexts();
      expect([display, shown.map((text) => text.split(" · ")[0])]).toEqual([display, [total]]);
    }
  },
  msMax,
);

inBrowser(
  "a sum stands under what adds up, and under nothing else",
  async () => {
    const loads = visits.map(({ properties }) => Number(properties["load_ms"]));
    const of = (math: string) => ({ math, math_property: "load_ms" });
    const id = await insightOf(trendOf([{}, of("sum"), { math: "dau" }, of("avg"), of("p95"), of("min")]));
    const page = await opened(`insights/${id}`);
    const rows = await rowsOf(page, "The numbers of the lines");
    const sum = loads.reduce((a, b) => a + b);
    expect(rows.at(-1)).toEqual(["Sum", String(visits.length), sum.toLocaleString("en"), "", "", "", ""]);
    const mean = (day: number) => {
      const own = visits.filter((one) => dayOf(one) === day).map((one) => Number(one.properties["load_ms"]));
      return own.length > 0 ? own.reduce((a, b) => a + b) / own.length : 0;
    };
    const means = Array.from({ length: 10 }, (_, day) => Math.round(mean(day)).toLocaleString("en"));
    expect(rows.slice(0, 10).map((row) => row[4])).toEqual(means);
    for (const query of [
      trendOf([{ math: "dau" }]),
      trendOf([{}], { trendsFilter: { display: "ActionsLineGraphCumulative" } }),
    ]) {
      const other = await opened(`insights/${await insightOf(query)}`);
      const last = (await rowsOf(other, "The numbers of the lines")).at(-1)!;
      expect(last[0]).toBe("Mar 10, 2026");
    }
  },
  msMax,
);

inBrowser(
  "insights in the words of PostHog's own app show on their pages what is computed apart",
  async () => {
    const settings = { name: "Bodies", timezone: zone, test_account_filters: testAccountFilters };
    const { id, api_token } = (await ask(desk.server, "POST", "/api/projects/", settings)).body;
    const project = Number(id);
    const send = async () => await post(desk.server, "/batch/", { api_key: api_token, batch: sentEvents });
    // Captures know a new project a moment later.
    await until(async () => (await send()).status === 200);
    await rested(desk.server);
    const page = await opened("overview");
    const shown: unknown[] = [];
    const expected: unknown[] = [];
    for (const body of answered) {
      const { name, query } = body;
      const insight = await api("POST", "insights/", { name, query }, project);
      await page.goto(`${desk.server.url}/#/${project}/insights/${String(insight["id"])}`);
      const card = page.locator("section.card").first();
      // On a busy machine a query may have waited for too long, and its page says so.
      await until(async () => {
        await page.getByRole("heading", { name, exact: true }).waitFor({ timeout: msMax });
        if ((await card.locator(".notice.bad").count()) === 0) return true;
        await page.reload();
        return false;
      });
      const [own, apart] = comparable(await figuresOf(card, body), expectedFigures(body));
      shown.push([name, own]);
      expected.push([name, apart]);
    }
    expect(shown).toEqual(expected);
    expect(shown).toHaveLength(62);
  },
  msMax,
);

inBrowser(
  "what was edited and not shown is saved",
  async () => {
    const id = await insightOf({ kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "visit" }] });
    const page = await opened(`insights/${id}`);
    await page.getByRole("link", { name: "Edit query" }).click();
    const event = page.getByLabel("Event", { exact: true });
    await event.fill("coloured");
    await page.getByText("changed since it was shown").waitFor();
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("heading", { name: /coloured/ }).waitFor();
    expect((await api("GET", `insights/${id}/`))["query"]).toMatchObject({
      source: { series: [{ event: "coloured" }] },
    });
    // Another kind of question keeps what was edited, and the focus stays where it was.
    await page.goto(`${desk.server.url}/#/1/explore?event=visit`);
    await settled(page);
    await event.fill("tick");
    await page.getByRole("button", { name: "Funnel" }).click();
    expect(await page.getByLabel("Step 1").inputValue()).toBe("tick");
    await page.getByLabel("Step 1").fill("visit");
    await page.keyboard.press("Enter");
    await page.getByRole("columnheader", { name: "Persons" }).waitFor();
    expect(await page.evaluate("document.activeElement.value")).toBe("visit");
  },
  msMax,
);

async function personOf(distinct_id: string): Promise<string> {
  const { results } = await api("GET", `persons/?distinct_id=${distinct_id}`);
  return (results as { uuid: string }[])[0]!.uuid;
}

inBrowser(
  "a person's events are all counted, day by day, and listed page by page",
  async () => {
    const page = await opened(`persons/${await personOf("busy")}`);
    await page.getByText(`${busy.length} events on ${busyDays} days.`).waitFor();
    const perDay = new Map<string, number>();
    for (const { timestamp } of busy) {
      const day = timestamp.slice(0, 10);
      perDay.set(day, (perDay.get(day) ?? 0) + 1);
    }
    const shown = new Map((await rowsOf(page, "Rows")).map(([day, count]) => [day, Number(count)]));
    expect(shown).toEqual(perDay);
    await page.getByText(`1 – 50 of ${busy.length}`).waitFor();
  },
  msMax,
);

inBrowser(
  "an empty text and a missing one are one row, called none",
  async () => {
    const page = await opened(
      `insights/${await insightOf(trendOf([{}], { breakdownFilter: { breakdown: "plan" } }))}`,
    );
    const rows = await rowsOf(page, "The numbers of the lines");
    const heads = await page
      .getByRole("group", { name: "The numbers of the lines" })
      .getByRole("columnheader")
      .allInnerTexts();
    const of = (is: (plan: unknown) => boolean) =>
      String(visits.filter(({ properties }) => is(properties["plan"])).length);
    expect(Object.fromEntries(heads.map((head, i) => [head, rows.at(-1)![i]]))).toEqual({
      Time: "Sum",
      "visit · gold": of((plan) => plan === "gold"),
      "visit · (none)": of((plan) => !plan),
    });
  },
  msMax,
);

const byColour = trendOf([{ event: "coloured" }], { breakdownFilter: { breakdown: "colour" } });

inBrowser(
  "no two lines of a chart have one colour, and their values are named by keyboard",
  async () => {
    const page = await opened(`insights/${await insightOf(byColour)}`);
    const marks = await page
      .locator(".u-legend .u-series:not(.tail) .u-marker")
      .evaluateAll((all) => all.map((one) => one.getAttribute("style")));
    // The legend's first entry is the time, without a mark.
    const inks = marks.filter((style) => style?.includes("rgb"));
    expect(inks).toHaveLength(colours.length);
    expect(new Set(inks).size).toBe(colours.length);
    await page.getByRole("group", { name: "Values of one time" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const values = page.locator(".values");
    await values.getByText("Mar 2, 2026").waitFor();
    expect(await values.getByText("coloured · c3").count()).toBe(1);
    await values.getByText(`and ${colours.length - 12} more`).waitFor();
  },
  msMax,
);

inBrowser(
  "the interval that is not over says so, and a range that ended has none",
  async () => {
    const page = await opened("explore?event=visit&event=&math=total&math=total&range=-7d");
    await page.getByRole("img", { name: /^Lines from/ }).waitFor();
    const names = (await rowsOf(page, "The numbers of the lines")).map(([name]) => name!);
    expect(names.slice(0, -1).map((name) => name.endsWith("(in progress)"))).toEqual([
      ...Array.from({ length: 7 }, () => false),
      true,
    ]);
    // Of each line it is a dashed series of its own, without an entry in the legend.
    expect(await page.locator(".u-legend .tail").count()).toBe(2);
    expect(await page.locator(".u-legend .tail").first().isVisible()).toBe(false);
    const ended = await opened(`insights/${await insightOf(trendOf([{}]))}`);
    expect(await ended.locator(".u-legend .tail").count()).toBe(0);
    expect(await ended.getByText("(in progress)").count()).toBe(0);
  },
  msMax,
);

inBrowser(
  "all time begins with the first event",
  async () => {
    const page = await opened("explore?event=old&range=all&interval=month");
    await page.getByRole("img", { name: /^Lines from 1995-06-01/ }).waitFor();
    const rows = await rowsOf(page, "The numbers of the lines");
    expect([rows[0], rows.at(-1)]).toEqual([
      ["Jun 1, 1995", "1"],
      ["Sum", "1"],
    ]);
    const daily = await opened("explore?event=old&range=all&interval=day");
    await daily.getByRole("img", { name: /^Lines from 1995-06-15/ }).waitFor();
  },
  msMax,
);

inBrowser(
  "figures are readable at every width, in light and dark",
  async () => {
    const entity = { id: "visit", type: "events" };
    const retention = await insightOf({
      kind: "RetentionQuery",
      dateRange: { date_to: "2026-03-08" },
      retentionFilter: { period: "Day", targetEntity: entity, returningEntity: entity },
    });
    const bars = { trendsFilter: { display: "ActionsBar" }, breakdownFilter: { breakdown: "plan" } };
    const pie = { trendsFilter: { display: "ActionsPie" }, breakdownFilter: { breakdown: "colour" } };
    const looks = {
      retention: `insights/${retention}`,
      number: `insights/${await insightOf(trendOf([{}, { math: "dau" }], { trendsFilter: { display: "BoldNumber" } }))}`,
      pie: `insights/${await insightOf(trendOf([{ event: "coloured" }], pie))}`,
      colours: `insights/${await insightOf(byColour)}`,
      bars: `insights/${await insightOf(trendOf([{}], bars))}`,
      person: `persons/${await personOf("busy")}`,
    };
    const faults = [];
    for (const [name, address] of Object.entries(looks))
      faults.push(
        ...(await faultsOfLooks(desk.browser, desk.server, name, address, async (page) => {
          await page.locator("main .card").first().waitFor();
        })),
      );
    expect(faults).toEqual([]);
  },
  msMax,
);

inBrowser(
  "two hours that clocks show as one differ, and every page says whose clock it shows",
  async () => {
    await ask(desk.server, "PATCH", "/api/projects/1/", { timezone: "America/New_York" });
    const night = { date_from: "2026-11-01T00:00:00", date_to: "2026-11-01T04:00:00" };
    const query = { ...trendOf([{ event: "late" }]), interval: "hour", dateRange: night };
    const page = await opened(`insights/${await insightOf(query)}`, { timezoneId: "Asia/Tokyo" });
    const rows = await rowsOf(page, "The numbers of the lines");
    expect(rows.filter(([, count]) => count !== "0")).toEqual([
      ["Nov 1, 2026, 01:00", "1"],
      ["Nov 1, 2026, 01:00 (again, clocks went back)", "2"],
      ["Sum", "3"],
    ]);
    const said =
      "Days, charts and SQL are in the project’s time zone, America/New_York; other times in yours, Asia/Tokyo.";
    const menu = page.getByRole("navigation", { name: "Pages of the console" });
    for (const link of await menu.getByRole("link").all()) {
      await link.click();
      await settled(page);
      expect(await page.locator("main > footer").innerText()).toBe(said);
    }
  },
  msMax,
);
