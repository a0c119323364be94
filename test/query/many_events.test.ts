// Every kind of query over 200,000 events and two changes of clocks, compared with a walk over the events themselves.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type FunnelStep,
  noValue,
  type PathLink,
  type RetentionCohort,
  type TrendLine,
  type WebFigure,
} from "../../src/query/result.ts";
import { trimCohorts } from "../../src/query/results/figures.ts";
import type { WebBreakdown } from "../../src/query/web/model.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested } from "../support/server.ts";
import { stepsOf } from "./funnel/naive_funnel.ts";
import {
  bodiesOf,
  eventCount,
  localClock,
  type MadeEvent,
  type MadePerson,
  type MadeSession,
  makeManyEvents,
  manyZones,
} from "./many_events.ts";
import { dayStart, type NaiveEvent } from "./naive.ts";
import { linksOf } from "./paths/naive_paths.ts";

afterAll(cleanUp, startMsMax);

const world = makeManyEvents();
const { events, sessions, persons } = world;
let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const headers = { "content-type": "application/json" };
  for (const body of bodiesOf(world, projectKey)) {
    expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  }
  await rested(app);
}, startMsMax);

/** Asked again for as long as the machine is too busy. */
async function run(query: object): Promise<{ results: unknown[][]; hasMore: boolean }> {
  for (;;) {
    const body = { query, refresh: "force_blocking" };
    const reply = await ask(app, "POST", "/api/projects/1/query/", body);
    if (reply.status === 503) continue;
    expect([query, reply.status, reply.body["detail"]]).toEqual([query, 200, undefined]);
    return reply.body as never;
  }
}

async function figures<Figure>(query: object): Promise<Figure[]> {
  return (await run(query)).results as unknown as Figure[];
}

/** Each person by one id. */
const asNaive = (some: readonly MadeEvent[]): NaiveEvent[] =>
  some.map(({ person, ...one }) => ({ ...one, distinct_id: person.ids[0]! }));

/** A page of a list, and whether there is more. */
function pageOf<Value>(list: readonly Value[], offset: number, limit: number) {
  return { results: list.slice(offset, offset + limit), hasMore: list.length > offset + limit };
}

/** How often each value comes, the most frequent first and of one number by value. */
function countsOf(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const one of values) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

const mean = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const secondOf = (at: number): number => Math.floor(at / 1000);
const dayBeforeOf = (day: string): string => Temporal.PlainDate.from(day).subtract({ days: 1 }).toString();
const isView = ({ event }: MadeEvent): boolean => event === "$pageview" || event === "$screen";
const startOf = ({ events: own }: MadeSession): number => own[0]!.at;
const durationOf = ({ events: own }: MadeSession): number => secondOf(own.at(-1)!.at) - secondOf(own[0]!.at);
const pathOf = (one: MadeEvent | undefined): string => String(one?.properties["$pathname"] ?? "");
const withUrl = ({ events: own }: MadeSession) => own.filter(({ properties }) => properties["$current_url"]);
const entryOf = (one: MadeSession): string => pathOf(withUrl(one)[0]);
const exitOf = (one: MadeSession): string => pathOf(withUrl(one).at(-1));
const isBounce = (one: MadeSession): boolean =>
  one.events.filter(isView).length <= 1 &&
  !one.events.some(({ event }) => event === "$autocapture") &&
  durationOf(one) < 10;

test("the events are as many as they should be, and persons and visits are of all sorts", () => {
  expect(events.length).toBe(eventCount);
  expect(sessions.length).toBeGreaterThan(10_000);
  expect(sessions.filter(isBounce).length).toBeGreaterThan(1000);
  expect(new Set(sessions.map(({ channel }) => channel)).size).toBe(7);
  expect(persons.filter(({ email }) => email === undefined).length).toBe(300);
});

describe.each(manyZones)("in %s", (zone) => {
  const local = localClock(zone);
  const [first, last, after] = ["2024-03-30", "2024-04-07", "2024-04-08"] as const;
  const [from, to] = [dayStart(first, zone), dayStart(after, zone)];
  const within = events.filter(({ at }) => at >= from && at < to);
  const dateRange = { date_from: first, date_to: last };

  beforeAll(async () => {
    expect((await ask(app, "PATCH", "/api/projects/1/", { timezone: zone })).status).toBe(200);
  });

  describe("EventsQuery", () => {
    // `after` is exclusive, and no event is at midnight.
    const query = { kind: "EventsQuery", after: first, before: after };

    test("lists columns by time, both ways, with a filter, page by page", async () => {
      const select = ["uuid", "event", "distinct_id", "properties.$os", "timestamp"];
      const properties = [{ key: "$browser", value: ["Firefox", "Safari"] }];
      const listed = within
        .filter(({ event, properties: { $browser } }) => event === "bought" && /^[FS]/.test(String($browser)))
        .toSorted((a, b) => a.at - b.at);
      expect(listed.length).toBeGreaterThan(4000);
      for (const way of ["ASC", "DESC"]) {
        const ordered = way === "ASC" ? listed : listed.toReversed();
        for (const [offset, limit] of [
          [0, 10],
          [1111, 1000],
          [listed.length - 7, 100],
        ] as const) {
          const asked = { ...query, select, event: "bought", properties, orderBy: [`timestamp ${way}`] };
          const { results, hasMore } = await run({ ...asked, offset, limit });
          const page = pageOf(ordered, offset, limit);
          expect(hasMore).toBe(page.hasMore);
          expect(
            results.map(([uuid, event, id, os, at]) => [uuid, event, id, os, Date.parse(String(at))]),
          ).toEqual(
            page.results.map((one) => [one.uuid, one.event, one.distinct_id, one.properties["$os"], one.at]),
          );
        }
      }
    });

    test("lists whole events with their persons, by expressions and conditions", async () => {
      const select = ["*", "person", "person_display_name -- Person", "toHour(timestamp)"];
      const where = ["properties.price > 90", "person.properties.plan = 'pro'", "event = 'bought'"];
      const priceOf = ({ properties }: MadeEvent): number => Number(properties["price"]);
      const listed = within
        .filter((one) => one.person.plan === "pro" && one.person.email !== undefined && priceOf(one) > 90)
        .toSorted((a, b) => priceOf(b) - priceOf(a) || a.at - b.at);
      expect(listed.length).toBeGreaterThan(200);
      const orderBy = ["properties.price DESC", "timestamp ASC"];
      const { results, hasMore } = await run({ ...query, select, where, orderBy, limit: 90, offset: 40 });
      const page = pageOf(listed, 40, 90);
      expect(hasMore).toBe(page.hasMore);
      const shown = results as [MadeEvent, { properties: object }, { display_name: string }, number][];
      expect(
        shown.map(([{ uuid, event, properties, distinct_id }, person, { display_name }, hour]) => [
          [uuid, event, properties, distinct_id],
          person.properties,
          display_name,
          hour,
        ]),
      ).toEqual(
        page.results.map(({ uuid, event, properties, distinct_id, person: { email, plan, seats }, at }) => [
          [uuid, event, JSON.parse(JSON.stringify(properties)), distinct_id],
          { email, plan, seats },
          email!,
          local(at).hour,
        ]),
      );
    });

    test("counts by expressions, through the change of clocks", async () => {
      const byEvent = await run({ ...query, select: ["event", "count()"] });
      expect(byEvent.results).toEqual(countsOf(within.map(({ event }) => event)));
      const byHour = ["toString(toDate(timestamp))", "toHour(timestamp)", "count()"];
      const { results } = await run({ ...query, select: byHour, limit: 1000 });
      const hours = within.map(({ at }) => `${local(at).day} ${local(at).hour}`);
      expect(
        results.map(([day, hour, count]) => [`${String(day)} ${String(hour)}`, count]).toSorted(),
      ).toEqual(countsOf(hours).toSorted());
      const byPlan = ["person.properties.plan", "count()", "uniq(person_id)"];
      const counted = await run({ ...query, select: byPlan, where: ["person.properties.seats > 2"] });
      const seated = within.filter(({ person }) => person.email !== undefined && person.seats > 2);
      expect(counted.results.toSorted()).toEqual(
        countsOf(seated.map(({ person }) => person.plan))
          .map(([plan, count]) => {
            const own = seated.filter(({ person }) => person.plan === plan);
            return [plan, count, new Set(own.map(({ person }) => person)).size];
          })
          .toSorted(),
      );
    });

    test("lists the events of a person under all ids, and of certain names", async () => {
      const person = persons.find(({ ids }) => ids.length > 1)!;
      const [[id] = []] = (await run({ kind: "ActorsQuery", select: ["id"], search: person.email })).results;
      const names = ["bought", "signed up"];
      const { results } = await run({ ...query, select: ["uuid"], personId: id, events: names });
      const own = within.filter((one) => one.person === person && names.includes(one.event));
      expect(results.flat()).toEqual(own.toSorted((a, b) => b.at - a.at).map(({ uuid }) => uuid));
    });
  });

  describe("SessionsQuery", () => {
    const query = { kind: "SessionsQuery", after: first, before: after };
    const begun = sessions.filter((one) => startOf(one) >= from && startOf(one) < to);

    test("lists columns by any order, with conditions, page by page", async () => {
      const select = [
        "session_id",
        "$session_duration",
        "$pageview_count",
        "$screen_count",
        "$event_count",
        "$entry_pathname",
        "$end_pathname",
        "$is_bounce",
        "$channel_type",
        "$entry_utm_source",
      ];
      const where = ["$entry_pathname != '/'", "$event_count > 3"];
      const orderBy = ["$session_duration DESC", "session_id ASC"];
      const listed = begun
        .filter((one) => entryOf(one) !== "/" && one.events.length > 3)
        .toSorted((a, b) => durationOf(b) - durationOf(a) || (a.id < b.id ? -1 : 1));
      for (const [offset, limit] of [
        [0, 1000],
        [listed.length - 50, 100],
      ] as const) {
        const { results, hasMore } = await run({ ...query, select, where, orderBy, offset, limit });
        const page = pageOf(listed, offset, limit);
        expect(hasMore).toBe(page.hasMore);
        expect(results).toEqual(
          page.results.map((one) => [
            one.id,
            durationOf(one),
            one.events.filter(({ event }) => event === "$pageview").length,
            one.events.filter(({ event }) => event === "$screen").length,
            one.events.length,
            entryOf(one) || null,
            exitOf(one) || null,
            isBounce(one),
            one.channel,
            one.entered["utm_source"] || null,
          ]),
        );
      }
    });

    test("counts by expressions, of a day with a change of clocks too", async () => {
      const select = ["toString(toDate($start_timestamp))", "count()", "avg($session_duration)"];
      const { results } = await run({ ...query, select });
      const byDay = Map.groupBy(begun, (one) => local(startOf(one)).day);
      expect([...byDay.keys()].toSorted()).toEqual(results.map(([day]) => String(day)).toSorted());
      for (const [day, count, seconds] of results) {
        const own = byDay.get(String(day))!;
        expect([day, count]).toEqual([day, own.length]);
        expect(seconds as number).toBeCloseTo(mean(own.map(durationOf))!, 6);
      }
      const person = persons.find(({ ids }) => ids.length > 1)!;
      const [[id] = []] = (await run({ kind: "ActorsQuery", select: ["id"], search: person.email })).results;
      const own = await run({ ...query, select: ["session_id"], personId: id });
      expect(own.results.flat().toSorted()).toEqual(
        begun
          .filter((one) => one.person === person)
          .map(({ id: session }) => session)
          .toSorted(),
      );
    });
  });

  describe("ActorsQuery", () => {
    const named = persons.filter(({ email }) => email !== undefined);

    test("lists persons by filters, search and order, and counts them", async () => {
      const select = ["properties.email", "properties.seats"];
      const properties = [{ key: "plan", value: "team", type: "person" }];
      const orderBy = ["properties.seats DESC", "properties.email"];
      const { results, hasMore } = await run({
        kind: "ActorsQuery",
        select,
        properties,
        orderBy,
        limit: 1000,
      });
      const listed = named
        .filter(({ plan }) => plan === "team")
        .toSorted((a, b) => b.seats - a.seats || (a.email! < b.email! ? -1 : 1));
      expect(results).toEqual(listed.map(({ email, seats }) => [email, seats]));
      expect(hasMore).toBe(false);
      const found = await run({ kind: "ActorsQuery", select: ["properties.email"], search: "u12" });
      expect(found.results.flat().toSorted()).toEqual(
        named.flatMap(({ email }) => (email!.includes("u12") ? [email!] : [])).toSorted(),
      );
      const counted = await run({ kind: "ActorsQuery", select: ["properties.plan", "count()"] });
      expect(counted.results.toSorted()).toEqual(countsOf(named.map(({ plan }) => plan)).toSorted());
    });

    /** Names of the persons behind a number, those without a profile by their id. */
    async function behind(source: object, figure: object): Promise<string[]> {
      const kind = "kind" in figure ? figure.kind : "InsightActorsQuery";
      const select = ["coalesce(properties.email, '')"];
      const names: string[] = [];
      for (let offset = 0, hasMore = true; hasMore; offset += 1000) {
        const query = {
          kind: "ActorsQuery",
          source: { ...figure, kind, source },
          select,
          limit: 1000,
          offset,
        };
        const page = await run({ ...query, orderBy: ["id"] });
        names.push(...page.results.flat().map(String));
        ({ hasMore } = page);
      }
      return names.toSorted();
    }
    const namesOf = (some: Iterable<MadePerson>): string[] =>
      [...new Set(some)].map(({ email }) => email ?? "").toSorted();
    const did = (event: string, day: string) =>
      new Set(
        within.filter((one) => one.event === event && local(one.at).day === day).map(({ person }) => person),
      );
    const changeDay = zone === "Europe/Berlin" ? "2024-03-31" : "2024-04-07";
    const dayBefore = dayBeforeOf(changeDay);

    test("finds who is behind a trend's day, with and without a breakdown", async () => {
      const trend = { kind: "TrendsQuery", series: [{ event: "bought", math: "dau" }], dateRange };
      expect(await behind(trend, { day: changeDay })).toEqual(namesOf(did("bought", changeDay)));
      const breakdownFilter = { breakdown: "$os" };
      const linux = within.filter(
        ({ event, at, properties }) =>
          event === "bought" && local(at).day === changeDay && properties["$os"] === "Linux",
      );
      expect(await behind({ ...trend, breakdownFilter }, { day: changeDay, breakdown: "Linux" })).toEqual(
        namesOf(linux.map(({ person }) => person)),
      );
    });

    test("finds who is behind a lifecycle, stickiness, retention and a funnel", async () => {
      const series = [{ event: "bought" }];
      const [now, before] = [did("bought", changeDay), did("bought", dayBefore)];
      const lifecycle = { kind: "LifecycleQuery", series, dateRange };
      expect(await behind(lifecycle, { day: changeDay, status: "returning" })).toEqual(
        namesOf(now.intersection(before)),
      );
      const daysOf = new Map<MadePerson, Set<string>>();
      for (const { event, person, at } of within) {
        if (event === "bought") daysOf.set(person, (daysOf.get(person) ?? new Set()).add(local(at).day));
      }
      const often = [...daysOf].filter(([, own]) => own.size === 4).map(([person]) => person);
      expect(often.length).toBeGreaterThan(50);
      expect(await behind({ kind: "StickinessQuery", series, dateRange }, { day: 4 })).toEqual(
        namesOf(often),
      );
      const retentionFilter = { totalIntervals: 9, targetEntity: { id: "bought" } };
      const retention = { kind: "RetentionQuery", dateRange, retentionFilter };
      const interval = zone === "Europe/Berlin" ? 1 : 8;
      expect(await behind(retention, { interval })).toEqual(namesOf(now));
      // Whoever signed up, and bought within an hour of it.
      const steps = [{ event: "signed up" }, { event: "bought" }];
      const funnel = { kind: "FunnelsQuery", series: steps, dateRange };
      const funnelsFilter = { funnelWindowInterval: 1, funnelWindowIntervalUnit: "hour" };
      const bought = Map.groupBy(
        within.filter(({ event }) => event === "bought"),
        ({ person }) => person,
      );
      const signed = within.filter(({ event }) => event === "signed up");
      const through = signed.filter(({ person, at }) =>
        bought.get(person)?.some((one) => one.at >= at && one.at <= at + 3_600_000),
      );
      const asked = { ...funnel, funnelsFilter };
      const came = through.map(({ person }) => person);
      expect(await behind(asked, { kind: "FunnelsActorsQuery", funnelStep: 2 })).toEqual(namesOf(came));
      const lost = new Set(signed.map(({ person }) => person)).difference(new Set(came));
      expect(await behind(asked, { kind: "FunnelsActorsQuery", funnelStep: -2 })).toEqual(namesOf(lost));
    });
  });

  describe("figures", () => {
    const dayNames = [...new Set(within.map(({ at }) => local(at).day))].toSorted();
    const perDay = (value: (some: readonly MadeEvent[]) => number, keep: (one: MadeEvent) => boolean) => {
      const byDay = Map.groupBy(within.filter(keep), ({ at }) => local(at).day);
      return dayNames.map((day) => value(byDay.get(day) ?? []));
    };
    const usersOf = (some: readonly MadeEvent[]): Set<MadePerson> =>
      new Set(some.map(({ person }) => person));
    const isBought = ({ event }: MadeEvent): boolean => event === "bought";
    const dataOf = (lines: TrendLine[]) => lines.map(({ data }) => data);

    test("of a trend: persons by a property of theirs, and a sum by the hour", async () => {
      const persons = { event: "bought", math: "dau" };
      const breakdownFilter = { breakdown: "plan", breakdown_type: "person" };
      const trend = { kind: "TrendsQuery", dateRange };
      const lines = await figures<TrendLine>({ ...trend, series: [persons], breakdownFilter });
      const planOf = ({ person: { email, plan } }: MadeEvent): string =>
        email === undefined ? noValue : plan;
      expect(lines.map(({ breakdown_value: value }) => value).toSorted()).toEqual(
        [noValue, "free", "pro", "team"].toSorted(),
      );
      for (const { breakdown_value: value, data } of lines) {
        expect(data).toEqual(
          perDay(
            (some) => usersOf(some).size,
            (one) => isBought(one) && planOf(one) === value,
          ),
        );
      }
      const sum = { event: "bought", math: "sum", math_property: "price" };
      const [hours] = await figures<TrendLine>({ ...trend, series: [sum], interval: "hour" });
      const prices = Array.from({ length: (to - from) / 3_600_000 }, () => 0);
      for (const { at, properties } of within.filter(isBought)) {
        prices[Math.floor((at - from) / 3_600_000)]! += Number(properties["price"]);
      }
      expect(hours!.data).toEqual(prices);
      // One hour is missing, or there twice.
      expect(prices.length).toBe(9 * 24 + (zone === "Europe/Berlin" ? -1 : 1));
    });

    test("of a funnel, with the seconds between its steps", async () => {
      const steps = ["$pageview", "signed up", "bought"];
      const funnelsFilter = { funnelWindowInterval: 2, funnelWindowIntervalUnit: "hour" };
      const series = steps.map((event) => ({ kind: "EventsNode", event }));
      const found = await figures<FunnelStep>({ kind: "FunnelsQuery", series, dateRange, funnelsFilter });
      const expected = stepsOf(asNaive(within), {
        order: "ordered",
        windowMs: 7_200_000,
        steps: series.map((node) => ({
          node: { ...node, kind: "EventsNode" },
          is: ({ event }) => event === node.event,
        })),
      });
      expect(expected[2]!.count).toBeGreaterThan(100);
      expect(found.map(({ count }) => count)).toEqual(expected.map(({ count }) => count));
      for (const [i, { average_conversion_time: average }] of found.entries()) {
        if (i > 0) expect(average!).toBeCloseTo(expected[i]!.average_conversion_time!, 3);
      }
    });

    test("of retention, a lifecycle and stickiness, day by day", async () => {
      const usersByDay = Map.groupBy(within.filter(isBought), ({ at }) => local(at).day);
      const users = dayNames.map((day) => usersOf(usersByDay.get(day) ?? []));
      const retentionFilter = {
        totalIntervals: dayNames.length,
        targetEntity: { id: "bought" },
        returningEntity: { id: "bought" },
      };
      const rows = await figures<RetentionCohort>({ kind: "RetentionQuery", dateRange, retentionFilter });
      expect(trimCohorts(rows).map(({ values }) => values.map(({ count }) => count))).toEqual(
        users.map((began, i) => users.slice(i).map((came) => came.intersection(began).size)),
      );
      const series = [{ event: "bought" }];
      const lifecycle = await figures<TrendLine>({ kind: "LifecycleQuery", series, dateRange });
      const earlier = usersOf(
        events.filter((one) => isBought(one) && local(one.at).day === dayBeforeOf(first)),
      );
      // Who has no profile begins with the first event; most of the others began a month before.
      const begunAt = new Map<MadePerson, number>();
      for (const { person, at } of events) {
        if (person.isLate || person.email === undefined)
          begunAt.set(person, Math.min(begunAt.get(person) ?? at, at));
      }
      const isNew = (person: MadePerson, day: string): boolean =>
        begunAt.has(person) && local(begunAt.get(person)!).day === day;
      const byStatus: Record<string, number[]> = { new: [], returning: [], resurrecting: [], dormant: [] };
      for (const [i, day] of dayNames.entries()) {
        const [came, before] = [users[i]!, i === 0 ? earlier : users[i - 1]!];
        const fresh = [...came].filter((person) => isNew(person, day)).length;
        const again = came.intersection(before).size;
        byStatus["new"]!.push(fresh);
        byStatus["returning"]!.push(again);
        byStatus["resurrecting"]!.push(came.size - again - fresh);
        byStatus["dormant"]!.push(0 - before.difference(came).size);
      }
      expect(byStatus["new"]![0]).toBeGreaterThan(20);
      expect(Object.fromEntries(lifecycle.map(({ status, data }) => [status, data]))).toEqual(byStatus);
      const times = new Map<MadePerson, number>();
      for (const person of users.flatMap((some) => [...some]))
        times.set(person, (times.get(person) ?? 0) + 1);
      const often = dayNames.map((_, i) => [...times.values()].filter((count) => count === i + 1).length);
      expect(dataOf(await figures<TrendLine>({ kind: "StickinessQuery", series, dateRange }))).toEqual([
        often,
      ]);
    });

    test("of paths, and of the site", async () => {
      const pathsFilter = { includeEventTypes: ["$pageview"], pathGroupings: ["/tea/*"], edgeLimit: 40 };
      const links = await figures<PathLink>({ kind: "PathsQuery", dateRange, pathsFilter });
      const none = {
        startPoint: null,
        endPoint: null,
        stepLimit: null,
        minEdgeWeight: null,
        maxEdgeWeight: null,
      };
      const expected = linksOf(asNaive(within), { ...pathsFilter, ...none, excludeEvents: [] });
      const rounded = (of: PathLink[]) =>
        of.map((one) => ({ ...one, average_conversion_time: Math.round(one.average_conversion_time) }));
      expect(expected.length).toBeGreaterThan(20);
      expect(rounded(links)).toEqual(rounded(expected));
      const site = await figures<WebFigure>({ kind: "WebOverviewQuery", dateRange, properties: [] });
      const views = within.filter((one) => isView(one) && startOf(one.session) >= from);
      const visits = [...new Set(views.map(({ session }) => session))];
      const [visitors, viewed, count, seconds, bounced] = site.map(({ value }) => value!);
      expect([visitors, viewed, count]).toEqual([usersOf(views).size, views.length, visits.length]);
      expect(seconds!).toBeCloseTo(mean(visits.map(durationOf))!, 6);
      expect(bounced!).toBeCloseTo(100 * mean(visits.map((one) => (isBounce(one) ? 1 : 0)))!, 6);
    });
  });

  describe("WebStatsTableQuery", () => {
    const ofView = (name: string) => (one: MadeEvent) => String(one.properties[name] ?? "");
    const entered = (name: string) => (one: MadeEvent) => one.session.entered[name] ?? "";
    // Made events have neither $timezone_offset nor $referrer: habits.test.ts has these two.
    type ShownBreakdown = Exclude<WebBreakdown, "Timezone" | "InitialReferringURL">;
    const values: Record<ShownBreakdown, (view: MadeEvent) => string> = {
      Page: ofView("$pathname"),
      ScreenName: ofView("$screen_name"),
      Browser: ofView("$browser"),
      OS: ofView("$os"),
      DeviceType: ofView("$device_type"),
      Country: ofView("$geoip_country_code"),
      TimezoneName: ofView("$timezone"),
      Language: ofView("$browser_language"),
      Viewport: ({ properties }) =>
        `${String(properties["$viewport_width"])}x${String(properties["$viewport_height"])}`,
      InitialPage: ({ session }) => entryOf(session),
      ExitPage: ({ session }) => exitOf(session),
      InitialChannelType: ({ session }) => session.channel,
      InitialReferringDomain: entered("$referring_domain"),
      InitialUTMSource: entered("utm_source"),
      InitialUTMCampaign: entered("utm_campaign"),
      InitialUTMMedium: entered("utm_medium"),
      InitialUTMTerm: entered("utm_term"),
      InitialUTMContent: entered("utm_content"),
      InitialUTMSourceMediumCampaign: (one) =>
        [
          entered("utm_source")(one) || entered("$referring_domain")(one),
          entered("utm_medium")(one),
          entered("utm_campaign")(one),
        ]
          .map((name) => name || "(none)")
          .join(" / "),
    };
    // Four days, and the four before them.
    const [begin, middle, end] = ["2024-03-30", "2024-04-03", "2024-04-07"].map((day) =>
      dayStart(day, zone),
    ) as [number, number, number];
    const shown = { date_from: "2024-04-03", date_to: "2024-04-06" };

    /** Of a value: persons, views, and of its visits the share that were bounced from. */
    const rowsOf = (
      views: readonly MadeEvent[],
      breakdownBy: ShownBreakdown,
    ): Map<string, [number, number, number | null]> => {
      const ofValue = Map.groupBy(views, values[breakdownBy]);
      return new Map(
        [...ofValue].map(([value, own]) => {
          const visits = [...new Set(own.map(({ session }) => session))];
          const counted = breakdownBy === "Page" ? visits.filter((one) => entryOf(one) === value) : visits;
          const bounces = mean(counted.map((one) => (isBounce(one) ? 1 : 0)));
          return [value, [new Set(own.map(({ person }) => person)).size, own.length, bounces]];
        }),
      );
    };

    // Each table in one of the zones.
    const asked = (Object.keys(values) as ShownBreakdown[]).filter(
      (_, i) => i % manyZones.length === manyZones.indexOf(zone),
    );
    test.each(asked)("by %s, with the time before", async (breakdownBy) => {
      const query = {
        kind: "WebStatsTableQuery",
        breakdownBy,
        dateRange: shown,
        properties: [],
        includeBounceRate: true,
        compareFilter: { compare: true },
      };
      const { results } = await run({ ...query, limit: 1000 });
      const views = events.filter((one) => {
        const isTimely = one.at >= begin && one.at < end && startOf(one.session) >= begin;
        const isNamed = /^Initial(?!Page$)/.test(breakdownBy) || values[breakdownBy](one) !== "";
        return isView(one) && isTimely && isNamed;
      });
      const [now, before] = [true, false].map((isNow) =>
        rowsOf(
          views.filter(({ session }) => startOf(session) >= middle === isNow),
          breakdownBy,
        ),
      ) as [ReturnType<typeof rowsOf>, ReturnType<typeof rowsOf>];
      const none = [0, 0, null] as const;
      const expected = [...new Set([...now.keys(), ...before.keys()])]
        .map((value) => [value, now.get(value) ?? none, before.get(value) ?? none] as const)
        .toSorted(([a, of], [b, other]) => other[0] - of[0] || other[1] - of[1] || (a < b ? -1 : 1));
      expect(results.map(([value, ...rest]) => [value ?? "", ...rest])).toEqual(
        expected.map(([value, of, other]) => [value, ...of.map((one, i) => [one, other[i]])]),
      );
      expect(expected.length).toBeGreaterThan(1);
    });
  });
});
