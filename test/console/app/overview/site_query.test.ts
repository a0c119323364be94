// The overview's address and queries: filters by rows, ranges, and countries that a time zone tells.

import { expect, test } from "bun:test";
import {
  curveQuery,
  nameFilter,
  overviewQuery,
  readSite,
  type Site,
  siteAddress,
  type SiteFilter,
  tableQuery,
  withFilter,
  withValue,
} from "../../../../src/console/app/overview/site_query.ts";
import { byZone, cards, rowName, subjects } from "../../../../src/console/app/overview/subjects.ts";

const site: Site = {
  range: "-7d",
  to: "",
  compareTo: "",
  filters: [],
  withoutOwn: false,
  goal: "",
  drawn: "visitors",
  tabs: [],
};
const is = (by: string, ...values: string[]): SiteFilter => ({ by, operator: "exact", values });
const from = (address: string) => readSite(new URLSearchParams(address));

test("an address holds the range and the filters, and nothing where nothing is set", () => {
  expect(siteAddress(site)).toBe("");
  const set: Site = {
    range: "2026-03-01",
    to: "2026-03-31",
    compareTo: "-1y",
    filters: [
      is("Page", "/a:b?c=d&e", "/f"),
      { by: "Page", operator: "is_not", values: ["/g", "/h"] },
      { by: "Page", operator: "icontains", values: ["shop"] },
      is("InitialUTMSource", ""),
    ],
    withoutOwn: true,
    goal: "order: paid & sent",
    drawn: "views",
    tabs: ["OS", "ExitPage"],
  };
  expect(from("figure=constructor&tab=Nonsense")).toEqual(site);
  expect(from(siteAddress(set))).toEqual(set);
});

test("what is no filter of an address is left out, and ten are read at most", () => {
  expect(from("filter=Nonsense:x&filter=Browser&filter=Browser:Firefox").filters).toEqual([
    is("Browser", "Firefox"),
  ]);
  expect(from("filter=Page.constructor:x&filter=Page.is_not:").filters).toEqual([
    { by: "Page", operator: "is_not", values: [""] },
  ]);
  const many = Array.from({ length: 12 }, (_, i) => `filter=Page:/${i}`).join("&");
  expect(from(many).filters).toEqual([is("Page", ...Array.from({ length: 10 }, (_, i) => `/${i}`))]);
});

test("a row replaces the filter of its own table and leaves the others", () => {
  const one = withFilter(withFilter(site, { by: "OS", value: "Linux" }), { by: "Page", value: "/" });
  expect(withFilter(one, { by: "OS", value: "macOS" }).filters).toEqual([is("Page", "/"), is("OS", "macOS")]);
});

test("a filter that is added compares as it says, takes several values, and what has no value stays alone", () => {
  const added = [
    ["Page", "is_not", "/a"],
    ["Page", "is_not", "/b"],
    ["InitialPage", "icontains", "shop"],
    ["InitialPage", "icontains", "tea"],
    ["OS", "exact", "Linux"],
    ["OS", "exact", "macOS"],
    ["OS", "exact", ""],
    ["OS", "is_not", ""],
  ] as const;
  const all = added.reduce((before, [by, operator, value]) => withValue(before, by, operator, value), site);
  expect(all.filters.map(nameFilter)).toEqual([
    "Pages is not /a or /b",
    "Entry pages contains shop",
    "Entry pages contains tea",
    "Systems: Linux or macOS",
    "Systems: (none)",
    "Systems is not (none)",
  ]);
  expect(overviewQuery(all).properties.map((part) => Object.values(part))).toEqual([
    ["$pathname", "event", "is_not", ["/a", "/b"]],
    ["$entry_pathname", "session", "icontains", "shop"],
    ["$entry_pathname", "session", "icontains", "tea"],
    ["$os", "event", "exact", ["Linux", "macOS"]],
    ["$os", "event", "is_not_set"],
    ["$os", "event", "is_set"],
  ]);
});

test("filters of events and of sessions become properties, and a row without a value is one without it", () => {
  const filters = [is("Browser", "Firefox"), is("InitialUTMSource", ""), is("TimezoneName", "Europe/Paris")];
  expect(overviewQuery({ ...site, to: "2026-03-31", filters })).toEqual({
    kind: "WebOverviewQuery",
    dateRange: { date_from: "-7d", date_to: "2026-03-31" },
    properties: [
      { key: "$browser", type: "event", operator: "exact", value: ["Firefox"] },
      { key: "$entry_utm_source", type: "session", operator: "is_not_set" },
      { key: "$timezone", type: "event", operator: "exact", value: ["Europe/Paris"] },
      // Of events without a country, as the rows are that it comes from.
      { key: "$geoip_country_code", type: "event", operator: "is_not_set" },
    ],
    compareFilter: { compare: true },
  });
});

test("own visits are left out of all that is asked, and a goal is counted in figures and tables", () => {
  const set = { ...site, withoutOwn: true, goal: "purchase" };
  const [own, goal] = [{ filterTestAccounts: true }, { conversionGoal: { customEventName: "purchase" } }];
  expect(overviewQuery(set)).toMatchObject({ ...own, ...goal });
  // Rows are shown by their visitors, and cut by them.
  const orderBy = ["Visitors", "DESC"];
  expect(tableQuery(set, subjects.get("Page")!, 8)).toMatchObject({ ...own, ...goal, orderBy });
  expect(curveQuery(set, "views")).toMatchObject(own);
  expect(Object.keys(overviewQuery(site))).not.toContain("filterTestAccounts");
});

test("curves are by the hour, day, week or month, as their range is long", () => {
  const intervals = ["dStart", "-1dStart", "-7d", "-90d", "-12m", "all"].map(
    (range) => curveQuery({ ...site, range }, "views").interval,
  );
  expect(intervals).toEqual(["hour", "hour", "day", "day", "week", "month"]);
  const maths = ["visitors", "views", "sessions"].map((key) => curveQuery(site, key).series[0]!.math);
  expect(maths).toEqual(["dau", "total", "unique_session"]);
});

test("each table requests its own breakdown, and that of time zones for events without a country", () => {
  const all = Object.values(cards).flat();
  for (const subject of all) {
    expect(tableQuery(site, subject, 8)).toMatchObject({
      kind: "WebStatsTableQuery",
      breakdownBy: subject.by,
      limit: 8,
      properties: [],
    });
    expect(subjects.get(subject.by)).toBe(subject);
  }
  expect(new Set(all.map(({ by }) => by)).size).toBe(all.length);
  expect(tableQuery(site, byZone, 8).properties).toEqual([
    { key: "$geoip_country_code", type: "event", operator: "is_not_set" },
  ]);
  expect(subjects.get("Nonsense")).toBeUndefined();
});

test("rows are called by what they stand for; what no browser knows is called as it is", () => {
  const named = (by: string, value: string) => rowName(subjects.get(by)!, value);
  expect([named("Country", "DE"), named("Country", ""), named("Country", "no code")]).toEqual([
    "Germany",
    "(none)",
    "no code",
  ]);
  expect(named("InitialReferringDomain", "$direct")).toBe("Direct");
  expect(named("InitialReferringDomain", "")).toBe("Direct or unknown");
  expect(named("InitialUTMCampaign", "")).toBe("Without a campaign");
  expect(named("TimezoneName", "Mars/Olympus")).toBe("Time zone Mars/Olympus");
  expect(named("TimezoneName", "Europe/Paris")).toBe("France (by time zone Europe/Paris)");
});
