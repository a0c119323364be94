// Persons behind numbers: the assertions of PostHog's test_trends_persons.py, test_actors_query_runner.py,
// test_trends_actors_query_builder.py and test_trends_breakdown_empty_null_properties.py, and public threads.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let views: PeerProject;
let numbers: PeerProject;
let firsts: PeerProject;
let berlin: PeerProject;

const at = (day: string, hour: number) => `${day} ${hour}:00:00`;
const april = "2023-04-29";
const may = "2023-05-01";

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const view = (person: string, day: string, hour: number, properties: object = {}): Happening => {
    const $geoip_country_code = person === "person1" ? "US" : "DE";
    return [person, "$pageview", at(day, hour), { ...properties, $set: { $geoip_country_code } }];
  };
  const [chrome, safari] = [{ $browser: "Chrome" }, { $browser: "Safari" }];
  views = await makeProject(app, [
    view("person1", april, 16, chrome),
    ["person1", "$pageleave", at(april, 17), chrome],
    view("person2", april, 17, safari),
    view("person2", april, 18, safari),
    view("person1", may, 16, { ...chrome, some_property: 20 }),
    view("person1", may, 17, chrome),
    view("person1", may, 18, chrome),
    view("person2", may, 16, { ...safari, some_property: 22 }),
    view("person2", may, 17, safari),
    view("person3", may, 16, safari),
    view("person1", "2023-05-06", 16, { some_property: 20 }),
  ]);
  numbers = await makeProject(app, [
    view("person1", april, 16, { some_property: 20, bool: true }),
    view("person2", april, 17, { some_property: 60, bool: false }),
    view("person3", april, 17),
    view("person1", may, 16, { some_property: 40 }),
    view("person1", may, 18, { some_property: 0 }),
    view("person2", may, 17, { some_property: 80 }),
    view("person3", may, 16, safari),
    view("person1", "2023-05-06", 16, { some_property: 20 }),
  ]);
  const days = [8, 9, 10, 11].flatMap((day) =>
    [1, 2, 3, 4].map((i): Happening => {
      const properties = {
        $browser: day > 9 ? "Firefox" : "Chrome",
        kind: i === 3 ? "3" : "1",
        current_url: "https://example.com/",
      };
      return [`p${i}`, "$pageview", at(`2020-01-${String(day).padStart(2, "0")}`, 12), properties];
    }),
  );
  firsts = await makeProject(app, days);
  berlin = await makeProject(
    app,
    [
      ["early", "$pageview", "2023-05-08T13:30:00Z", {}],
      ["late", "$pageview", "2023-05-08T15:30:00Z", {}],
      ["night", "$pageview", "2023-05-07T22:30:00Z", {}],
    ],
    { timezone: "Europe/Berlin" },
  );
}, startMsMax);
afterAll(cleanUp, startMsMax);

const pageviews = { event: "$pageview" };
const trends = (more: object = {}, series: object[] = [pageviews]) => ({
  kind: "TrendsQuery",
  series,
  dateRange: { date_from: "2023-04-29", date_to: "2023-05-07" },
  ...more,
});
const by = (breakdownFilter: object) => trends({ breakdownFilter });

type Row = [{ distinct_ids: string[] }, number];

/** The persons behind a number, those with most events first. */
async function behind(project: PeerProject, source: object, figure: object): Promise<[string, number][]> {
  const rows = await project.results<Row>({
    kind: "ActorsQuery",
    select: ["actor", "event_count"],
    orderBy: ["event_count DESC, actor_id DESC"],
    source: { kind: "InsightActorsQuery", includeRecordings: true, source, ...figure },
  });
  return rows.map(([{ distinct_ids }, count]) => [distinct_ids[0]!, count]);
}

const none: [string, number][] = [];
const de: [string, number][] = [
  ["person2", 2],
  ["person3", 1],
];
const one: [string, number][] = [["person1", 1]];
const nothing = "$$_posthog_breakdown_null_$$";
const several = (part: object) => by({ breakdowns: [part] });

// PostHog/posthog#12685, #54667, #6234: each with how many events they have there.
test.each([
  [trends(), { day: april }, [["person2", 2], ...one]],
  [trends({}, [pageviews, { event: "$pageleave" }]), { day: april, series: 1 }, one],
  [by({ breakdown: "$browser" }), { day: may, breakdown: "Safari" }, de],
  [by({ breakdown: "$browser" }), { day: may, breakdown: "Firefox" }, none],
  [by({ breakdown: "$geoip_country_code", breakdown_type: "person" }), { day: may, breakdown: "DE" }, de],
  [by({ breakdown: "$geoip_country_code", breakdown_type: "person" }), { day: may, breakdown: "UK" }, none],
  [by({ breakdown: "$browser", breakdown_limit: 1 }), { day: "2023-05-06", breakdown: "Chrome" }, none],
  [by({ breakdown: "$browser", breakdown_limit: 1 }), { day: "2023-05-06", breakdown: nothing }, one],
  [by({ breakdown: "$browser", breakdown_limit: 1 }), { day: april, breakdown: "Chrome" }, one],
  [by({ breakdown: "properties.some_property", breakdown_type: "hogql" }), { day: may, breakdown: 20 }, one],
  [by({ breakdown: "properties.some_property", breakdown_type: "hogql" }), { day: may, breakdown: 10 }, none],
  [several({ property: "$browser" }), { day: may, breakdown: ["Safari"] }, de],
  [several({ property: "$browser" }), { day: may, breakdown: ["Firefox"] }, none],
  [several({ property: "$geoip_country_code", type: "person" }), { day: may, breakdown: ["DE"] }, de],
  [several({ property: "$geoip_country_code", type: "person" }), { day: may, breakdown: ["UK"] }, none],
  [several({ property: "$browser" }), { day: "2023-05-06", breakdown: [nothing] }, one],
  [several({ property: "properties.some_property", type: "hogql" }), { day: may, breakdown: ["20"] }, one],
  [several({ property: "properties.some_property", type: "hogql" }), { day: may, breakdown: ["10"] }, none],
  [
    trends({ trendsFilter: { display: "BoldNumber" } }),
    {},
    [
      ["person1", 5],
      ["person2", 4],
      ["person3", 1],
    ],
  ],
])("behind %j at %j", async (source, figure, expected) => {
  expect((await behind(views, source, figure)).toSorted()).toEqual(
    (expected as [string, number][]).toSorted(),
  );
});

// test_trends_compare_persons.
test("behind the number of the time before are the persons of that time", async () => {
  const dateRange = { date_from: "2023-04-30", date_to: "2023-05-06" };
  const source = trends({ dateRange, compareFilter: { compare: true } });
  expect(await behind(views, source, { day: "2023-05-06", compare: "current" })).toEqual(one);
  // Its own day, and as at PostHog the day that it is compared with.
  for (const day of [april, "2023-05-06"])
    expect(await behind(views, source, { day, compare: "previous" })).toEqual([["person2", 2], ...one]);
});

// test_trends_breakdown_filter_by_range, test_trends_breakdown_by_boolean.
test.each([
  [{ breakdown: "some_property", breakdown_histogram_bin_count: 4 }, "[0,20]", may, ["person1"]],
  [{ breakdown: "some_property", breakdown_histogram_bin_count: 4 }, nothing, may, ["person3"]],
  [{ breakdowns: [{ property: "some_property", histogram_bin_count: 4 }] }, ["[0,20]"], may, ["person1"]],
  [{ breakdowns: [{ property: "some_property", histogram_bin_count: 4 }] }, [nothing], may, ["person3"]],
  [{ breakdown: "bool", breakdown_limit: 1 }, "true", april, ["person1"]],
  [{ breakdown: "bool", breakdown_limit: 1 }, "false", april, ["person2"]],
  [{ breakdown: "bool", breakdown_limit: 1 }, nothing, april, ["person3"]],
  [{ breakdowns: [{ property: "bool" }], breakdown_limit: 1 }, ["true"], april, ["person1"]],
  [{ breakdowns: [{ property: "bool" }], breakdown_limit: 1 }, ["false"], april, ["person2"]],
  [{ breakdowns: [{ property: "bool" }], breakdown_limit: 1 }, [nothing], april, ["person3"]],
])("behind %j, the value %j on %s", async (breakdownFilter, breakdown, day, expected) => {
  const found = await behind(numbers, by(breakdownFilter), { day, breakdown });
  expect(found.map(([id]) => id).toSorted()).toEqual(expected);
});

// test_trends_math_first_time_ever.
test.each([
  [april, ["person1", "person2"]],
  ["2023-04-30", []],
  [may, ["person3"]],
  ["2023-05-02", []],
])("those who came for the first time on %s", async (day, expected) => {
  const source = trends({}, [{ ...pageviews, math: "first_time_for_user" }]);
  expect((await behind(views, source, { day })).map(([id]) => id).toSorted()).toEqual(expected as string[]);
});

// test_actors_query_for_first_matching_event, test_actors_query_url_normalization.
test.each([
  [{ breakdown: "kind" }, "3", 1],
  [{ breakdown: "current_url", breakdown_normalize_url: true }, "https://example.com", 4],
])("first matching events by %j", async (breakdownFilter, breakdown, count) => {
  const properties = [{ key: "$browser", type: "event", operator: "exact", value: "Firefox" }];
  const source = {
    ...trends({ breakdownFilter }, [{ ...pageviews, math: "first_matching_event_for_user", properties }]),
    dateRange: { date_from: "2020-01-08", date_to: "2020-01-11" },
    interval: "day",
  };
  const figure = { kind: "InsightActorsQuery", source, day: "2020-01-10T00:00:00Z", breakdown };
  expect(await firsts.results({ kind: "ActorsQuery", source: figure })).toHaveLength(count);
});

// test_time_frame: a moment means that moment, whatever zone it is written in.
test.each([
  ["day", "2023-05-08", ["early", "late", "night"]],
  ["day", "2023-05-08T15:00:00Z", ["early", "late", "night"]],
  ["hour", "2023-05-08 15:00:00", ["early"]],
  ["hour", "2023-05-08T15:00:00", ["early"]],
  ["hour", "2023-05-08T15:00:00Z", ["late"]],
  ["hour", "2023-05-08T06:00:00-07:00", ["early"]],
  ["hour", "2023-05-08T15:00:00+02:00", ["early"]],
])("by %s behind %s", async (interval, day, expected) => {
  const source = { ...trends({ interval }), dateRange: { date_from: "2023-05-07", date_to: "2023-05-09" } };
  const found = await behind(berlin, source, { day });
  expect(found.map(([id]) => id).toSorted()).toEqual(expected);
});

// test_source_hogql_query_poe_on, test_source_lifecycle_query.
test("persons are those whom a query in SQL selects", async () => {
  const select = ["properties.$geoip_country_code"];
  const persons = (source: object) => views.results({ kind: "ActorsQuery", select, source });
  const query = "select distinct person_id from events where event = '$pageleave'";
  expect(await persons({ kind: "HogQLQuery", query })).toEqual([["US"]]);
});

test("persons of a whole lifecycle need no interval and no status", async () => {
  const source = { ...trends(), kind: "LifecycleQuery" };
  const figure = { kind: "InsightActorsQuery", source };
  expect(await views.results({ kind: "ActorsQuery", select: ["id"], source: figure })).toHaveLength(3);
});

// PostHog/posthog#10691: without a value of the breakdown, the persons of all values.
test("a step of a funnel by a property has the persons of all values, or of one", async () => {
  const series = [pageviews, { event: "$pageleave" }];
  const source = { ...trends({ breakdownFilter: { breakdown: "$browser" } }, series), kind: "FunnelsQuery" };
  const persons = (figure: object) =>
    views.results({
      kind: "ActorsQuery",
      select: ["id"],
      source: { kind: "FunnelsActorsQuery", source, ...figure },
    });
  expect(await persons({ funnelStep: 1 })).toHaveLength(3);
  expect(await persons({ funnelStep: 1, funnelStepBreakdown: "Safari" })).toHaveLength(2);
});
