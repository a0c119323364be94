// Questions put together in the form: names offered, filters, ranges, drawings; each figure against what was sent.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { type Answer, ask } from "../support/ask.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, settled, signedIn } from "../support/console.ts";
import { post, projectKey, rested, type Server, startServer } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;

interface Sale {
  user: string;
  day: number;
  plan: string;
}

const countries: Record<string, string> = { ann: "DE", bob: "FR", eve: "DE" };
const sales: Sale[] = Object.keys(countries).flatMap((user, u) =>
  Array.from({ length: 6 + u }, (_, i) => ({ user, day: 1 + (i % 9), plan: i % 3 === u ? "gold" : "free" })),
);
/** Names that are older than the newest events. */
const rare = Array.from({ length: 260 }, (_, i) => `rare ${i}`);

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  const batch = [
    ...rare.map((event) => ({
      event,
      distinct_id: "ann",
      timestamp: "2026-02-01T00:00:00Z",
      properties: {},
    })),
    ...sales.map(({ user, day, plan }) => ({
      event: "sold",
      distinct_id: user,
      timestamp: `2026-03-0${day}T12:00:00Z`,
      properties: { plan, $set: { country: countries[user] } },
    })),
  ];
  await post(server, "/batch/", { api_key: projectKey, historical_migration: true, batch });
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

const march = "range=2026-03-01&to=2026-03-09";
const sum = async (page: Page) =>
  (await page.getByRole("row", { name: "Sum" }).getByRole("cell").allInnerTexts()).slice(1);

inBrowser(
  "filters on events and persons are put together in the form, and an insight keeps and shows them",
  async () => {
    const page = await opened(`explore?event=sold&${march}`);
    await page.getByRole("img", { name: /^Lines from 2026-03-01 to 2026-03-09/ }).waitFor();
    expect(await sum(page)).toEqual([String(sales.length)]);
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Filtered property").fill("plan");
    await page.getByLabel("Value", { exact: true }).fill("gold");
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Whose property of filter 2").selectOption({ label: "The person’s" });
    await page.getByLabel("Filtered property of filter 2").fill("country");
    await page.getByLabel("Must of filter 2").selectOption({ label: "is not" });
    await page.getByLabel("Value of filter 2").fill("FR");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/where=/);
    const own = sales.filter(({ user, plan }) => plan === "gold" && countries[user] !== "FR").length;
    await page.locator(".headline .bold-number", { hasText: new RegExp(`^${own}$`) }).waitFor();
    expect(await sum(page)).toEqual([String(own)]);

    await page.getByLabel("Name of the insight").fill("Gold");
    await page.getByRole("button", { name: "Save as insight" }).click();
    await page.getByText("Only where plan is gold, and the person’s country is not FR.").waitFor();
    expect(await sum(page)).toEqual([String(own)]);
    await page.getByRole("link", { name: "Edit question" }).click();
    await page.getByLabel("Value of filter 2").waitFor();
    expect(await page.getByLabel("Value of filter 2").inputValue()).toBe("FR");
    const id = Number(/insight=(\d+)/.exec(page.url())?.[1]);
    expect((await api("GET", `insights/${id}/`))["query"]).toMatchObject({
      source: {
        properties: [
          { key: "plan", value: ["gold"] },
          { key: "country", type: "person" },
        ],
      },
    });
  },
  msMax,
);

inBrowser(
  "every name of the project is offered, with its count",
  async () => {
    const page = await opened("explore");
    const offered = async (label: string) => {
      const list = await page.getByLabel(label, { exact: true }).getAttribute("list");
      const options = page.locator(`[id="${list}"] option`);
      await options.first().waitFor({ state: "attached" });
      return await options.evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    };
    expect((await offered("Event")).toSorted()).toEqual([...rare, "sold"].toSorted());
    expect(await offered("Break down by property")).toContain("plan");
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Whose property").selectOption({ label: "The person’s" });
    expect(await offered("Filtered property")).toEqual(["country"]);
    await page.getByLabel("Filtered property").fill("country");
    expect((await offered("Value"))?.toSorted()).toEqual(["DE", "FR"]);
  },
  msMax,
);

inBrowser(
  "a trend is shown as another drawing, compared with the time before, and by a person's property",
  async () => {
    const page = await opened(`explore?event=sold&range=2026-03-05&to=2026-03-09&compare=true`);
    const [now, then] = [
      sales.filter(({ day }) => day >= 5).length,
      sales.filter(({ day }) => day < 5).length,
    ];
    const change = Math.round(((now - then) / then) * 100);
    const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
    await page.getByText(`${sign}${Math.abs(change)} % (before: ${then})`).waitFor();
    await page.getByLabel("Compare with the time before").uncheck();
    await page.getByLabel("Break down by property").fill("country");
    await page.getByLabel("Of", { exact: true }).selectOption({ label: "The person" });
    await page.getByLabel("Shown as").selectOption({ label: "Pie" });
    await page.getByRole("button", { name: "Show" }).click();
    const rows = page.getByRole("list", { name: "The numbers of the series" }).getByRole("listitem");
    await rows.first().waitFor();
    const of = (country: string) =>
      sales.filter(({ user, day }) => day >= 5 && countries[user] === country).length;
    const share = (country: string) => Math.round((of(country) / now) * 1000) / 10;
    expect((await rows.allInnerTexts()).toSorted()).toEqual(
      ["DE", "FR"].map((one) => `sold · ${one}\n${of(one)} · ${share(one)} %`),
    );
  },
  msMax,
);

inBrowser(
  "the form is whole at every width, in light and dark",
  async () => {
    const where = `where=${encodeURIComponent('["event","plan","exact","gold"]')}`;
    const ready = (page: Page) => page.getByRole("img", { name: /^Lines from/ }).waitFor();
    const address = `explore?event=sold&math=dau&${march}&${where}&compare=true`;
    expect([
      ...(await faultsOfLooks(browser, server, "explore", address, ready)),
      ...(await faultsOfLooks(
        browser,
        server,
        "explore_bars",
        `explore?event=sold&${march}&display=ActionsBar`,
        ready,
      )),
    ]).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a funnel has a window and a breakdown, and says of whom each is",
  async () => {
    const steps = "kind=funnel&event=sold&event=sold";
    const page = await opened(`explore?${steps}&${march}`);
    const reached = async () =>
      (
        await page
          .getByRole("group", { name: "The steps of the funnel" })
          .first()
          .getByRole("row")
          .nth(2)
          .getByRole("cell")
          .allInnerTexts()
      )[1];
    // Each sold on days that follow each other: a window of an hour is too short for a second sale.
    await page.getByRole("table").waitFor();
    expect(await reached()).toBe(String(Object.keys(countries).length));
    await page.getByLabel("Within").selectOption({ label: "1 hour" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/window=1\+hour/);
    await page.getByRole("cell", { name: "0 %", exact: true }).first().waitFor();
    expect(await reached()).toBe("0");
    await page.getByLabel("Break down by property").fill("country");
    await page.getByLabel("Of", { exact: true }).selectOption({ label: "The person" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("heading", { level: 3, name: "DE" }).waitFor();
    expect((await page.getByRole("heading", { level: 3 }).allInnerTexts()).toSorted()).toEqual(["DE", "FR"]);
  },
  msMax,
);
