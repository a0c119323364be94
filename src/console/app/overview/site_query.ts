// The range and filters of the overview's address, and the queries that they become.

import { ranges } from "../explore/choices.ts";
import { byZone, rowName, type Subject, subjects } from "./subjects.ts";

/** How a filter compares: its row's value by "is". */
export const siteOperators = [
  ["exact", "is"],
  ["is_not", "is not"],
  ["icontains", "contains"],
] as const;
type SiteOperator = (typeof siteOperators)[number][0];

export interface SiteFilter {
  by: string;
  operator: SiteOperator;
  /** Several of which any may match, or none where it is "is not". */
  values: string[];
}

export interface Site {
  range: string;
  /** The last day of a range that begins with a day. */
  to: string;
  /** How far back the time lies that it is compared with; "" for directly before. */
  compareTo: string;
  filters: SiteFilter[];
  withoutOwn: boolean;
  /** The event that visitors are brought to; "" for none. */
  goal: string;
  /** The figure that is drawn over time. */
  drawn: string;
  /** The subjects of cards that show another than their first. */
  tabs: string[];
}

export const siteRanges = ranges.filter(([value]) => value !== "-24h" && value !== "-14d");

const rangeDefault = "-7d";
const filtersMax = 10;

export function readSite(query: URLSearchParams): Site {
  const filters: SiteFilter[] = [];
  for (const text of query.getAll("filter").slice(0, filtersMax)) {
    const [, subject = "", named, value = ""] = /^(\w+)(?:\.(is_not|icontains))?:(.*)$/s.exec(text) ?? [];
    // Addresses of before 0.1.0 have PostHog's name, which is of hours.
    const by = subject === "Timezone" ? byZone.by : subject;
    if (!subjects.has(by)) continue;
    const operator = (named ?? "exact") as SiteOperator;
    const isSame = (filter: SiteFilter) => filter.by === by && filter.operator === operator;
    if (filters.some((filter) => isSame(filter) && filter.values.includes(value))) continue;
    const same = filters.find(isSame);
    // A missing value has an operator of its own.
    const isAlone = operator === "icontains" || value === "" || same?.values.includes("");
    if (same && !isAlone) same.values.push(value);
    else filters.push({ by, operator, values: [value] });
  }
  const [to = "", compareTo = ""] = ["to", "compare_to"].map((name) => query.get(name) ?? "");
  const figure = query.get("figure") ?? "";
  const drawn = Object.hasOwn(curves, figure) ? figure : "visitors";
  const tabs = query.getAll("tab").filter((by) => subjects.has(by));
  const withoutOwn = query.get("tests") === "false";
  const goal = query.get("goal") ?? "";
  return { range: query.get("range") ?? rangeDefault, to, compareTo, filters, withoutOwn, goal, drawn, tabs };
}

export function siteAddress(site: Site): string {
  const { range, to, compareTo, filters, drawn, tabs } = site;
  const query = new URLSearchParams();
  if (range !== rangeDefault) query.set("range", range);
  if (to !== "") query.set("to", to);
  if (compareTo !== "") query.set("compare_to", compareTo);
  for (const { by, operator, values } of filters)
    for (const value of values) query.append("filter", filterText(by, operator, value));
  if (site.withoutOwn) query.set("tests", "false");
  if (site.goal !== "") query.set("goal", site.goal);
  if (drawn !== "visitors") query.set("figure", drawn);
  for (const by of tabs) query.append("tab", by);
  return query.toString();
}

/** Whether its address has as many values of filters as are read. */
export function isFull({ filters }: Site): boolean {
  return filters.reduce((sum, { values }) => sum + values.length, 0) >= filtersMax;
}

function filterText(by: string, operator: SiteOperator, value: string): string {
  return `${by}${operator === "exact" ? "" : `.${operator}`}:${value}`;
}

/** A row's filter replaces the one before. */
export function withFilter(site: Site, { by, value }: { by: string; value: string }): Site {
  const otherFilters = site.filters.filter((filter) => filter.by !== by || filter.operator !== "exact");
  return { ...site, filters: [...otherFilters, { by, operator: "exact", values: [value] }] };
}

/** A filter more, or another value of one that takes several. */
export function withValue(site: Site, by: string, operator: SiteOperator, value: string): Site {
  const query = new URLSearchParams(siteAddress(site));
  query.append("filter", filterText(by, operator, value));
  return readSite(query);
}

export function nameFilter({ by, operator, values }: SiteFilter): string {
  const subject = subjects.get(by)!;
  const names = values.map((value) => (operator === "icontains" ? value : rowName(subject, value)));
  const word = siteOperators.find(([name]) => name === operator)![1];
  return `${subject.title}${operator === "exact" ? ":" : ` ${word}`} ${names.join(" or ")}`;
}

/** A filter by time zone only has events without a country, as its row has. */
function toFilters({ by, operator, values }: SiteFilter): object[] {
  const { key, type } = subjects.get(by)!;
  const unset = { operator: operator === "is_not" ? "is_set" : "is_not_set" };
  const value = operator === "icontains" ? values[0] : values;
  const comparison = values[0] === "" ? unset : { operator, value };
  return [{ key, type, ...comparison }, ...(by === byZone.by ? withoutCountry : [])];
}

const withoutCountry = [{ key: "$geoip_country_code", type: "event", operator: "is_not_set" }];

function toScope({ range, to, filters, withoutOwn }: Site) {
  return {
    dateRange: { date_from: range, ...(to !== "" && { date_to: to }) },
    properties: filters.flatMap(toFilters),
    ...(withoutOwn && { filterTestAccounts: true }),
  };
}

const toGoal = ({ goal }: Site) => goal !== "" && { conversionGoal: { customEventName: goal } };

export function overviewQuery(site: Site) {
  const compareFilter = { compare: true, ...(site.compareTo !== "" && { compare_to: site.compareTo }) };
  return { kind: "WebOverviewQuery", ...toScope(site), ...toGoal(site), compareFilter };
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
  visitors: ["Visitors", "dau"],
  views: ["Page views", "total"],
  sessions: ["Sessions", "unique_session"],
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
  const { properties, ...scope } = toScope(site);
  const excluded = by === byZone.by ? withoutCountry : [];
  return {
    kind: "WebStatsTableQuery",
    breakdownBy: by,
    ...scope,
    ...toGoal(site),
    // With a goal the API's own order is by what converts.
    ...(site.goal !== "" && { orderBy: ["Visitors", "DESC"] }),
    properties: [...properties, ...excluded],
    limit,
  };
}
