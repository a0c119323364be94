// A property that PostHog's ingestion takes from events into their persons is refused by name wherever it is asked for
// and no person has it: an empty answer would look as if nobody came from anywhere.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;

beforeAll(async () => {
  app = await startApp();
  await store("[]", "[]", "[]");
}, startMsMax);

/** Stores a page view of "ann" that sets these properties of hers. */
async function store(keys: string, kinds: string, values: string): Promise<void> {
  const { clickhouse } = await storesOf(app);
  await clickhouse.command(
    `INSERT INTO event_feed (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv)
     SELECT generateUUIDv4(), 1, '$pageview', 'ann', '{}', now64(6), now64(6), ${keys}, ${kinds}, ${values}`,
  );
}

const key = "$initial_utm_source";
const filter = { key, value: "ad", operator: "exact", type: "person" };
const properties = [filter];
const view = { kind: "EventsNode", event: "$pageview" };
const series = [view];
const steps = [view, view];
const nested = { type: "AND", values: [{ type: "OR", values: [filter] }] };

const queries: Record<string, object> = {
  "a trend's filter": { kind: "TrendsQuery", series, properties },
  "a negated filter": { kind: "TrendsQuery", series, properties: [{ ...filter, operator: "is_not_set" }] },
  "a filter in groups": { kind: "TrendsQuery", series, properties: nested },
  "a series' filter": { kind: "TrendsQuery", series: [{ ...view, properties }] },
  "a filter in SQL": {
    kind: "TrendsQuery",
    series,
    properties: [{ type: "hogql", key: `person.properties.${key} = 'ad'` }],
  },
  "a trend's breakdown": {
    kind: "TrendsQuery",
    series,
    breakdownFilter: { breakdown: key, breakdown_type: "person" },
  },
  "a funnel's filter": { kind: "FunnelsQuery", series: steps, properties },
  "a funnel's breakdown": {
    kind: "FunnelsQuery",
    series: steps,
    breakdownFilter: { breakdowns: [{ property: key, type: "person" }] },
  },
  "an exclusion's filter": {
    kind: "FunnelsQuery",
    series: steps,
    funnelsFilter: { exclusions: [{ event: "left", properties, funnelFromStep: 0, funnelToStep: 1 }] },
  },
  "a retention's filter": {
    kind: "RetentionQuery",
    retentionFilter: { targetEntity: { id: "$pageview", properties } },
  },
  "a lifecycle's filter": { kind: "LifecycleQuery", series, properties },
  "a stickiness's filter": { kind: "StickinessQuery", series: [{ ...view, properties }] },
  "a filter of paths": { kind: "PathsQuery", properties },
  "a filter of events": { kind: "EventsQuery", select: ["event"], properties },
  "a column of events": { kind: "EventsQuery", select: [`person.properties.${key}`] },
  "a filter of persons": { kind: "ActorsQuery", properties },
  "persons behind a trend": {
    kind: "ActorsQuery",
    source: { kind: "InsightActorsQuery", source: { kind: "TrendsQuery", series, properties } },
  },
  "a filter of the web's figures": { kind: "WebOverviewQuery", properties },
  "filters of SQL": {
    kind: "HogQLQuery",
    query: "select count() from events where {filters}",
    filters: { properties },
  },
  SQL: { kind: "HogQLQuery", query: `select person.properties.${key} from events` },
  "a joined table of SQL": {
    kind: "HogQLQuery",
    query: `select p.properties['${key}'] from events e join persons p on p.id = e.person_id`,
  },
};

const lists = ["persons/", "events/", "session_recordings/"].map(
  (path) => `/api/projects/1/${path}?properties=${encodeURIComponent(JSON.stringify(properties))}`,
);

const run = (query: object) => ask(app, "POST", "/api/projects/1/query/", { query });

for (const [name, query] of Object.entries(queries)) {
  test(`${name} is refused`, async () => {
    const { status, body } = await run(query);
    expect([status, body["detail"]]).toEqual([400, expect.stringContaining(`has "${key}"`)]);
  });
}

const exported = {
  name: "Persons",
  model: "persons",
  interval: "hour",
  destination: { type: "NoOp", config: {} },
  filters: properties,
};

test("filters of exports are refused", async () => {
  const { status, body } = await ask(app, "POST", "/api/projects/1/batch_exports/", exported);
  expect([status, body["attr"], body["detail"]]).toEqual([
    400,
    "filters",
    expect.stringContaining(`has "${key}"`),
  ]);
});

test("lists are refused", async () => {
  for (const path of lists) {
    const { status, body } = await ask(app, "GET", path);
    expect([path, status, body["attr"], body["detail"]]).toEqual([
      path,
      400,
      "properties",
      expect.stringContaining(`has "${key}"`),
    ]);
  }
});

test("each is answered once a person has it, and properties of events always are", async () => {
  const own = { ...filter, type: "event" };
  expect((await run({ kind: "TrendsQuery", series, properties: [own] })).status).toBe(200);
  await store(`['${key}']`, "[1]", `['"ad"']`);
  for (const [name, query] of Object.entries(queries)) {
    const { status, body } = await run(query);
    expect([name, status, body["detail"]]).toEqual([name, 200, undefined]);
  }
  for (const path of lists) expect([path, (await ask(app, "GET", path)).status]).toEqual([path, 200]);
  expect((await ask(app, "POST", "/api/projects/1/batch_exports/", exported)).status).toBe(201);
});
