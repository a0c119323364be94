// The overview's address and queries: filters by rows, ranges, and countries that a time zone tells.

import { expect, test } from "bun:test";
import {
  byZone,
  cards,
  curveQuery,
  overviewQuery,
  readSite,
  rowName,
  type Site,
  siteAddress,
  subjects,
  tableQuery,
  withFilter,
} from "../../../../src/console/app/overview/site_query.ts";

const site: Site = { range: "-7d", to: "", compareTo: "", filters: [], drawn: "visitors", tabs: [] };
const from = (address: string) => readSite(new URLSearchParams(address));

test("an address holds the range and the filters, and nothing where nothing is set", () => {
  expect(siteAddress(site)).toBe("");
  const set: Site = {
    range: "2026-03-01",
    to: "2026-03-31",
    compareTo: "-1y",
    filters: [
      { by: "Page", value: "/a:b?c=d&e" },
      { by: "InitialUTMSource", value: "" },
    ],
    drawn: "views",
    tabs: ["OS", "ExitPage"],
  };
  expect(from("figure=constructor&tab=Nonsense")).toEqual(site);
  expect(from(siteAddress(set))).toEqual(set);
});

test("what is no filter of an address is left out, and ten are read at most", () => {
  expect(from("filter=Nonsense:x&filter=Browser&filter=Browser:Firefox").filters).toEqual([
    { by: "Browser", value: "Firefox" },
  ]);
  const many = Array.from({ length: 12 }, (_, i) => `filter=Page:/${i}`).join("&");
  expect(from(many).filters.map(({ value }) => value)).toEqual([
    "/0",
    "/1",
    "/2",
    "/3",
    "/4",
    "/5",
    "/6",
    "/7",
    "/8",
    "/9",
  ]);
});

test("a row replaces the filter of its own table and leaves the others", () => {
  const one = withFilter(withFilter(site, { by: "OS", value: "Linux" }), { by: "Page", value: "/" });
  expect(withFilter(one, { by: "OS", value: "macOS" }).filters).toEqual([
    { by: "Page", value: "/" },
    { by: "OS", value: "macOS" },
  ]);
});

test("filters of events and of sessions become properties, and a row without a value is one without it", () => {
  const filters = [
    { by: "Browser", value: "Firefox" },
    { by: "InitialUTMSource", value: "" },
    { by: "Timezone", value: "Europe/Paris" },
  ];
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
  expect(named("Timezone", "Mars/Olympus")).toBe("Time zone Mars/Olympus");
  expect(named("Timezone", "Europe/Paris")).toBe("France (by time zone Europe/Paris)");
});
