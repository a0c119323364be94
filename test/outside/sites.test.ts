// Figures of a site as strangers expect them: the numbers of PostHog's test_web_overview.py, test_web_stats_table.py and
// test_session_attribution_explorer_query_runner.py, and the public threads that each test names.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject, type Project } from "../support/projects.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

type Visit = readonly [who: string, ...pages: readonly (readonly [at: string, path?: string])[]];

/** The events of visits, each a session that begins with its first page. */
const visits = (list: readonly Visit[], event = "$pageview", more: object = {}) =>
  list.flatMap(([who, ...pages]) => {
    const $session_id = Bun.randomUUIDv7("hex", Date.parse(pages[0]![0]));
    return pages.map(([at, path]) => {
      const page = event === "$screen" ? { $screen_name: path } : { $pathname: path, $current_url: path };
      return made(event, who, new Date(at).toISOString(), { $session_id, ...page, ...more });
    });
  });
const paged = (who: string, paths: string, at = "2023-12-02T12:00:00Z"): Visit => [
  who,
  ...paths.split(" ").map((path, i) => [new Date(Date.parse(at) + i * 1000).toISOString(), path] as const),
];

async function figures(project: Project, from: string, to: string | null, more: object = {}) {
  const dateRange = { date_from: from, date_to: to };
  const query = { kind: "WebOverviewQuery", dateRange, properties: [], ...more };
  const rows = await project.query<Record<string, unknown>>(query);
  return rows.map(({ value, previous, changeFromPreviousPct }) => [value, previous, changeFromPreviousPct]);
}

const table = (breakdownBy: string, more: object = {}) => ({
  kind: "WebStatsTableQuery",
  dateRange: { date_from: "all", date_to: "2024-08-01" },
  properties: [],
  breakdownBy,
  ...more,
});
const within = (date_from: string, date_to: string) => ({ dateRange: { date_from, date_to } });
/** Rows with visitors, views and bounces of now, and before where `compared`. */
async function rows(project: Project, ...query: Parameters<typeof table>) {
  const found = await project.query<[string | null, ...number[][]]>(table(...query));
  return found.map(([value, ...numbers]) => [value, ...numbers.map(([now]) => now)]);
}
const compared = { compareFilter: { compare: true } };
const bounces = { includeBounceRate: true };

const shop: Visit[] = [
  ["p1", ["2023-12-02"], ["2023-12-03"]],
  ["p1", ["2023-12-12"]],
  ["p2", ["2023-12-11"]],
];

test.each(["$pageview", "$screen"])(
  "an overview of %s counts visitors, views and visits, now and before",
  async (event) => {
    const project = await openProject(app, event, visits(shop, event));
    const increased = [
      [2, 1, 100],
      [2, 2, 0],
      [2, 1, 100],
      [0, 86_400, -100],
      [100, 0, null],
    ];
    expect(await figures(project, "2023-12-08", "2023-12-15", compared)).toEqual(increased);
    expect(await figures(project, "2023-12-08", "2023-12-15", { compare: true })).toEqual(increased);
    expect(await figures(project, "2023-12-06", "2023-12-13", compared)).toEqual(increased);
    const all = await figures(project, "all", "2023-12-15");
    expect(all.slice(0, 4)).toEqual([2, 4, 3, 28_800].map((value) => [value, null, null]));
    expect(all[4]![0] as number).toBeCloseTo(200 / 3, 10);
  },
);

test("a visit of three days counts once, and test accounts not at all", async () => {
  const test_account_filters = [
    { key: "email", type: "person", operator: "not_icontains", value: "posthog.com" },
  ];
  const long: Visit = ["p1", ["2023-12-01", "/"], ["2023-12-02", "/"], ["2023-12-03", "/login"]];
  const events = visits([long], "$pageview", { $set: { email: "test@posthog.com" } });
  const project = await openProject(app, "long", events, { test_account_filters });
  const counted = await figures(project, "2023-12-01", "2023-12-03");
  expect(counted.slice(0, 3).map(([value]) => value)).toEqual([1, 3, 1]);
  const left = await figures(project, "2023-12-01", "2023-12-03", { filterTestAccounts: true });
  expect(left.map(([value]) => value)).toEqual([0, 0, 0, null, null]);
  expect(await rows(project, "Page", { filterTestAccounts: true })).toEqual([]);
});

test("pages have their visitors and views, now and before, page by page", async () => {
  const list: Visit[] = [
    ["p1", ["2023-12-02", "/"], ["2023-12-03", "/login"]],
    ["p1", ["2023-12-13", "/docs"]],
    ["p2", ["2023-12-10", "/"]],
  ];
  const project = await openProject(app, "pages", visits(list));
  expect(await rows(project, "Page", within("2023-12-01", "2023-12-11"))).toEqual([
    ["/", 2, 2],
    ["/login", 1, 1],
  ]);
  expect(await rows(project, "Page")).toEqual([
    ["/", 2, 2],
    ["/docs", 1, 1],
    ["/login", 1, 1],
  ]);
  const query = table("Page", { ...within("2023-12-06", "2023-12-13"), ...compared });
  expect(await project.query(query)).toEqual([
    ["/", [1, 1], [1, 1]],
    ["/docs", [1, 0], [1, 0]],
    ["/login", [0, 1], [0, 1]],
  ]);
  const page = await project.reply(table("Page", { limit: 1 }));
  expect([page["results"], page["hasMore"]]).toEqual([[["/", [2, null], [2, null]]], true]);
});

// PostHog/posthog#7736, plausible/analytics#2552, #712: the bounces of a page are those of visits that entered there.
test("bounces are of the page at which a visit began, exits of its last", async () => {
  const project = await openProject(
    app,
    "bounces",
    visits([paged("p1", "/a /b /c"), paged("p2", "/a /a /b /c"), paged("p3", "/a")]),
  );
  const onA = { properties: [{ key: "$pathname", type: "event", operator: "exact", value: "/a" }] };
  expect(await rows(project, "Page", bounces)).toEqual([
    ["/a", 3, 4, 1 / 3],
    ["/b", 2, 2, null],
    ["/c", 2, 2, null],
  ]);
  expect(await rows(project, "Page", { ...bounces, ...onA })).toEqual([["/a", 3, 4, 1 / 3]]);
  expect(await rows(project, "InitialPage", bounces)).toEqual([["/a", 3, 8, 1 / 3]]);
  expect(await rows(project, "InitialPage", { ...bounces, ...onA })).toEqual([["/a", 3, 4, 1 / 3]]);
  expect((await rows(project, "ExitPage")).map(([page, visitors]) => [page, visitors])).toEqual([
    ["/c", 2],
    ["/a", 1],
  ]);
  const two = await openProject(
    app,
    "two paths",
    visits([paged("u1", "/on/p /"), paged("u2", "/"), paged("u3", "/on/p"), paged("u4", "/on/g /on/f")]),
  );
  const properties = [{ key: "$pathname", type: "event", operator: "exact", value: ["/on/p", "/"] }];
  const found = await rows(two, "Page", { ...bounces, properties });
  expect(found.map(([page, , , rate]) => [page, rate]).toSorted()).toEqual([
    ["/", 1],
    ["/on/p", 0.5],
  ]);
});

test("a table has the order that is asked for", async () => {
  const views = [paged("p1", "/path1"), paged("p2", "/path2 /path2"), paged("p3", "/path3 /path3 /path3")];
  const project = await openProject(app, "orders", visits(views));
  const pages = async (...orderBy: string[]) =>
    (await rows(project, "Page", { ...bounces, orderBy })).map(([page]) => String(page).at(-1)).join("");
  expect(await pages("Views", "ASC")).toBe("123");
  expect(await pages("Views", "DESC")).toBe("321");
  expect(await pages("BounceRate", "ASC")).toBe("231");
  expect(await pages("BounceRate", "DESC")).toBe("132");
  const nested = visits([
    paged("p1", "/path1"),
    paged("p2", "/path1 /path2"),
    paged("p3", "/path1 /path2 /path3"),
  ]);
  const visitors = await openProject(app, "visitors", nested);
  const byVisitors = async (direction: string) =>
    (await rows(visitors, "Page", { orderBy: ["Visitors", direction] })).map(([page]) => page);
  expect(await byVisitors("ASC")).toEqual(["/path3", "/path2", "/path1"]);
  expect(await byVisitors("DESC")).toEqual(["/path1", "/path2", "/path3"]);
  const path = `/api/projects/${project.id}/query/`;
  for (const orderBy of [
    ["Visitors", "Views"],
    ["BounceRate", "ASC"],
  ]) {
    const { status, body } = await ask(app, "POST", path, { query: table("Page", { orderBy }) });
    expect([status, body["attr"]]).toEqual([400, "query__orderBy"]);
  }
});

const sent = (who: string, properties: object, count = 1) =>
  Array.from({ length: count }, (_, i) => {
    const $session_id = Bun.randomUUIDv7("hex", Date.parse("2024-06-26T00:00:00Z"));
    return made("$pageview", `${who}${i}`, "2024-06-26T00:00:00Z", { $session_id, ...properties });
  });

test("sources of visits count without an address, and none is null", async () => {
  const both = await openProject(app, "sources", [
    ...sent("d1", { utm_source: "google", $referring_domain: "google.com" }),
    ...sent("d2", { $referring_domain: "news.ycombinator.com", utm_medium: "referral" }),
  ]);
  expect(await rows(both, "InitialUTMSourceMediumCampaign")).toEqual([
    ["google / (none) / (none)", 1, 1],
    ["news.ycombinator.com / referral / (none)", 1, 1],
  ]);
  const one = await openProject(app, "none", [...sent("d1", { utm_source: "google" }), ...sent("d2", {})]);
  expect(await rows(one, "InitialUTMSource")).toEqual([
    ["google", 1, 1],
    [null, 1, 1],
  ]);
  const properties = [{ key: "utm_source", type: "event", operator: "is_not_set" }];
  expect(await rows(one, "InitialUTMSource", { properties })).toEqual([[null, 1, 1]]);
  const query = "select $entry_utm_source, $entry_gclid, $entry_current_url from sessions order by 1";
  expect(await one.query({ kind: "HogQLQuery", query })).toEqual([
    ["google", null, null],
    [null, null, null],
  ]);
  const again = [0, 1].flatMap(() => sent("d", { utm_source: "google", $pathname: "/path" }));
  const repeated = await openProject(app, "repeated", again);
  expect(await rows(repeated, "InitialUTMSource")).toEqual([["google", 1, 2]]);
  expect(await rows(repeated, "Page")).toEqual([["/path", 1, 2]]);
});

test("an event with a source and no address gives way to one with an address", async () => {
  const $session_id = Bun.randomUUIDv7("hex", Date.parse("2024-06-26T00:00:00Z"));
  const url = "https://shop.example/?utm_source=mail";
  const project = await openProject(app, "address", [
    made("paid", "d", "2024-06-26T00:00:00Z", { $session_id, utm_source: "backend" }),
    made("$pageview", "d", "2024-06-26T00:00:10Z", { $session_id, $current_url: url, utm_source: "mail" }),
  ]);
  const query = "select $entry_utm_source, $entry_current_url, $end_current_url from sessions";
  expect(await project.query({ kind: "HogQLQuery", query })).toEqual([["mail", url, url]]);
});

test("visits are grouped by where they came from", async () => {
  const from = (n: string, more: object) => ({
    $current_url: `http://example.com/${n}`,
    utm_source: `source${n[0]}`,
    utm_medium: `medium${n[0]}`,
    utm_campaign: `campaign${n}`,
    $referring_domain: `referring_domain${n}`,
    ...more,
  });
  const ad = { gclid: "id", gad_source: "gad_source1a" };
  const project = await openProject(app, "attribution", [
    ...sent("a", from("1a", ad), 4),
    ...sent("b", from("1b", ad), 2),
    ...sent("c", from("2", {})),
  ]);
  const sql = (query: string) => project.query({ kind: "HogQLQuery", query });
  expect(await sql("select $channel_type, count() from sessions group by 1 order by 2 desc")).toEqual([
    ["Paid Unknown", 6],
    ["Referral", 1],
  ]);
  const entries = "$entry_current_url, $entry_utm_source, $entry_utm_campaign, $entry_referring_domain";
  expect(await sql(`select ${entries}, count() from sessions group by 1, 2, 3, 4 order by 5 desc`)).toEqual([
    ["http://example.com/1a", "source1", "campaign1a", "referring_domain1a", 4],
    ["http://example.com/1b", "source1", "campaign1b", "referring_domain1b", 2],
    ["http://example.com/2", "source2", "campaign2", "referring_domain2", 1],
  ]);
  const ids = "countIf($entry_gclid is not null), countIf($entry_gad_source is not null)";
  expect(await sql(`select ${ids} from sessions`)).toEqual([[6, 6]]);
  const properties = [{ type: "session", key: "$entry_utm_source", operator: "exact", value: "source1" }];
  expect(await rows(project, "InitialChannelType", { properties })).toEqual([["Paid Unknown", 6, 6]]);
});
