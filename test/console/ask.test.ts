// Questions put together in the form: names offered, filters, ranges, drawings; each figure against what was sent.

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { allFindings } from "../support/axe.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import {
  faultsOfLooks,
  inBrowser,
  msMax,
  openConsole,
  openForm,
  settled,
  signedIn,
} from "../support/console.ts";

cleanUpEach();

interface Sale {
  user: string;
  day: number;
  plan: string;
}

const countries: Record<string, string> = { ann: "DE", bob: "FR", eve: "DE" };
const sales: Sale[] = Object.keys(countries).flatMap((user, u) =>
  Array.from({ length: 6 + u }, (_, i) => ({ user, day: 1 + (i % 9), plan: i % 3 === u ? "gold" : "free" })),
);
const industries: Record<string, string> = { big: "tea", small: "cups" };
const companyOf = (user: string) => (user === "bob" ? "small" : "big");
/** Names that are older than the newest events. */
const rare = Array.from({ length: 260 }, (_, i) => `rare ${i}`);

const desk = openConsole(() => [
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
    properties: {
      plan,
      $set: { country: countries[user] },
      $groups: { company: companyOf(user) },
      $session_id: `${user}-${day}`,
    },
  })),
  ...Object.keys(industries).map((key) => ({
    event: "$groupidentify",
    distinct_id: "ann",
    timestamp: "2026-02-01T00:00:00Z",
    properties: {
      $group_type: "company",
      $group_key: key,
      $group_set: { industry: industries[key] },
    },
  })),
]);
const { api, opened } = desk;

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
    await page.getByRole("link", { name: "Edit query" }).click();
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
  "a filter takes one of several values, a pattern and a bound, and stays editable when it is saved",
  async () => {
    const page = await opened(`explore?event=sold&${march}`);
    const shown = async (own: number) =>
      await page.locator(".headline .bold-number", { hasText: new RegExp(`^${own}$`) }).waitFor();
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Whose property").selectOption({ label: "The person’s" });
    await page.getByLabel("Filtered property").fill("country");
    await page.getByLabel("Value", { exact: true }).fill("DE");
    await page.getByRole("button", { name: "Show" }).click();
    await shown(sales.filter(({ user }) => countries[user] === "DE").length);
    await page.getByRole("button", { name: "Or another, filter 1" }).click();
    await page.getByLabel("Or value 2").fill("FR");
    await page.getByRole("button", { name: "Show" }).click();
    await shown(sales.length);
    await page.getByLabel("Must").selectOption({ label: "does not match" });
    await page.getByLabel("Value", { exact: true }).fill("^D");
    await page.getByRole("button", { name: "Show" }).click();
    await shown(sales.filter(({ user }) => countries[user] === "FR").length);
    await page.getByLabel("Must").selectOption("exact");
    await page.getByLabel("Value", { exact: true }).fill("DE");
    await page.getByRole("button", { name: "Or another, filter 1" }).click();
    await page.getByLabel("Or value 2").fill("FR");
    await page.getByRole("button", { name: "Save as insight" }).click();
    await page.getByText("Only where the person’s country is DE or FR.").waitFor();
    await shown(sales.length);
    await page.getByRole("link", { name: "Edit query" }).click();
    expect(await page.getByLabel("Or value 2").inputValue()).toBe("FR");
  },
  msMax,
);

inBrowser(
  "the question is one line, its result comes first, and the line opens the form and closes it",
  async () => {
    const where = `where=${encodeURIComponent('["event","plan","exact","gold"]')}`;
    const address = `explore?kind=trend&event=sold&math=dau&${march}&${where}&breakdown=plan`;
    const { page } = await signedIn(desk.browser, desk.server, address);
    await settled(page);
    const question = page.locator(".question");
    expect(await question.locator(".tag").allInnerTexts()).toEqual([
      "sold · Persons",
      "Mar 1, 2026 to Mar 9, 2026",
      "each day",
      "by plan",
      "Only where plan is gold",
    ]);
    await page.getByRole("img", { name: /^Lines from/ }).waitFor();
    expect(await page.getByLabel("Event", { exact: true }).count()).toBe(0);
    await question.press("Enter");
    await page.getByLabel("Event", { exact: true }).fill("gone");
    await question.press("Enter");
    await question.press("Enter");
    expect(await page.getByLabel("Event", { exact: true }).inputValue()).toBe("gone");
    expect(await allFindings(page)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "each event has filters of its own, of groups and sessions too, and a formula is made of them",
  async () => {
    const page = await opened(`explore?event=sold&event=sold&${march}`);
    await page.getByRole("button", { name: "Add filter of event 1" }).click();
    await page.getByLabel("Whose property of event 1").selectOption({ label: "The company’s" });
    await page.getByLabel("Filtered property of event 1").fill("industry");
    const list = await page.getByLabel("Value of event 1").getAttribute("list");
    await page.locator(`[id="${list}"] option`).first().waitFor({ state: "attached" });
    await page.getByLabel("Value of event 1").fill("tea");
    await page.getByLabel("Formula").fill("A / B * 100");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/formula=/);
    const share = (keep: (sale: Sale) => boolean) => (day: number) => {
      const all = sales.filter((one) => one.day === day);
      // Nothing of nothing is 0.
      return String(Math.round((all.filter(keep).length / (all.length || 1)) * 10_000) / 100);
    };
    const days = Array.from({ length: 9 }, (_, i) => i + 1);
    const cells = async () => {
      const rows = page.getByRole("group", { name: "The numbers of the lines" }).locator("tbody tr");
      await rows.first().waitFor();
      return await rows.evaluateAll((all) => all.map((row) => row.children[1]?.textContent));
    };
    await page.locator("th.number", { hasText: "A / B * 100" }).waitFor();
    expect(await cells()).toEqual(days.map(share(({ user }) => companyOf(user) === "big")));

    await page.getByRole("button", { name: "Add filter of event 1" }).click();
    await page.getByLabel("Whose property of filter 2 of event 1").selectOption({ label: "The session’s" });
    await page.getByLabel("Filtered property of filter 2 of event 1").fill("$session_duration");
    await page.getByLabel("Must of filter 2 of event 1").selectOption({ label: "is greater than" });
    await page.getByLabel("Value of filter 2 of event 1").fill("1000");
    await page.getByLabel("Name of the insight").fill("Share of tea");
    await page.getByRole("button", { name: "Save as insight" }).click();
    await page
      .getByText(
        "A, sold: only where the group’s industry is tea, and the session’s $session_duration is greater than 1000. " +
          "Formula: A / B * 100.",
      )
      .waitFor();
    // No session took as long.
    expect(await cells()).toEqual(days.map(() => "0"));
    await page.getByRole("link", { name: "Edit query" }).click();
    expect(await page.getByLabel("Value of filter 2 of event 1").inputValue()).toBe("1000");
  },
  msMax,
);

inBrowser(
  "a funnel is shown by its steps, over time, and by how long it took; a table is copied",
  async () => {
    const page = await opened(`explore?kind=funnel&event=sold&event=sold&${march}`);
    const users = Object.keys(countries).length;
    // Nobody bought in the nine days before. Everybody bought twice, a day apart.
    await page.locator(".headline", { hasText: "none before" }).waitFor();
    await page.locator(".headline", { hasText: `100 %${users} of ${users}` }).waitFor();
    await page.getByLabel("Shown as").selectOption({ label: "Time to convert" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator(".headline", { hasText: "24 h 0 minon average" }).waitFor();
    await page.getByLabel("Shown as").selectOption({ label: "Conversion over time" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator("th.number", { hasText: "Conversion, %" }).waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy table" }).click();
    await page.getByText("Copied.").waitFor();
    const lines = String(await page.evaluate("navigator.clipboard.readText()")).split("\n");
    expect([lines[0], lines[1]?.split("\t")[0], lines.length]).toEqual([
      "Time\tConversion, %",
      "2026-03-01",
      11,
    ]);
  },
  msMax,
);

inBrowser(
  "persons and averages have a number of the whole time, and its change",
  async () => {
    const address = "explore?event=sold&event=sold&math=dau&math=unique&property=&property=plan";
    const page = await opened(`${address}&range=2026-03-05&to=2026-03-09`);
    const of = (isNow: boolean) => sales.filter(({ day }) => day >= 5 === isNow);
    const change = (now: number, then: number) => {
      const percent = Math.round(((now - then) / then) * 100);
      return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent)} % (before: ${then})`;
    };
    const count = (field: "user" | "plan") => {
      const [now, then] = [of(true), of(false)].map((some) => new Set(some.map((one) => one[field])).size);
      return [String(now), change(now!, then!)];
    };
    const [persons, plans] = [count("user"), count("plan")];
    const headline = page.locator(".headline p");
    await headline.nth(1).getByText("before").waitFor();
    const shown = (await headline.allInnerTexts()).map((text) => text.split("\n"));
    expect(shown.map(([number, , changed]) => [number, changed])).toEqual([persons, plans]);
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
    expect((await offered("Event")).toSorted()).toEqual([...rare, "sold", "$groupidentify"].toSorted());
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
  "an event name that nobody has sent is said to be one, beside its line of zeros",
  async () => {
    const page = await opened(`explore?event=sold&event=slod&event=&${march}`);
    await page.getByText("No event called “slod” has arrived yet.").waitFor();
    await page.getByRole("img", { name: /Lines from/ }).waitFor();
    expect(await page.getByText(/No event called/).count()).toBe(1);
    expect(await allFindings(page)).toEqual([]);
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
    await page.getByLabel("Of", { exact: true }).selectOption({ label: "The person’s" });
    await page.getByLabel("Shown as").selectOption({ label: "Pie" });
    await page.getByRole("button", { name: "Show" }).click();
    const rows = page.getByRole("list", { name: "The numbers of the series" }).getByRole("listitem");
    await rows.first().waitFor();
    const of = (country: string) =>
      sales.filter(({ user, day }) => day >= 5 && countries[user] === country).length;
    const share = (country: string) => Math.round((of(country) / now) * 1000) / 10;
    expect((await rows.allInnerTexts()).toSorted()).toEqual(
      ["DE", "FR"].map((one) => `${one}\n${of(one)} · ${share(one)} %`),
    );
  },
  msMax,
);

inBrowser(
  "lifecycles, stickiness and paths are asked, saved, and edited again",
  async () => {
    const page = await opened(`explore?event=sold&${march}`);
    await page.getByRole("button", { name: "Stickiness" }).click();
    const bars = page.getByRole("list", {
      name: "Persons by the number of intervals in which they were active",
    });
    await bars.waitFor();
    const daysOf = Object.keys(countries).map(
      (user) => new Set(sales.filter((one) => one.user === user).map(({ day }) => day)).size,
    );
    const shown = (await bars.getByRole("listitem").allInnerTexts()).map((text) =>
      Number(text.split("\n")[1]),
    );
    expect(shown).toEqual(
      Array.from({ length: Math.max(...daysOf) }, (_, i) => daysOf.filter((days) => days === i + 1).length),
    );

    await page.getByRole("button", { name: "Lifecycle" }).click();
    const heads = page.getByRole("group", { name: "The numbers of the lines" }).getByRole("columnheader");
    await heads.nth(4).waitFor();
    expect(
      (await heads.allInnerTexts())
        .slice(1)
        .map((head) => head.split(" ").at(-1))
        .toSorted(),
    ).toEqual(["dormant", "new", "resurrecting", "returning"]);
    expect(await page.getByRole("button", { name: "Add event" }).count()).toBe(0);

    await page.getByRole("button", { name: "Paths" }).click();
    await page.getByLabel("Steps are").selectOption({ label: "Other events" });
    await page.getByLabel("Begin with").fill("sold");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/start=sold/);
    await page.getByText("No such events in this time.").waitFor();
    await page.getByLabel("Name of the insight").fill("Ways");
    await page.getByRole("button", { name: "Save as insight" }).click();
    await page.getByRole("heading", { name: "Ways" }).waitFor();
    await page.getByRole("link", { name: "Edit query" }).click();
    expect(await page.getByLabel("Begin with").inputValue()).toBe("sold");
  },
  msMax,
);

inBrowser(
  "the form is whole at every width, in light and dark",
  async () => {
    const where = `where=${encodeURIComponent('["event","plan","exact","gold"]')}`;
    const ready = async (page: Page) => {
      await page.getByRole("img", { name: /^Lines from/ }).waitFor();
      await openForm(page);
    };
    const address = `explore?event=sold&math=dau&${march}&${where}&compare=true`;
    expect([
      ...(await faultsOfLooks(desk.browser, desk.server, "explore", address, ready)),
      ...(await faultsOfLooks(
        desk.browser,
        desk.server,
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
    await page.getByLabel("Of", { exact: true }).selectOption({ label: "The person’s" });
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("heading", { level: 3, name: "DE" }).waitFor();
    expect((await page.getByRole("heading", { level: 3 }).allInnerTexts()).toSorted()).toEqual(["DE", "FR"]);
  },
  msMax,
);
