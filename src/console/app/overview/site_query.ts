// The range and filters of the overview's address, and the queries that they become.

import { ranges } from "../explore/choices.ts";
import { countryName, findCountry } from "./countries.ts";

/** Rows of a table have this in common, and each is a filter. */
export interface Subject {
  /** The API's name of the breakdown. */
  by: string;
  title: string;
  /** The property that a row's filter compares; of events, or of sessions. */
  key: string;
  type: "event" | "session";
  /** The name of the row without a value. */
  none?: string;
}

const ofEvent = (by: string, title: string, key: string): Subject => ({ by, title, key, type: "event" });
const ofSession = (by: string, title: string, key: string, none: string): Subject => ({
  ...ofEvent(by, title, key),
  type: "session",
  none,
});

export const cards: Readonly<Record<string, readonly Subject[]>> = {
  Sources: [
    ofSession("InitialReferringDomain", "Referrers", "$entry_referring_domain", "Direct or unknown"),
    ofSession("InitialChannelType", "Channels", "$channel_type", "Unknown"),
  ],
  Pages: [
    ofEvent("Page", "Pages", "$pathname"),
    ofSession("InitialPage", "Entry pages", "$entry_pathname", "Unknown"),
    ofSession("ExitPage", "Exit pages", "$end_pathname", "Unknown"),
  ],
  Countries: [
    ofEvent("Country", "Countries", "$geoip_country_code"),
    ofEvent("Language", "Languages", "$browser_language"),
  ],
  Devices: [
    ofEvent("Browser", "Browsers", "$browser"),
    ofEvent("OS", "Systems", "$os"),
    ofEvent("DeviceType", "Devices", "$device_type"),
  ],
  Campaigns: [
    ofSession("InitialUTMCampaign", "Campaigns", "$entry_utm_campaign", "Without a campaign"),
    ofSession("InitialUTMSource", "UTM sources", "$entry_utm_source", "Without a source"),
    ofSession("InitialUTMMedium", "UTM media", "$entry_utm_medium", "Without a medium"),
    ofSession("InitialUTMTerm", "UTM terms", "$entry_utm_term", "Without a term"),
    ofSession("InitialUTMContent", "UTM content", "$entry_utm_content", "Without content"),
  ],
};

/** Events without a country have one by the time zone of their browser. */
export const byZone = ofEvent("Timezone", "Time zones", "$timezone");

/** Subjects by the API's name of their breakdown. */
export const subjects = new Map(
  [...Object.values(cards).flat(), byZone].map((subject) => [subject.by, subject]),
);

interface SiteFilter {
  by: string;
  value: string;
}

export interface Site {
  range: string;
  /** The last day of a range that begins with a day. */
  to: string;
  /** How far back the time lies that it is compared with; "" for directly before. */
  compareTo: string;
  filters: SiteFilter[];
  /** The figure that is drawn over time. */
  drawn: string;
  /** The subjects of cards that show another than their first. */
  tabs: string[];
}

export const siteRanges = ranges.filter(([value]) => value !== "-24h" && value !== "-14d");

const rangeDefault = "-7d";
const filtersMax = 10;

export function readSite(query: URLSearchParams): Site {
  const filters = query
    .getAll("filter")
    .slice(0, filtersMax)
    .flatMap((text): SiteFilter[] => {
      const at = text.indexOf(":");
      const by = text.slice(0, at);
      return subjects.has(by) ? [{ by, value: text.slice(at + 1) }] : [];
    });
  const [to = "", compareTo = ""] = ["to", "compare_to"].map((name) => query.get(name) ?? "");
  const figure = query.get("figure") ?? "";
  const drawn = Object.hasOwn(curves, figure) ? figure : "visitors";
  const tabs = query.getAll("tab").filter((by) => subjects.has(by));
  return { range: query.get("range") ?? rangeDefault, to, compareTo, filters, drawn, tabs };
}

export function siteAddress({ range, to, compareTo, filters, drawn, tabs }: Site): string {
  const query = new URLSearchParams();
  if (range !== rangeDefault) query.set("range", range);
  if (to !== "") query.set("to", to);
  if (compareTo !== "") query.set("compare_to", compareTo);
  for (const { by, value } of filters) query.append("filter", `${by}:${value}`);
  if (drawn !== "visitors") query.set("figure", drawn);
  for (const by of tabs) query.append("tab", by);
  return query.toString();
}

export function withFilter(site: Site, { by, value }: SiteFilter): Site {
  const otherFilters = site.filters.filter((filter) => filter.by !== by);
  return { ...site, filters: [...otherFilters, { by, value }] };
}

/** A filter by time zone only has events without a country, as its row has. */
function toFilters({ by, value }: SiteFilter): object[] {
  const { key, type } = subjects.get(by)!;
  const comparison = value === "" ? { operator: "is_not_set" } : { operator: "exact", value: [value] };
  return [{ key, type, ...comparison }, ...(by === byZone.by ? withoutCountry : [])];
}

const withoutCountry = [{ key: "$geoip_country_code", type: "event", operator: "is_not_set" }];

function toScope({ range, to, filters }: Site) {
  return {
    dateRange: { date_from: range, ...(to !== "" && { date_to: to }) },
    properties: filters.flatMap(toFilters),
  };
}

export function overviewQuery(site: Site) {
  const compareFilter = { compare: true, ...(site.compareTo !== "" && { compare_to: site.compareTo }) };
  return { kind: "WebOverviewQuery", ...toScope(site), compareFilter };
}

/** Intervals of ranges that are not drawn by the day. */
const rangeIntervals: Readonly<Record<string, string>> = {
  dStart: "hour",
  "-1dStart": "hour",
  "-12m": "week",
  all: "month",
};

/** The figures that can be drawn over time: the title, and the API's name of the math. */
export const curves: Readonly<Record<string, readonly [title: string, math: string]>> = {
  visitors: ["Persons with page views", "dau"],
  views: ["Page views", "total"],
  sessions: ["Sessions with page views", "unique_session"],
};

/** A figure over time. @param key of `curves`. */
export function curveQuery(site: Site, key: string) {
  return {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: "$pageview", math: curves[key]![1] }],
    interval: rangeIntervals[site.range] ?? "day",
    ...toScope(site),
  };
}

export function tableQuery(site: Site, { by }: Subject, limit: number) {
  const { dateRange, properties } = toScope(site);
  const excluded = by === byZone.by ? withoutCountry : [];
  return {
    kind: "WebStatsTableQuery",
    breakdownBy: by,
    dateRange,
    properties: [...properties, ...excluded],
    limit,
  };
}

/** The name of a row. A country that is known only by a time zone is named as such. */
export function rowName({ by, none = "(none)" }: Subject, value: string): string {
  if (value === "") return none;
  if (by === "Country") return countryName(value);
  if (by !== byZone.by) return value === "$direct" ? "Direct" : value;
  const code = findCountry(value);
  return code ? `${countryName(code)} (by time zone ${value})` : `Time zone ${value}`;
}
