// Every field that a query may have changes its answer, is refused by name, or is on the list of fields that are not
// read.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { queryKinds } from "../../src/query/kinds.ts";
import { queryBody, wrapperModels } from "../../src/query/model.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested, storesOf } from "../support/server.ts";
import { storeEvents } from "./naive.ts";

afterAll(cleanUp, startMsMax);

const home = "/api/projects/1";
const hour = 3_600_000;
const noon = Date.UTC(2024, 2, 30, 12);
let app: RunningApp;

beforeAll(async () => {
  app = await startApp();
  const stores = await storesOf(app);
  const event = (i: number, name: string, distinct_id: string, at: number, properties: object = {}) => ({
    uuid: `00000000-0000-4000-8000-0000000000${String(i).padStart(2, "0")}`,
    event: name,
    distinct_id,
    at,
    properties: { $host: "shop.example", ...properties },
  });
  await storeEvents(stores, 1, [
    event(1, "seen", "ann", noon - 30 * hour, { plan: "pro", price: 10 }),
    event(2, "seen", "ann", noon, { plan: "pro", price: 3 }),
    event(3, "bought", "ann", noon + 2 * hour, { plan: "pro" }),
    event(4, "seen", "bob", noon + hour, { plan: "free", price: 5 }),
    event(5, "seen", "dev", noon + hour, { $host: "localhost" }),
    event(6, "bought", "dev", noon + hour + 60_000, { $host: "localhost" }),
    event(7, "seen", "eve", noon + 5 * hour, { plan: "team", price: 8 }),
    event(8, "seen", "eve", noon + 5 * hour + 1000, { plan: "team", price: 8 }),
    event(9, "bought", "eve", noon - 28 * hour),
    event(10, "seen", "ivy", noon + hour, { plan: "free" }),
    event(11, "bought", "ivy", noon + hour + 120_000, { plan: "free" }),
  ]);
  await capture(app, [
    { ...view("web", 0, "/"), distinct_id: "fay" },
    { ...view("web", 60, "/tea"), distinct_id: "fay" },
    { ...view("inner", 3600, "/", "localhost"), distinct_id: "dev" },
    { ...view("early", -24 * 3600, "/tea"), distinct_id: "gus" },
    { ...view("other", 90, "/cup"), distinct_id: "hal" },
  ]);
  const test_account_filters = [{ key: "$host", operator: "is_not", value: "localhost" }];
  await ask(app, "PATCH", `${home}/`, { test_account_filters });
}, startMsMax);

/** A page view, so many seconds after noon. */
function view(session: string, seconds: number, $pathname: string, $host = "shop.example"): object {
  const isWeb = session === "web";
  const properties = {
    $session_id: session,
    $pathname,
    $host,
    plan: isWeb ? "pro" : "free",
    $set: { tier: isWeb ? "gold" : "grey" },
  };
  return { event: "$pageview", timestamp: new Date(noon + seconds * 1000).toISOString(), properties };
}

async function capture(to: RunningApp, batch: object[]): Promise<void> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${to.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(to);
}

function run(query: unknown, more: object = {}): Promise<Answer> {
  return ask(app, "POST", `${home}/query/`, { query, ...more });
}

type Fields = Record<string, unknown>;

const dateRange = { date_from: "2024-03-29", date_to: "2024-03-31" };
const plan = [{ key: "plan", value: "pro" }];
const funnelSteps = [{ event: "seen" }, { event: "bought" }];
const seen = { id: "seen" };
const sqlCount = {
  kind: "HogQLQuery",
  query: "select event, count() from events where {filters} group by event",
};
const sqlNamed = { kind: "HogQLQuery", query: "select count() from events where event = {name}" };
const sqlVariable = {
  kind: "HogQLQuery",
  query: "select count() from events where event = {variables.name}",
};

/** A field with a value, in the query in which it should count; `from`: the same query without it. */
interface Case {
  from: Fields;
  to: Fields;
}

const compared = (query: Fields): Fields => ({ ...query, compareFilter: { compare: true } });
const trend: Fields = { kind: "TrendsQuery", series: [{ event: "seen" }], dateRange };
const funnel: Fields = { kind: "FunnelsQuery", series: funnelSteps, dateRange };
const rates = { ...funnel, funnelsFilter: { funnelVizType: "trends" } };
const times = { ...funnel, funnelsFilter: { funnelVizType: "time_to_convert" } };
const retention: Fields = {
  kind: "RetentionQuery",
  dateRange: { date_to: "2024-03-31" },
  retentionFilter: { totalIntervals: 3, targetEntity: seen, returningEntity: seen },
};
const saturday = { ...retention, dateRange: { date_to: "2024-03-30" } };
const summed = { aggregationType: "sum" };
const hours = { period: "Hour", totalIntervals: 31, returningEntity: { id: "bought" } };
const paths: Fields = { kind: "PathsQuery", dateRange };
const customPaths = { ...paths, pathsFilter: { includeEventTypes: ["custom_event"] } };
const lifecycle: Fields = { kind: "LifecycleQuery", series: [{ event: "seen" }], dateRange };
const stickiness: Fields = { kind: "StickinessQuery", series: [{ event: "seen" }], dateRange };
const criteria = (operator: string, value: number): Fields => ({
  ...stickiness,
  stickinessFilter: { stickinessCriteria: { operator, value } },
});
const overview: Fields = { kind: "WebOverviewQuery", properties: [], dateRange };
const pages: Fields = { kind: "WebStatsTableQuery", breakdownBy: "Page", properties: [], dateRange };
const people: Fields = { kind: "ActorsQuery", select: ["distinct_ids"] };
/** Those behind the links of paths. */
const peopleOf = (pathsFilter: Fields): Fields => ({
  ...people,
  source: { kind: "InsightActorsQuery", source: { kind: "PathsQuery", dateRange, pathsFilter } },
});
const visited: Fields = {
  kind: "SessionsQuery",
  select: ["session_id"],
  after: "2024-03-29",
  before: "2024-04-01",
};
const list: Fields = { kind: "EventsQuery", select: ["event", "distinct_id"], after: "2024-03-29" };

function changed(from: Fields, changes: Fields, also: Fields = {}): Case {
  return { from: { ...from, ...also }, to: { ...from, ...also, ...changes } };
}

function node(fields: Fields, without: Fields = {}): Case {
  const at = (own: Fields) => ({ ...trend, series: [{ event: "seen", ...own }] });
  return { from: at(without), to: at({ ...without, ...fields }) };
}

function within(from: Fields, name: string, fields: Fields, without: Fields = {}): Case {
  const before = (from[name] ?? {}) as Fields;
  return changed(
    from,
    { [name]: { ...before, ...without, ...fields } },
    { [name]: { ...before, ...without } },
  );
}

function entity(fields: Fields): Case {
  const own = retention["retentionFilter"] as Fields;
  return within(retention, "retentionFilter", { targetEntity: { ...seen, ...fields } }, own);
}

/** A trend of who saw, bought and never did a third thing, up to a step. */
const thereRates = (funnelToStep: number): Fields => ({
  ...funnel,
  series: [...funnelSteps, { event: "never" }],
  funnelsFilter: { funnelVizType: "trends", funnelToStep },
});

/** A trend of who did anything, saw and bought, from a step on. */
const backRates = (funnelFromStep: number): Fields => ({
  ...funnel,
  series: [{ event: null }, ...funnelSteps],
  funnelsFilter: { funnelVizType: "trends", funnelFromStep },
});

/** Ann's way with an exclusion, and with another or none. */
function excluding(exclusion: Fields, before?: Fields): Case {
  const price = (value: number) => [{ key: "price", value }];
  const isLate = exclusion["event"] === "bought";
  const last = { event: "never" };
  const steps = [
    { event: "seen", properties: price(10) },
    isLate ? { event: "seen", properties: price(3) } : { event: "bought" },
    last,
  ];
  const asked = (own: Fields[]) => ({
    ...funnel,
    series: steps,
    funnelsFilter: {
      exclusions: own.map((one) => ({ event: "seen", funnelFromStep: 0, funnelToStep: 2, ...one })),
    },
  });
  return { from: asked(before ? [before] : []), to: asked([exclusion]) };
}

const ranges = (from: Fields): Record<string, Case> => ({
  "dateRange.date_from": changed(from, { dateRange: { ...dateRange, date_from: "2024-03-30" } }),
  "dateRange.date_to": changed(from, { dateRange: { ...dateRange, date_to: "2024-03-29T12:30:00" } }),
  "dateRange.explicitDate": changed(
    from,
    { dateRange: { date_from: "2024-03-29", date_to: "2024-03-30", explicitDate: true } },
    { dateRange: { date_from: "2024-03-29", date_to: "2024-03-30" } },
  ),
  "dateRange.excludeIncompletePeriods": changed(
    from,
    {
      dateRange: { date_from: "2024-03-30T00:30:00", date_to: "2024-03-31", excludeIncompletePeriods: true },
    },
    { dateRange: { date_from: "2024-03-30T00:30:00", date_to: "2024-03-31" } },
  ),
  "dateRange.daysOfWeek": changed(from, { dateRange: { ...dateRange, daysOfWeek: [7] } }),
});

const every = (from: Fields): Record<string, Case> => ({
  properties: changed(from, { properties: plan }),
  filterTestAccounts: changed(from, { filterTestAccounts: true }),
});

/** By field: a query whose answer is another with it. */
const answered: Record<string, Record<string, Case>> = {
  TrendsQuery: {
    ...ranges(trend),
    ...every(trend),
    interval: changed(trend, { interval: "hour" }),
    "series[].event": node({ event: "bought" }),
    "series[].custom_name": node({ custom_name: "Looks" }),
    "series[].math": node({ math: "dau" }),
    "series[].math_property": node({ math_property: "price" }, { math: "sum", math_property: "cost" }),
    "series[].math_multiplier": node({ math_multiplier: 2 }, { math: "sum", math_property: "price" }),
    "series[].math_group_type_index": node(
      { math_group_type_index: 3 },
      { math: "unique_group", math_group_type_index: 0 },
    ),
    "series[].math_hogql": changed(
      trend,
      { series: [{ event: "seen", math: "hogql", math_hogql: "sum(properties.price)" }] },
      { series: [{ event: "seen", math: "hogql", math_hogql: "count()" }] },
    ),
    "series[].properties": node({ properties: plan }),
    "series[].fixedProperties": node({ fixedProperties: plan }),
    "breakdownFilter.breakdown": changed(trend, { breakdownFilter: { breakdown: "plan" } }),
    "breakdownFilter.breakdowns": changed(trend, { breakdownFilter: { breakdowns: [{ property: "plan" }] } }),
    "breakdownFilter.breakdowns[].property": changed(
      trend,
      { breakdownFilter: { breakdowns: [{ property: "plan" }] } },
      { breakdownFilter: { breakdowns: [{ property: "price" }] } },
    ),
    "breakdownFilter.breakdown_type": within(
      trend,
      "breakdownFilter",
      { breakdown_type: "hogql" },
      { breakdown: "'plan'" },
    ),
    "breakdownFilter.breakdowns[].type": changed(
      trend,
      { breakdownFilter: { breakdowns: [{ property: "'plan'", type: "hogql" }] } },
      { breakdownFilter: { breakdowns: [{ property: "'plan'" }] } },
    ),
    "breakdownFilter.breakdown_limit": within(
      trend,
      "breakdownFilter",
      { breakdown_limit: 1 },
      { breakdown: "plan" },
    ),
    "breakdownFilter.breakdown_hide_other_aggregation": within(
      trend,
      "breakdownFilter",
      { breakdown_hide_other_aggregation: true },
      { breakdown: "plan", breakdown_limit: 1 },
    ),
    "compareFilter.compare": changed(trend, { compareFilter: { compare: true } }),
    "compareFilter.compare_to": changed(compared(trend), {
      compareFilter: { compare: true, compare_to: "-1d" },
    }),
    "trendsFilter.display": changed(trend, { trendsFilter: { display: "BoldNumber" } }),
    "trendsFilter.smoothingIntervals": changed(trend, { trendsFilter: { smoothingIntervals: 2 } }),
    "trendsFilter.formula": changed(trend, { trendsFilter: { formula: "A * 2" } }),
    "trendsFilter.formulas": changed(trend, { trendsFilter: { formulas: ["A", "A * 2"] } }),
    "trendsFilter.formulaNodes[].formula": changed(trend, {
      trendsFilter: { formulaNodes: [{ formula: "A + 1" }] },
    }),
    "trendsFilter.formulaNodes[].custom_name": {
      from: { ...trend, trendsFilter: { formulaNodes: [{ formula: "A" }] } },
      to: { ...trend, trendsFilter: { formulaNodes: [{ formula: "A", custom_name: "Seen" }] } },
    },
  },
  FunnelsQuery: {
    ...ranges(funnel),
    "dateRange.date_from": changed(funnel, {
      dateRange: { ...dateRange, date_from: "2024-03-30T12:30:00" },
    }),
    ...every(funnel),
    series: changed(funnel, { series: [...funnelSteps, { event: "bought" }] }),
    aggregation_group_type_index: changed(funnel, { aggregation_group_type_index: 0 }),
    "funnelsFilter.funnelAggregateByHogQL": within(funnel, "funnelsFilter", {
      funnelAggregateByHogQL: "properties.plan",
    }),
    "breakdownFilter.breakdown": changed(funnel, { breakdownFilter: { breakdown: "plan" } }),
    "breakdownFilter.breakdowns": changed(funnel, {
      breakdownFilter: { breakdowns: [{ property: "plan" }] },
    }),
    interval: changed(rates, { interval: "week" }),
    "funnelsFilter.funnelVizType": within(funnel, "funnelsFilter", { funnelVizType: "trends" }),
    "funnelsFilter.funnelFromStep": changed(backRates(0), backRates(1)),
    "funnelsFilter.funnelToStep": changed(thereRates(2), thereRates(1)),
    "funnelsFilter.binCount": within(times, "funnelsFilter", { binCount: 7 }),
    "funnelsFilter.hideIncompleteConversionWindowPeriods": within(
      rates,
      "funnelsFilter",
      { hideIncompleteConversionWindowPeriods: true },
      { funnelWindowInterval: 2000, funnelWindowIntervalUnit: "week" },
    ),
    "funnelsFilter.funnelOrderType": within(funnel, "funnelsFilter", { funnelOrderType: "unordered" }),
    "funnelsFilter.exclusions": excluding({ event: "seen" }),
    "funnelsFilter.exclusions[].event": excluding({ event: "seen" }, { event: "never" }),
    "funnelsFilter.exclusions[].properties": excluding(
      { properties: plan },
      { properties: [{ key: "plan", value: "no" }] },
    ),
    "funnelsFilter.exclusions[].fixedProperties": excluding(
      { fixedProperties: plan },
      { fixedProperties: [{ key: "plan", value: "no" }] },
    ),
    "funnelsFilter.exclusions[].funnelFromStep": excluding({}, { funnelFromStep: 1 }),
    "funnelsFilter.exclusions[].funnelToStep": excluding(
      { event: "bought", funnelFromStep: 1 },
      { event: "bought", funnelToStep: 1 },
    ),
    "funnelsFilter.funnelWindowInterval": within(
      funnel,
      "funnelsFilter",
      { funnelWindowInterval: 1 },
      { funnelWindowIntervalUnit: "hour", funnelWindowInterval: 24 },
    ),
    "funnelsFilter.funnelWindowIntervalUnit": within(
      funnel,
      "funnelsFilter",
      { funnelWindowIntervalUnit: "minute" },
      { funnelWindowIntervalUnit: "day", funnelWindowInterval: 5 },
    ),
  },
  RetentionQuery: {
    ...every(retention),
    "dateRange.date_from": changed(retention, {
      dateRange: { date_from: "2024-03-25", date_to: "2024-03-31" },
    }),
    "dateRange.date_to": changed(retention, { dateRange: { date_to: "2024-03-30" } }),
    aggregation_group_type_index: changed(retention, { aggregation_group_type_index: 0 }),
    "breakdownFilter.breakdown": changed(retention, { breakdownFilter: { breakdown: "plan" } }),
    "breakdownFilter.breakdowns": changed(retention, {
      breakdownFilter: { breakdowns: [{ property: "plan" }] },
    }),
    "retentionFilter.aggregationType": within(retention, "retentionFilter", summed, {
      aggregationProperty: "price",
    }),
    "retentionFilter.aggregationProperty": within(
      retention,
      "retentionFilter",
      { ...summed, aggregationProperty: "price" },
      summed,
    ),
    "retentionFilter.aggregationPropertyType": within(
      retention,
      "retentionFilter",
      { ...summed, aggregationProperty: "price", aggregationPropertyType: "person" },
      { ...summed, aggregationProperty: "price" },
    ),
    "retentionFilter.retentionCustomBrackets": within(retention, "retentionFilter", {
      retentionCustomBrackets: [2],
    }),
    "retentionFilter.timeWindowMode": within(retention, "retentionFilter", {
      timeWindowMode: "24_hour_windows",
    }),
    "dateRange.explicitDate": changed(retention, {
      dateRange: { date_to: "2024-03-31", explicitDate: true },
    }),
    "dateRange.excludeIncompletePeriods": changed(
      retention,
      { dateRange: { excludeIncompletePeriods: true } },
      { dateRange: {} },
    ),
    "dateRange.daysOfWeek": changed(retention, { dateRange: { date_to: "2024-03-31", daysOfWeek: [7] } }),
    "retentionFilter.period": within(retention, "retentionFilter", { period: "Week" }),
    "retentionFilter.totalIntervals": within(retention, "retentionFilter", { totalIntervals: 2 }),
    "retentionFilter.retentionType": within(retention, "retentionFilter", {
      retentionType: "retention_first_time",
    }),
    "retentionFilter.cumulative": within(saturday, "retentionFilter", { cumulative: true }, hours),
    "retentionFilter.minimumOccurrences": within(retention, "retentionFilter", { minimumOccurrences: 2 }),
    "retentionFilter.targetEntity": within(retention, "retentionFilter", { targetEntity: { id: "bought" } }),
    "retentionFilter.returningEntity": within(retention, "retentionFilter", {
      returningEntity: { id: "never" },
    }),
    "retentionFilter.targetEntity.id": entity({ id: "bought" }),
    "retentionFilter.targetEntity.properties": entity({ properties: plan }),
  },
  PathsQuery: {
    ...ranges(paths),
    "dateRange.date_from": changed(paths, { dateRange: { ...dateRange, date_from: "2024-03-30T13:30:00" } }),
    ...every(paths),
    "pathsFilter.includeEventTypes": changed(paths, customPaths),
    "pathsFilter.startPoint": changed(paths, { pathsFilter: { startPoint: "bought" } }),
    "pathsFilter.endPoint": changed(paths, { pathsFilter: { endPoint: "seen" } }),
    "pathsFilter.excludeEvents": changed(paths, { pathsFilter: { excludeEvents: ["bought"] } }),
    "pathsFilter.pathGroupings": changed(paths, { pathsFilter: { pathGroupings: ["b*t"] } }),
    "pathsFilter.pathsHogQLExpression": changed(paths, {
      pathsFilter: { pathsHogQLExpression: "upper(event)" },
    }),
    "pathsFilter.localPathCleaningFilters[].regex": changed(paths, {
      pathsFilter: { localPathCleaningFilters: [{ regex: "e" }] },
    }),
    "pathsFilter.localPathCleaningFilters[].alias": changed(
      paths,
      { pathsFilter: { localPathCleaningFilters: [{ regex: "e", alias: "i" }] } },
      { pathsFilter: { localPathCleaningFilters: [{ regex: "e" }] } },
    ),
    "pathsFilter.stepLimit": changed(paths, { pathsFilter: { stepLimit: 2 } }),
    "pathsFilter.edgeLimit": changed(paths, { pathsFilter: { edgeLimit: 1 } }),
    "pathsFilter.minEdgeWeight": changed(paths, { pathsFilter: { minEdgeWeight: 3 } }),
    "pathsFilter.pathStartKey": { from: peopleOf({}), to: peopleOf({ pathStartKey: "1_never" }) },
    "pathsFilter.pathEndKey": { from: peopleOf({}), to: peopleOf({ pathEndKey: "2_never" }) },
    "pathsFilter.pathDropoffKey": { from: peopleOf({}), to: peopleOf({ pathDropoffKey: "1_never" }) },
    "pathsFilter.maxEdgeWeight": within(customPaths, "pathsFilter", { maxEdgeWeight: 1 }),
  },
  LifecycleQuery: {
    ...ranges(lifecycle),
    ...every(lifecycle),
    series: changed(lifecycle, { series: [{ event: "bought" }] }),
    aggregation_group_type_index: changed(lifecycle, { aggregation_group_type_index: 0 }),
    interval: changed(lifecycle, { interval: "week" }),
  },
  StickinessQuery: {
    ...ranges(stickiness),
    ...every(stickiness),
    series: changed(stickiness, { series: [{ event: "bought" }] }),
    interval: changed(stickiness, { interval: "week" }),
    intervalCount: changed(stickiness, { intervalCount: 2 }),
    "compareFilter.compare": changed(stickiness, { compareFilter: { compare: true } }),
    "compareFilter.compare_to": changed(compared(stickiness), {
      compareFilter: { compare: true, compare_to: "-1d" },
    }),
    "stickinessFilter.computedAs": changed(stickiness, { stickinessFilter: { computedAs: "cumulative" } }),
    "stickinessFilter.stickinessCriteria": changed(stickiness, {
      stickinessFilter: { stickinessCriteria: { operator: "gte", value: 2 } },
    }),
    "stickinessFilter.stickinessCriteria.operator": changed(criteria("gte", 1), criteria("exact", 1)),
    "stickinessFilter.stickinessCriteria.value": changed(criteria("gte", 1), criteria("gte", 2)),
  },
  ActorsQuery: {
    select: changed(people, { select: ["count()"] }),
    search: changed(people, { search: "fay" }),
    properties: changed(people, { properties: [{ key: "tier", value: "gold", type: "person" }] }),
    fixedProperties: changed(people, { fixedProperties: [{ key: "tier", value: "gold", type: "person" }] }),
    source: changed(people, { source: { kind: "InsightActorsQuery", source: trend, day: "2024-03-30" } }),
    orderBy: changed(people, { orderBy: ["created_at"] }),
    limit: changed(people, { limit: 1 }),
    offset: changed(people, { offset: 1 }),
  },
  SessionsQuery: {
    select: changed(visited, { select: ["$pageview_count"] }),
    where: changed(visited, { where: ["session_id = 'web'"] }),
    personId: changed(visited, { personId: "00000000-0000-4000-8000-000000000000" }),
    event: changed(visited, { event: "nothing" }),
    properties: changed(visited, {
      properties: [{ type: "session", key: "$session_duration", operator: "gt", value: 86_400 }],
    }),
    fixedProperties: changed(visited, {
      fixedProperties: [{ type: "person", key: "distinct_id", value: "nobody" }],
    }),
    after: changed(visited, { after: "2024-03-30" }),
    before: changed(visited, { before: "2024-03-30" }),
    orderBy: changed(visited, { orderBy: ["$start_timestamp"] }),
    limit: changed(visited, { limit: 1 }),
    offset: changed(visited, { offset: 1 }),
  },
  WebOverviewQuery: {
    ...ranges(overview),
    ...every(overview),
    "conversionGoal.customEventName": changed(overview, { conversionGoal: { customEventName: "bought" } }),
    compare: changed(overview, { compare: true }),
    "compareFilter.compare": changed(overview, { compareFilter: { compare: true } }),
    "compareFilter.compare_to": changed(compared(overview), {
      compareFilter: { compare: true, compare_to: "-1d" },
    }),
  },
  WebStatsTableQuery: {
    ...ranges(pages),
    ...every(pages),
    "conversionGoal.customEventName": changed(pages, { conversionGoal: { customEventName: "bought" } }),
    breakdownBy: changed(pages, { breakdownBy: "InitialPage" }),
    orderBy: changed(pages, { orderBy: ["Visitors", "ASC"] }),
    includeBounceRate: changed(pages, { includeBounceRate: true }),
    compare: changed(pages, { compare: true }),
    "compareFilter.compare": changed(pages, { compareFilter: { compare: true } }),
    "compareFilter.compare_to": changed(compared(pages), {
      compareFilter: { compare: true, compare_to: "-1d" },
    }),
    limit: changed(pages, { limit: 1 }),
    offset: changed(pages, { offset: 1 }),
  },
  EventsQuery: {
    ...every(list),
    select: changed(list, { select: ["uuid"] }),
    event: changed(list, { event: "bought" }),
    events: changed(list, { events: ["bought"] }),
    personId: changed(list, { personId: "00000000-0000-4000-8000-000000000000" }),
    where: changed(list, { where: ["event = 'bought'"] }),
    fixedProperties: changed(list, { fixedProperties: plan }),
    after: changed(list, { after: "2024-03-30" }),
    before: changed(list, { before: "2024-03-30" }),
    orderBy: changed(list, { orderBy: ["timestamp ASC"] }),
    limit: changed(list, { limit: 1 }),
    offset: changed(list, { offset: 2 }),
  },
  HogQLQuery: {
    query: changed(sqlCount, { query: "select count() from events" }),
    values: {
      from: { ...sqlNamed, values: { name: "seen" } },
      to: { ...sqlNamed, values: { name: "bought" } },
    },
    variables: {
      from: { ...sqlVariable, variables: { a: { code_name: "name", value: "seen" } } },
      to: { ...sqlVariable, variables: { a: { code_name: "name", value: "bought" } } },
    },
    "filters.properties": changed(sqlCount, { filters: { properties: plan } }),
    "filters.filterTestAccounts": changed(sqlCount, { filters: { filterTestAccounts: true } }),
    "filters.dateRange.date_from": changed(sqlCount, { filters: { dateRange: { date_from: "2024-03-30" } } }),
    "filters.dateRange.date_to": changed(sqlCount, { filters: { dateRange: { date_to: "2024-03-29" } } }),
  },
};

/** By field: values that are refused, in the query in which they stand. */
const refused: Record<string, Record<string, Fields>> = {
  TrendsQuery: {
    kind: { kind: "CalendarHeatmapQuery" },
    series: { series: [] },
    samplingFactor: { samplingFactor: 0.1 },
    aggregation_group_type_index: { aggregation_group_type_index: 0 },
    modifiers: { modifiers: { personsOnEventsMode: "disabled" } },
    conversionGoal: { conversionGoal: { actionId: 1 } },
    "series[].kind": { series: [{ kind: "ActionsNode" }] },
    "series[].math": { series: [{ math: "first_time_for_user_with_filters" }] },
    "series[].math_property_type": { series: [{ math_property_type: "group_properties" }] },
    "series[].math_property_revenue_currency": {
      series: [{ math_property_revenue_currency: { static: "EUR" } }],
    },
    "series[].optionalInFunnel": { series: [{ optionalInFunnel: true }] },
    "breakdownFilter.breakdown_type": { breakdownFilter: { breakdown_type: "cohort" } },
    "breakdownFilter.breakdowns[].type": {
      breakdownFilter: { breakdowns: [{ property: "a", type: "cohort" }] },
    },
    "breakdownFilter.breakdowns[].normalize_url": {
      breakdownFilter: { breakdowns: [{ property: "a", normalize_url: "maybe" }] },
    },
    "breakdownFilter.breakdowns[].histogram_bin_count": {
      breakdownFilter: { breakdowns: [{ property: "a", histogram_bin_count: 0 }] },
    },
    "breakdownFilter.breakdowns[].group_type_index": {
      breakdownFilter: { breakdowns: [{ property: "a", type: "group", group_type_index: 9 }] },
    },
    "breakdownFilter.breakdown_histogram_bin_count": {
      breakdownFilter: { breakdown_histogram_bin_count: 0 },
    },
    "breakdownFilter.breakdown_group_type_index": { breakdownFilter: { breakdown_group_type_index: 9 } },
    "breakdownFilter.breakdown_normalize_url": { breakdownFilter: { breakdown_normalize_url: "maybe" } },
    "breakdownFilter.breakdown_path_cleaning": { breakdownFilter: { breakdown_path_cleaning: true } },
    "compareFilter.compare_to": { compareFilter: { compare: true, compare_to: "1y" } },
    "trendsFilter.breakdown_histogram_bin_count": { trendsFilter: { breakdown_histogram_bin_count: 5 } },
    "trendsFilter.hideWeekends": { trendsFilter: { hideWeekends: true } },
  },
  FunnelsQuery: {
    kind: { kind: "Funnel" },
    "series[].math": { series: [{ event: "seen", math: "dau" }, { event: "bought" }] },
    samplingFactor: { samplingFactor: 0 },
    modifiers: { modifiers: { a: 1 } },
    "compareFilter.compare": { compareFilter: { compare: true } },
    "compareFilter.compare_to": { compareFilter: { compare_to: "-1y" } },
    "funnelsFilter.customAggregationTarget": { funnelsFilter: { customAggregationTarget: true } },
    "funnelsFilter.breakdownAttributionType": { funnelsFilter: { breakdownAttributionType: "middle" } },
    "funnelsFilter.breakdownAttributionValue": {
      funnelsFilter: { breakdownAttributionType: "step", breakdownAttributionValue: 2 },
    },
    "funnelsFilter.funnelVizType": { funnelsFilter: { funnelVizType: "flow" } },
    "funnelsFilter.funnelFromStep": { funnelsFilter: { funnelFromStep: 1 } },
    "funnelsFilter.funnelToStep": { funnelsFilter: { funnelToStep: 2 } },
    "funnelsFilter.binCount": { funnelsFilter: { binCount: 91 } },
    "breakdownFilter.breakdown": {
      funnelsFilter: { funnelVizType: "time_to_convert" },
      breakdownFilter: { breakdown: "plan" },
    },
    "funnelsFilter.exclusions[].kind": {
      funnelsFilter: { exclusions: [{ kind: "ActionsNode", funnelFromStep: 0, funnelToStep: 1 }] },
    },
    "funnelsFilter.exclusions[].math": {
      funnelsFilter: { exclusions: [{ math: "dau", funnelFromStep: 0, funnelToStep: 1 }] },
    },
    "funnelsFilter.exclusions[].funnelFromStep": {
      funnelsFilter: { exclusions: [{ event: "x", funnelFromStep: 1, funnelToStep: 1 }] },
    },
    "funnelsFilter.exclusions[].funnelToStep": {
      funnelsFilter: { exclusions: [{ event: "x", funnelFromStep: 0, funnelToStep: 2 }] },
    },
  },
  RetentionQuery: {
    kind: { kind: "Retention" },
    samplingFactor: { samplingFactor: "half" },
    modifiers: { modifiers: { a: 1 } },
    "breakdownFilter.breakdowns": {
      breakdownFilter: { breakdowns: [{ property: "plan" }, { property: "price" }] },
    },
    "retentionFilter.targetEntity.kind": { retentionFilter: { targetEntity: { kind: "ActionsNode" } } },
    "retentionFilter.targetEntity.type": { retentionFilter: { targetEntity: { type: "actions" } } },
    "retentionFilter.targetEntity.table_name": { retentionFilter: { targetEntity: { table_name: "t" } } },
    "retentionFilter.targetEntity.timestamp_field": {
      retentionFilter: { targetEntity: { timestamp_field: "t" } },
    },
    "retentionFilter.targetEntity.aggregation_target_field": {
      retentionFilter: { targetEntity: { aggregation_target_field: "t" } },
    },
    "retentionFilter.customAggregationTarget": { retentionFilter: { customAggregationTarget: true } },
    "retentionFilter.aggregationType": { retentionFilter: { aggregationType: "median" } },
    "retentionFilter.aggregationPropertyType": { retentionFilter: { aggregationPropertyType: "group" } },
    "retentionFilter.minimumOccurrences": { retentionFilter: { minimumOccurrences: 0 } },
    "retentionFilter.cumulative": {
      retentionFilter: { timeWindowMode: "24_hour_windows", cumulative: true },
    },
    "retentionFilter.retentionCustomBrackets": {
      retentionFilter: { timeWindowMode: "24_hour_windows", retentionCustomBrackets: [1, 2] },
    },
    "retentionFilter.timeWindowMode": { retentionFilter: { timeWindowMode: "12_hour_windows" } },
  },
  PathsQuery: {
    kind: { kind: "Paths" },
    samplingFactor: { samplingFactor: 0.1 },
    aggregation_group_type_index: { aggregation_group_type_index: 0 },
    modifiers: { modifiers: { a: 1 } },
    funnelPathsFilter: { funnelPathsFilter: { funnelPathType: "funnel_path_after_step" } },
    "pathsFilter.includeEventTypes[]": { pathsFilter: { includeEventTypes: ["click"] } },
    "pathsFilter.pathReplacements": { pathsFilter: { pathReplacements: true } },
  },
  LifecycleQuery: {
    kind: { kind: "Lifecycle" },
    series: { series: [] },
    samplingFactor: { samplingFactor: 0.1 },
    modifiers: { modifiers: { a: 1 } },
    customAggregationTarget: { customAggregationTarget: true },
    "series[].math": { series: [{ math: "sum", math_property: "price" }] },
  },
  StickinessQuery: {
    kind: { kind: "Stickiness" },
    series: { series: [] },
    samplingFactor: { samplingFactor: 0.1 },
    aggregation_group_type_index: { aggregation_group_type_index: 0 },
    modifiers: { modifiers: { a: 1 } },
    "compareFilter.compare_to": { compareFilter: { compare: true, compare_to: "1y" } },
    "series[].math": { series: [{ math: "unique_session" }] },
  },
  ActorsQuery: {
    kind: { kind: "Actors" },
    modifiers: { modifiers: { a: 1 } },
  },
  SessionsQuery: {
    kind: { kind: "Sessions" },
    eventProperties: { eventProperties: plan },
    actionId: { actionId: 1 },
    filterTestAccounts: { filterTestAccounts: true },
    modifiers: { modifiers: { a: 1 } },
  },
  WebOverviewQuery: {
    kind: { kind: "WebOverview" },
    "conversionGoal.actionId": { conversionGoal: { actionId: 1 } },
    doPathCleaning: { doPathCleaning: true },
    includeRevenue: { includeRevenue: true },
    sampling: { sampling: { enabled: true } },
    samplingFactor: { samplingFactor: 0.1 },
    aggregation_group_type_index: { aggregation_group_type_index: 0 },
    interval: { interval: "day" },
    modifiers: { modifiers: { a: 1 } },
    "compareFilter.compare_to": { compareFilter: { compare: true, compare_to: "1y" } },
  },
  WebStatsTableQuery: {
    kind: { kind: "WebStats" },
    breakdownBy: { breakdownBy: "FrustrationMetrics" },
    orderBy: { orderBy: ["BounceRate", "ASC"] },
    includeScrollDepth: { includeScrollDepth: true },
    includeAvgTimeOnPage: { includeAvgTimeOnPage: true },
    includeHost: { includeHost: true },
    "conversionGoal.actionId": { conversionGoal: { actionId: 1 } },
    doPathCleaning: { doPathCleaning: true },
    includeRevenue: { includeRevenue: true },
    sampling: { sampling: { enabled: true } },
    samplingFactor: { samplingFactor: 0.1 },
    aggregation_group_type_index: { aggregation_group_type_index: 0 },
    interval: { interval: "day" },
    modifiers: { modifiers: { a: 1 } },
    "compareFilter.compare_to": { compareFilter: { compare: true, compare_to: "1y" } },
  },
  EventsQuery: {
    kind: { kind: "Events" },
    actionId: { actionId: 1 },
    source: { source: { kind: "InsightActorsQuery" } },
    modifiers: { modifiers: { a: 1 } },
  },
  HogQLQuery: {
    kind: { kind: "SQL" },
    explain: { explain: true },
    modifiers: { modifiers: { a: 1 } },
    "filters.dateRange.explicitDate": { filters: { dateRange: { explicitDate: true } } },
  },
};

/** Fields of one kind that are the same in another, where the other's cases stand for both. */
const asInTrends = /^(series\[\]|breakdownFilter|funnelsFilter\.exclusions\[\])\./;
const asTheTarget = /^retentionFilter\.returningEntity\./;
/** Fields that change nothing. */
const ofNoUse: string[] = [];

interface Schema {
  title?: string;
  description?: string;
  type?: string;
  "x-empty"?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

/** The names of a model's fields that are not read: they may have any value, and say why. */
function unreadNames({ properties = {} }: Schema): string[] {
  const isUnread = (field: Schema) => field.description && !field.type && !field.anyOf && !field["x-empty"];
  return Object.keys(properties).filter((name) => name !== "query" && isUnread(properties[name]!));
}

/** Every field of a model, with its path; fields of fields after it. */
function pathsOf(schema: Schema, path: string): [path: string, owner: Schema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = path === "" ? name : `${path}.${name}`;
    const plain = field.anyOf?.find((one) => one.properties ?? one.items) ?? field;
    const inner = plain.items ?? plain;
    const deeper = inner.properties ? pathsOf(inner, plain.items ? `${own}[]` : own) : [];
    return [[own, schema] as [string, Schema], ...deeper];
  });
}

const bases: Record<string, Fields> = {
  TrendsQuery: trend,
  FunnelsQuery: funnel,
  RetentionQuery: retention,
  PathsQuery: paths,
  LifecycleQuery: lifecycle,
  StickinessQuery: stickiness,
  EventsQuery: list,
  ActorsQuery: people,
  SessionsQuery: visited,
  WebOverviewQuery: overview,
  WebStatsTableQuery: pages,
  HogQLQuery: sqlCount,
};

test("every field of every kind has a case here, or is not read and says why", () => {
  const without = Object.entries(queryKinds).flatMap(([kind, { schema }]) =>
    pathsOf(schema as Schema, "").flatMap(([path, owner]) => {
      const name = path.split(".").at(-1)!;
      const known = answered[kind]?.[path] ?? refused[kind]?.[path];
      const isParent = [...Object.keys(answered[kind]!), ...Object.keys(refused[kind]!)].some(
        (one) => one.startsWith(`${path}.`) || one.startsWith(`${path}[]`),
      );
      const elsewhere = (kind !== "TrendsQuery" && asInTrends.test(path)) || asTheTarget.test(path);
      const isUnread = unreadNames(owner).includes(name) || ofNoUse.includes(`${kind}.${path}`);
      return known || isParent || elsewhere || isUnread ? [] : [`${kind}.${path}`];
    }),
  );
  expect(without).toEqual([]);
});

for (const [kind, cases] of Object.entries(answered)) {
  describe(`a field of a ${kind} changes its answer`, () => {
    for (const [path, { from, to }] of Object.entries(cases)) {
      test(path, async () => {
        const [before, after] = [await run(from), await run(to)];
        expect([before.status, after.status, after.body["detail"]]).toEqual([200, 200, undefined]);
        expect(after.body["results"]).not.toEqual(before.body["results"]);
      });
    }
  });
}

for (const [kind, cases] of Object.entries(refused)) {
  test(`what is not answered of a ${kind} is refused by name`, async () => {
    for (const [path, fields] of Object.entries(cases)) {
      const { status, body } = await run({ ...bases[kind], ...fields });
      const named = path.replaceAll("[]", "__0").replaceAll(".", "__");
      expect([path, status, body["attr"]]).toEqual([path, 400, `query__${named}`]);
    }
  });
}

test("null and what means nothing are as good as no field", async () => {
  const nothing = {
    samplingFactor: 1,
    aggregation_group_type_index: null,
    modifiers: {},
    properties: [],
    filterTestAccounts: false,
    conversionGoal: null,
    breakdownFilter: { breakdown_type: "event", breakdown_normalize_url: false },
    compareFilter: { compare: false, compare_to: null },
    trendsFilter: {
      formula: null,
      formulas: [],
      formulaNodes: null,
      smoothingIntervals: 1,
      hideWeekends: false,
    },
  };
  expect((await run({ ...trend, ...nothing })).body["results"]).toEqual((await run(trend)).body["results"]);
  const funnelsFilter = { exclusions: [], funnelAggregateByHogQL: "person_id" };
  const plain = await run(funnel);
  expect((await run({ ...funnel, funnelsFilter })).body["results"]).toEqual(plain.body["results"]);
});

test("fields that are not read change nothing, and an insight keeps them", async () => {
  const trends = queryKinds["TrendsQuery"]!.schema as Schema;
  const ownFilter = pathsOf(trends, "").find(([, { title }]) => title === "TrendsFilter")![1];
  const trendsFilter = Object.fromEntries(unreadNames(ownFilter).map((name) => [name, "any"]));
  const own = Object.fromEntries(unreadNames(trends).map((name) => [name, { any: 1 }]));
  const viz = unreadNames(wrapperModels.InsightVizNode as Schema);
  const wrapper = Object.fromEntries(viz.map((name) => [name, true]));
  const query = { ...wrapper, kind: "InsightVizNode", source: { ...trend, ...own, trendsFilter } };
  const body = Object.fromEntries(unreadNames(queryBody as Schema).map((name) => [name, "any"]));
  expect((await run(query, body)).body["results"]).toEqual((await run(trend)).body["results"]);
  const made = await ask(app, "POST", `${home}/insights/`, { query });
  expect([made.status, made.body["query"]]).toEqual([201, query]);
});

test("a name that nothing has is refused, wherever it stands", async () => {
  const unknown: [Fields, attr: string][] = [
    [{ ...trend, sampling: 1 }, "query__sampling"],
    [{ ...trend, series: [{ event: "seen", filter: 1 }] }, "query__series__0__filter"],
    [{ ...trend, dateRange: { from: "-7d" } }, "query__dateRange__from"],
    [{ ...trend, trendsFilter: { compare: true } }, "query__trendsFilter__compare"],
    [{ ...trend, compareFilter: { period: 1 } }, "query__compareFilter__period"],
    [{ ...trend, breakdownFilter: { limit: 1 } }, "query__breakdownFilter__limit"],
    [{ ...funnel, funnelsFilter: { order: 1 } }, "query__funnelsFilter__order"],
    [{ ...retention, retentionFilter: { periods: 3 } }, "query__retentionFilter__periods"],
    [{ ...list, filter: 1 }, "query__filter"],
    [{ kind: "InsightVizNode", source: trend, filters: 1 }, "query__filters"],
    [{ kind: "DataTableNode", source: list, filters: 1 }, "query__filters"],
    [{ kind: "DataTableNode", source: { ...list, filter: 1 } }, "query__source__filter"],
    [{ ...trend, properties: [{ key: "plan", value: "pro", negate: true }] }, "query__properties__0__negate"],
    [{ ...trend, properties: { type: "AND", values: [], not: 1 } }, "query__properties__not"],
  ];
  for (const [query, attr] of unknown) {
    const { status, body } = await run(query);
    expect([attr, status, body["attr"]]).toEqual([attr, 400, attr]);
  }
  expect((await run(trend, { filters: {} })).body["attr"]).toBe("filters");
  const override = await run(trend, { filters_override: { date_from: "-1d" } });
  expect([override.status, override.body["attr"]]).toEqual([400, "filters_override"]);
  expect((await run(trend, { filters_override: null, variables_override: {} })).status).toBe(200);
});

test("refresh is one of PostHog's modes", async () => {
  for (const refresh of ["blocking", "force_blocking", "force_cache", true, false, null]) {
    expect([refresh, (await run(trend, { refresh })).status]).toEqual([refresh, 200]);
  }
  expect((await run(trend, { refresh: "force_async" })).status).toBe(202);
  expect((await run(trend, { async: "perhaps" })).body["attr"]).toBe("async");
  const { status, body } = await run(trend, { refresh: "sometimes" });
  expect([status, body["attr"]]).toEqual([400, "refresh"]);
});

test("the body of a request and the wrappers have no field that is neither answered nor listed", () => {
  const answered = ["query", "filters_override", "variables_override", "refresh", "async", "client_query_id"];
  const schemas: Record<string, Schema> = {
    ...(wrapperModels as Record<string, Schema>),
    QueryRequest: queryBody as Schema,
  };
  for (const [name, schema] of Object.entries(schemas)) {
    const own = name === "QueryRequest" ? answered : ["kind", "source"];
    expect(Object.keys(schema.properties ?? {})).toEqual([...own, ...unreadNames(schema)]);
  }
});
