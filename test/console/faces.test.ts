// Each saved insight says one number wherever it is shown: its page, the page of its link, a webhook, an e-mail. The
// numbers are counted apart, from the events that were sent.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { msMax, settled, signedIn } from "../support/console.ts";
import { type MailSink, openMailSink } from "../support/mail.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";
import { openWebSink, type WebSink } from "../support/web_sink.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const dayMs = 86_400_000;
/** Ten persons come on each of ten days; the half of them with every second day on a phone. */
const [persons, dayCount] = [10, 10];

let server: Server;
let browser: Browser;
let mail: MailSink;
let web: WebSink;

const call = async (path: string, body: object) => {
  const made = await ask(server, "POST", `/api/projects/1/${path}`, body);
  if (made.status >= 300) throw new Error(made.text);
  return made.body;
};

beforeAll(async () => {
  if (noBrowser) return;
  mail = await openMailSink();
  web = openWebSink();
  server = await startServer({
    SMTP_URL: mail.url,
    EMAIL_FROM: "Sluice <reports@sluice.example>",
    ALLOW_PRIVATE_DESTINATIONS: "1",
    LOG_LEVEL: "error",
    FLUSH_INTERVAL_MS: "50",
  });
  browser = await openBrowser();
  const batch = Array.from({ length: persons * dayCount }, (_, i) => ({
    event: "seen",
    distinct_id: `p${i % persons}`,
    timestamp: new Date(Date.now() - Math.floor(i / persons) * dayMs).toISOString(),
    properties: { device: i % 2 === 0 ? "phone" : "desk", amount: 2 },
  }));
  // Two come once, and not again.
  for (const name of ["once", "twice"])
    batch.push({
      ...batch[0]!,
      distinct_id: name,
      timestamp: new Date(Date.now() - 3 * dayMs).toISOString(),
    });
  await post(server, "/batch/", { api_key: projectKey, batch });
  await rested(server);
}, msMax);

const trend = (math: string, more: object = {}) => ({
  kind: "TrendsQuery",
  series: [{ event: "seen", math, ...(math === "sum" && { math_property: "amount" }) }],
  dateRange: { date_from: "-14d" },
  ...more,
});
const entity = { id: "seen", type: "events" };
const byDevice = { breakdownFilter: { breakdown: "device", breakdown_type: "event" } };
const cumulative = { trendsFilter: { display: "ActionsLineGraphCumulative" } };
const formula = {
  series: [{ event: "seen" }, { event: "seen", math: "dau" }],
  trendsFilter: { formula: "A / B" },
};

/** What was sent, counted by hand: 102 events of 12 persons. */
const insights: [name: string, query: object, figures: string[]][] = [
  ["Events", trend("total"), ["102"]],
  ["Persons by day", trend("dau"), ["12"]],
  ["Persons by week", trend("dau", { interval: "week" }), ["12"]],
  ["Persons by device", trend("dau", byDevice), ["12"]],
  ["Events by device", trend("total", byDevice), ["102"]],
  ["A sum", trend("sum"), ["204"]],
  ["Cumulative events", trend("total", cumulative), ["102"]],
  ["Events a person", trend("total", formula), ["8.5"]],
  ["Stickiness", { ...trend("dau"), kind: "StickinessQuery" }, []],
  ["Lifecycle", { ...trend("dau"), kind: "LifecycleQuery" }, []],
  ["A funnel", { kind: "FunnelsQuery", series: [{ event: "seen" }, { event: "seen" }] }, ["83.3%"]],
  [
    "Retention",
    {
      kind: "RetentionQuery",
      retentionFilter: {
        retentionType: "retention_first_time",
        period: "Day",
        totalIntervals: 11,
        targetEntity: entity,
        returningEntity: entity,
      },
    },
    ["83.3%"],
  ],
];

const shownIn = async (page: Page) => {
  const texts = await page.locator(".headline .bold-number").allInnerTexts();
  return texts.map((text) => text.replaceAll(/[\s\u202f\u00a0]/g, ""));
};

type Section = { name: string; figures: { value: number; unit: string }[] };

/** Delivers an insight or a dashboard now, to a webhook. */
async function deliver(what: object, target: { target_type: string; target_value: string }): Promise<void> {
  const rhythm = { frequency: "daily", interval: 1, start_date: new Date(Date.now() + dayMs).toISOString() };
  const { id } = await call("subscriptions/", { ...what, ...target, ...rhythm });
  await call(`subscriptions/${String(id)}/test_delivery/`, {});
}

const toHook = () => ({ target_type: "webhook", target_value: `${web.url}/hook` });

inBrowser(
  "an insight says the same on its page, the page of its link, in a webhook and in an e-mail",
  async () => {
    const ids = new Map<string, number>();
    // A letter holds ten insights.
    for (const portion of [insights.slice(0, 6), insights.slice(6)]) {
      const dashboard = Number((await call("dashboards/", { name: "Board" }))["id"]);
      for (const [name, query] of portion)
        ids.set(name, Number((await call("insights/", { name, query, dashboards: [dashboard] }))["id"]));
      await deliver({ dashboard }, toHook());
      await deliver({ dashboard }, { target_type: "email", target_value: "reader@example.com" });
    }
    await until(() => Promise.resolve(web.posted.length === 2 && mail.received.length === 2));
    const sections = web.posted.flatMap(({ body }) => body["insights"] as Section[]);
    const letters = mail.received.map(({ mail: letter }) => letter.text ?? "").join("\n");
    for (const [name, , expected] of insights) {
      const id = ids.get(name)!;
      const { page } = await signedIn(browser, server, `insights/${id}`);
      await settled(page);
      await until(async () => !(await shownIn(page)).includes("…"));
      const sharing = `/api/projects/1/insights/${id}/sharing/`;
      const { body } = await ask(server, "PATCH", sharing, { enabled: true });
      const address = `${server.url}/shared/${String(body["access_token"])}/`;
      const { page: shared } = await visit(browser, address);
      await shared.getByText("As of").waitFor();
      const { figures } = sections.find((section) => section.name === name)!;
      const posted = figures.map(({ value, unit }) => `${value}${unit}`);
      const shown = [await shownIn(page), await shownIn(shared), posted];
      expect([name, ...shown]).toEqual([name, expected, expected, expected]);
      const [, part = ""] = letters.split(`${name}\n`);
      for (const figure of expected) expect([name, part]).toEqual([name, expect.stringContaining(figure)]);
      for (const visited of [page, shared]) await visited.context().close();
    }
  },
  msMax,
);

inBrowser(
  "an e-mail draws what an insight in SQL draws, and has its newest rows first",
  async () => {
    const sql = {
      kind: "HogQLQuery",
      query:
        "select toDate(timestamp) as day, count() as events from events group by day order by day limit 100",
    };
    const query = { kind: "DataVisualizationNode", source: sql, display: "ActionsBar" };
    const { id: insight } = await call("insights/", { name: "Each day", query });
    const before = web.posted.length;
    await deliver({ insight }, toHook());
    await until(() => Promise.resolve(web.posted.length > before));
    const [section] = web.posted.at(-1)!.body["insights"] as {
      image: object | null;
      table: { rows: [string, number][] };
    }[];
    expect(section!.image).not.toBeNull();
    const [first, ...others] = section!.table.rows;
    expect([first![1], others.map(([, events]) => events)]).toEqual([
      10,
      [10, 10, 12, 10, 10, 10, 10, 10, 10],
    ]);
    expect(first![0] > others.at(-1)![0]).toBe(true);
  },
  msMax,
);
