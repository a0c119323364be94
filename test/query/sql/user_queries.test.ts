// Queries as users write them, sent over HTTP to events that were captured, each against a computation of this test's own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

const zone = "Europe/Berlin";
const start = Date.UTC(2024, 2, 28, 1, 10);

/** 140 events of five persons over nine days, of which one has 23 hours. */
const events = Array.from({ length: 140 }, (_, i) => {
  const at = start + i * 91 * 60_000;
  const user = `u${(i * i + i) % 5}`;
  return {
    i,
    at,
    user,
    local: Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone),
    event: ["$pageview", "$pageview", "signup", "$pageview", "purchase"][i % 5]!,
    browser: ["Chrome", "Firefox", "Safari"][i % 3]!,
    url: `https://shop.example/${i % 4 ? "tea" : "cups"}/${i % 6}?page=${i}#top`,
    amount: i % 7 ? i * 1.5 : undefined,
    items: Array.from({ length: i % 3 }, (__, k) => ({ name: `item ${(i + k) % 4}`, qty: k + 1 })),
    session: `s${Math.floor(i / 6)}-${user}`,
    company: i % 2 ? `c${i % 3}` : undefined,
  };
});
type Sent = (typeof events)[number];

const userNames = ["u0", "u1", "u2"];
const plans: Record<string, string> = { u0: "free", u1: "pro", u2: "pro" };
const emails: Record<string, string> = { u0: "a@Example.com", u1: "b@corp.test", u2: "c@example.COM" };
const companies: Record<string, string> = { c0: "Acme", c1: "Bolt", c2: "Corp" };

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  expect((await ask(app, "PATCH", "/api/projects/1/", { timezone: zone })).status).toBe(200);
  const batch = [
    ...userNames.map((distinct_id) => ({
      event: "$set",
      distinct_id,
      timestamp: new Date(start - 1000).toISOString(),
      properties: { $set: { plan: plans[distinct_id], email: emails[distinct_id] } },
    })),
    ...Object.entries(companies).map(([$group_key, name]) => ({
      event: "$groupidentify",
      distinct_id: "u0",
      timestamp: new Date(start - 1000).toISOString(),
      properties: { $group_type: "company", $group_key, $group_set: { name } },
    })),
    ...events.map(({ event, user, at, browser, url, amount, items, session, company }) => ({
      event,
      distinct_id: user,
      timestamp: new Date(at).toISOString(),
      properties: {
        $browser: browser,
        $current_url: url,
        $pathname: new URL(url).pathname,
        ...(amount !== undefined && { amount }),
        ...(items.length > 0 && { items }),
        $session_id: session,
        ...(company && { $groups: { company } }),
      },
    })),
  ];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

const of = (name: string): Sent[] => events.filter(({ event }) => event === name);
const day = ({ local }: Sent): string => local.toPlainDate().toString();
const sum = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((all, one) => all + (one ?? 0), 0);
const amounts = (some: readonly Sent[]): number[] => some.flatMap(({ amount }) => amount ?? []);
const uniq = (some: readonly Sent[]): number => new Set(some.map(({ user }) => user)).size;

/** Groups of events with a figure of each, by name. */
function by<Key extends string | number>(
  key: (one: Sent) => Key,
  figure: (some: Sent[]) => unknown = (some) => some.length,
  some: readonly Sent[] = events,
): [Key, unknown][] {
  const groups = [...Map.groupBy(some, key)].map(([name, own]): [Key, unknown] => [name, figure(own)]);
  return groups.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

const byCount = (rows: [string, unknown][]) => rows.toSorted(([, a], [, b]) => Number(b) - Number(a));
const round = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** As the engine's quantile() does: between the two nearest. */
function quantile(values: readonly number[], level: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = level * (sorted.length - 1);
  const low = sorted[Math.floor(at)]!;
  return low + (sorted[Math.ceil(at)]! - low) * (at - Math.floor(at));
}

const daily = by(day);
const eventCounts = by(({ event }) => event);
const captured = "event not like '$set' and event != '$groupidentify'";

const queries: [query: string, rows: () => unknown][] = [
  [
    "with buyers as (select distinct person_id from events where event = 'purchase') select count() from events e inner join buyers b on e.person_id = b.person_id where e.event = 'signup'",
    () => [[of("signup").filter(({ user }) => of("purchase").some((one) => one.user === user)).length]],
  ],
  [
    `with daily as (select toDate(timestamp) as d, count() as c from events where ${captured} group by d), most as (select max(c) as m from daily) select d, c from daily inner join most on daily.c = most.m order by d`,
    () => {
      const most = Math.max(...daily.map(([, count]) => Number(count)));
      return daily.filter(([, count]) => count === most);
    },
  ],
  [
    "with (select count() from events where event != '$set' and event != '$groupidentify') as total select event, round(100 * count() / total, 1) as share from events where event in ('signup', 'purchase') group by event order by event",
    () => ["purchase", "signup"].map((name) => [name, round((100 * of(name).length) / events.length, 1)]),
  ],
  [
    `select event, c, rank() over (order by c desc) as place from (select event, count() as c from events where ${captured} group by event) order by place, event`,
    () =>
      byCount(eventCounts).map(([name, count]) => [
        name,
        count,
        eventCounts.filter(([, c]) => Number(c) > Number(count)).length + 1,
      ]),
  ],
  [
    `select d, sum(c) over (order by d rows between unbounded preceding and current row) as total from (select toDate(timestamp) as d, count() as c from events where ${captured} group by d) order by d`,
    () => daily.map(([d], i) => [d, sum(daily.slice(0, i + 1).map(([, c]) => Number(c)))]),
  ],
  [
    `select d, c - lag(c, 1, 0) over (order by d) as change from (select toDate(timestamp) as d, toInt(count()) as c from events where ${captured} group by d) order by d`,
    () => daily.map(([d, c], i) => [d, Number(c) - Number(daily[i - 1]?.[1] ?? 0)]),
  ],
  [
    "select event, n from (select event, row_number() over w as n from events where event in ('signup', 'purchase') window w as (partition by event order by timestamp)) where n <= 2 order by event, n",
    () => [
      ["purchase", 1],
      ["purchase", 2],
      ["signup", 1],
      ["signup", 2],
    ],
  ],
  [
    `select distinct distinct_id, first_value(event) over (partition by distinct_id order by timestamp) as began from events where ${captured} order by distinct_id`,
    () =>
      by(
        ({ user }) => user,
        ([first]) => first!.event,
      ),
  ],
  [
    `select p.properties.plan as plan, count() as c from events e inner join persons p on e.person_id = p.id where ${captured} and p.properties.plan is not null group by plan order by plan`,
    () =>
      by(
        ({ user }) => plans[user] ?? "",
        undefined,
        events.filter(({ user }) => plans[user]),
      ),
  ],
  [
    "select p.properties.email as email, b.n from persons p left join (select person_id, count() as n from events where event = 'purchase' group by person_id) b on b.person_id = p.id where email is not null order by email",
    () => userNames.map((user) => [emails[user], of("purchase").filter((one) => one.user === user).length]),
  ],
  [
    `select arrayStringConcat(arraySort(groupUniqArray(event)), ', ') from events where ${captured}`,
    () => [["$pageview, purchase, signup"]],
  ],
  [
    `select arrayMap(x -> upper(x), arrayFilter(x -> not startsWith(x, '$'), arraySort(groupUniqArray(event)))) as names from events`,
    () => [[["PURCHASE", "SIGNUP"]]],
  ],
  [
    "select sum(arraySum(arrayMap(x -> JSONExtractInt(x, 'qty'), JSONExtractArrayRaw(properties, 'items')))) from events",
    () => [[sum(events.flatMap(({ items }) => items.map(({ qty }) => qty)))]],
  ],
  [
    "select JSONExtractString(arrayJoin(JSONExtractArrayRaw(properties.items)), 'name') as item, count() from events group by item order by item",
    () =>
      [0, 1, 2, 3].map((n) => [
        `item ${n}`,
        events.flatMap(({ items }) => items).filter(({ name }) => name === `item ${n}`).length,
      ]),
  ],
  [
    "select properties.items[1].name as first, count() as c from events where first is not null group by first order by first",
    () =>
      by(
        ({ items }) => items[0]!.name,
        undefined,
        events.filter(({ items }) => items.length > 0),
      ),
  ],
  [
    `select toString(toStartOfWeek(timestamp, 1)) as week, uniq(distinct_id) from events where ${captured} group by week order by week`,
    () =>
      by(
        ({ local }) =>
          local
            .subtract({ days: local.dayOfWeek - 1 })
            .toPlainDate()
            .toString(),
        uniq,
      ),
  ],
  [
    `select toHour(toStartOfInterval(timestamp, interval 30 minute)) as h, count() from events where ${captured} group by h order by h`,
    () => by(({ local }) => local.hour),
  ],
  [
    `select dateDiff('hour', min(timestamp), max(timestamp)), dateDiff('day', min(timestamp), max(timestamp)) from events where ${captured}`,
    () => {
      const hours = events.map(({ local }) => Math.floor(local.epochMilliseconds / 3_600_000));
      const between = Temporal.PlainDate.from(day(events[0]!)).until(day(events.at(-1)!), {
        largestUnit: "days",
      });
      return [[hours.at(-1)! - hours[0]!, between.days]];
    },
  ],
  [
    "select countIf(event = 'purchase' and properties.amount > 50), countIf(event = 'signup' or event = 'purchase') from events",
    () => [
      [
        of("purchase").filter(({ amount = 0 }) => amount > 50).length,
        of("purchase").length + of("signup").length,
      ],
    ],
  ],
  [
    "select sumIf(toFloat(properties.amount), event = 'purchase') as revenue, round(avgIf(properties.amount, event = 'purchase'), 2) from events",
    () => {
      const paid = amounts(of("purchase"));
      return [[sum(paid), round(sum(paid) / paid.length)]];
    },
  ],
  [
    `select distinct_id, argMax(properties.$browser, timestamp) as latest from events where ${captured} group by distinct_id order by distinct_id`,
    () =>
      by(
        ({ user }) => user,
        (own) => own.at(-1)!.browser,
      ),
  ],
  [
    "select quantile(0.9)(properties.amount), median(toFloat(properties.amount)), quantiles(0.25, 0.75)(toFloat(properties.amount)) from events",
    () => {
      const all = amounts(events);
      return [[quantile(all, 0.9), quantile(all, 0.5), [quantile(all, 0.25), quantile(all, 0.75)]]];
    },
  ],
  [
    `select count() from events where ${captured} and person.properties.email ilike '%@example.com'`,
    () => [[events.filter(({ user }) => user === "u0" || user === "u2").length]],
  ],
  [
    `select count() from events where ${captured} and person_id in (select id from persons where properties.plan = 'pro')`,
    () => [[events.filter(({ user }) => plans[user] === "pro").length]],
  ],
  [
    `select events.session.$entry_pathname as entry, count(distinct $session_id) as sessions from events where ${captured} group by entry order by entry`,
    () => {
      const entered = [...Map.groupBy(events, ({ session }) => session).values()].map(([first]) => first!);
      return by(({ url }) => new URL(url).pathname, undefined, entered);
    },
  ],
  [
    "select count(), sum($pageview_count) from sessions",
    () => [[new Set(events.map(({ session }) => session)).size, of("$pageview").length]],
  ],
  [
    "select * from (select 'signups' as step, count() as n from events where event = 'signup' union all select 'purchases', count() from events where event = 'purchase') order by n desc, step",
    () =>
      byCount([
        ["purchases", of("purchase").length],
        ["signups", of("signup").length],
      ]),
  ],
  [
    "select sum(n) from (select count() as n from events where event = 'signup' union all select count() as n from events where event = 'purchase')",
    () => [[of("purchase").length + of("signup").length]],
  ],
  [
    `select properties.$browser as b, count() as n from events where ${captured} group by b having n > 1 order by n desc, b limit 2`,
    () => byCount(by(({ browser }) => browser)).slice(0, 2),
  ],
  [
    `select distinct_id, event, count() as c from events where ${captured} group by distinct_id, event order by distinct_id, c desc, event limit 1 by distinct_id`,
    () =>
      by(
        ({ user }) => user,
        (own) =>
          byCount(
            eventCounts.map(([name]): [string, unknown] => [
              name,
              own.filter(({ event }) => event === name).length,
            ]),
          )[0],
      ).map(([user, most]) => [user, ...(most as unknown[])]),
  ],
  [
    `select toHour(toTimeZone(timestamp, 'Asia/Tokyo')) as h, count() from events where ${captured} group by h order by h`,
    () => by(({ local }) => local.withTimeZone("Asia/Tokyo").hour),
  ],
  [
    `select formatDateTime(timestamp, '%Y-%m-%d %H') as hour from events where ${captured} order by timestamp limit 2`,
    () => events.slice(0, 2).map((one) => [`${day(one)} ${String(one.local.hour).padStart(2, "0")}`]),
  ],
  [
    `select case when properties.amount >= 100 then 'large' when properties.amount is null then 'none' else 'small' end as size, count() from events where ${captured} group by size order by size`,
    () => by(({ amount }) => (amount === undefined ? "none" : amount >= 100 ? "large" : "small")),
  ],
  [
    `select extract(properties.$current_url, 'page=([0-9]+)') as page from events where ${captured} order by toInt(page) desc limit 1`,
    () => [["139"]],
  ],
  [
    `select splitByChar('/', path(properties.$current_url))[2] as section, count() from events where ${captured} group by section order by section`,
    () => by(({ i }) => (i % 4 ? "tea" : "cups")),
  ],
  [
    `select domain(properties.$current_url), cutQueryStringAndFragment(properties.$current_url) from events where ${captured} order by timestamp limit 1`,
    () => [["shop.example", "https://shop.example/cups/0"]],
  ],
  [
    "select group_0.properties.name as company, count() from events where $group_0 != '' and event != '$groupidentify' group by company order by company",
    () =>
      by(
        ({ company }) => companies[company!]!,
        undefined,
        events.filter(({ company }) => company),
      ),
  ],
  [
    `select event || ' in ' || properties.$browser as what, count() from events where ${captured} group by what order by what limit 3`,
    () => by(({ event, browser }) => `${event} in ${browser}`).slice(0, 3),
  ],
  [
    `select count() from events where ${captured} and timestamp between '2024-03-31' and '2024-04-01 12:00:00'`,
    () => {
      const [from, to] = ["2024-03-31T00:00", "2024-04-01T12:00"].map(
        (text) => Temporal.ZonedDateTime.from(`${text}[${zone}]`).epochMilliseconds,
      );
      return [[events.filter(({ at }) => at >= from! && at <= to!).length]];
    },
  ],
  [
    `select count() from events where ${captured} and toDate(timestamp) in ('2024-03-31', '2024-04-02')`,
    () => [[events.filter((one) => ["2024-03-31", "2024-04-02"].includes(day(one))).length]],
  ],
  [
    `select toDayOfWeek(timestamp) as weekday, count() from events where ${captured} group by weekday order by weekday`,
    () => by(({ local }) => local.dayOfWeek),
  ],
  [
    `select distinct_id, arraySlice(groupArray(event), 1, 3) as path, has(path, 'signup') from (select distinct_id, event, timestamp from events where ${captured} order by timestamp) group by distinct_id order by distinct_id`,
    () =>
      by(
        ({ user }) => user,
        (own) => own.slice(0, 3).map(({ event }) => event),
      ).map(([user, path]) => [user, path, Number((path as string[]).includes("signup"))]),
  ],
  [
    "select countIf(r[1] = 1), countIf(r[2] = 1) from (select person_id, retention(event = 'signup', event = 'purchase') as r from events group by person_id)",
    () => {
      const signed = new Set(of("signup").map(({ user }) => user));
      return [
        [
          signed.size,
          new Set(
            of("purchase")
              .map(({ user }) => user)
              .filter((user) => signed.has(user)),
          ).size,
        ],
      ];
    },
  ],
  [
    `select distinct_id from events where ${captured} and distinct_id not in (select distinct_id from events where event = 'purchase') group by distinct_id order by distinct_id`,
    () =>
      by(
        ({ user }) => user,
        () => 0,
        events.filter(({ user }) => of("purchase").every((one) => one.user !== user)),
      ).map(([user]) => [user]),
  ],
  [
    "select coalesce(properties.missing, properties.`$browser`, 'none') as b, ifNull(nullIf(properties['$browser'], 'Chrome'), 'other') as c, count() from events where event = 'signup' group by b, c order by b",
    () =>
      by(({ browser }) => browser, undefined, of("signup")).map(([b, n]) => [
        b,
        b === "Chrome" ? "other" : b,
        n,
      ]),
  ],
  [
    "select intDiv(properties.amount, 100) as bucket, count() from events where properties.amount is not null group by bucket order by bucket",
    () =>
      by(
        ({ amount }) => Math.floor(amount! / 100),
        undefined,
        events.filter(({ amount }) => amount !== undefined),
      ),
  ],
  [
    "select count() from events where event = 'signup' and properties.$browser not ilike 'chr%' and properties.$browser =~ '^S'",
    () => [[of("signup").filter(({ browser }) => browser === "Safari").length]],
  ],
  [
    "select name, qty from events array join arrayMap(x -> JSONExtractString(x, 'name'), JSONExtractArrayRaw(properties, 'items')) as name, arrayMap(x -> JSONExtractInt(x, 'qty'), JSONExtractArrayRaw(properties, 'items')) as qty order by timestamp, qty limit 3",
    () => events.flatMap(({ items }) => items.map(({ name, qty }) => [name, qty])).slice(0, 3),
  ],
  [
    "select max(cast(properties.amount as Float64)), max(properties.amount::float), max(toInt(properties.i)) from events",
    () => [[Math.max(...amounts(events)), Math.max(...amounts(events)), null]],
  ],
  [
    `select toStartOfMonth(timestamp) as m, date_trunc('month', timestamp) = m as same, count() from events where ${captured} group by m, same order by m`,
    () =>
      by(({ local }) => `${local.toPlainDate().toPlainYearMonth().toString()}-01`).map(([m, n]) => [m, 1, n]),
  ],
  [
    `select number, countIf(toDayOfMonth(e.timestamp) = number) as n from numbers(1, 31) as days inner join events e on toDayOfMonth(e.timestamp) = days.number where ${captured} group by number order by number limit 3`,
    () => by(({ local }) => local.day).slice(0, 3),
  ],
  [
    "select groupArraySorted(2)(properties.amount) as least, topK(1)(event)[1], uniqExact($session_id) from events where event = 'purchase'",
    () => [
      [
        amounts(of("purchase"))
          .toSorted((a, b) => a - b)
          .slice(0, 2),
        "purchase",
        new Set(of("purchase").map(({ session }) => session)).size,
      ],
    ],
  ],
  [
    "select if(properties.amount > 100, 'high', 'low') as tier, min(properties.amount), max(properties.amount) from events where properties.amount is not null group by tier order by tier",
    () =>
      by(
        ({ amount }) => (amount! > 100 ? "high" : "low"),
        amounts,
        events.filter(({ amount }) => amount !== undefined),
      ).map(([tier, own]) => [tier, Math.min(...(own as number[])), Math.max(...(own as number[]))]),
  ],
];

/** Numbers with nine decimals. */
const roughly = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, one: unknown) => (typeof one === "number" ? round(one, 9) : one));

for (const [query, rows] of queries) {
  test(query, async () => {
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", {
      query: { kind: "HogQLQuery", query },
    });
    expect([status, body["detail"]]).toEqual([200, undefined]);
    const expected = rows() as unknown[];
    expect(expected).not.toEqual([]);
    expect(roughly(body["results"])).toEqual(roughly(expected));
  });
}

const refused: [query: string, detail: RegExp][] = [
  [
    "select sparkline([1, 2, 3])",
    /"sparkline" is not supported\. It draws in PostHog's own pages only\. \(Line 1, column 8\.\)/,
  ],
  ["select recordingButton($session_id) from events", /"recordingButton" is not supported\. It draws/],
  ["select count() from events where matchesAction('x')", /Actions do not exist here/],
  ["select proprties.x from events", /"proprties"\. Did you mean "properties"\? \(Line 1, column 8\.\)/],
  ["select cuontIf(event = 'a') from events", /"cuontIf" is not supported\. Did you mean "countIf"\?/],
  ["select 1\nfrom evnts", /Unknown table "evnts"\. Did you mean "events"\? \(Line 2, column 6\.\)/],
  ["select person.propertis.x from events", /"propertis".*Did you mean "properties"/],
  ["select event from events order by", /is not valid HogQL/],
  ["select dateDiff('day', timestamp) from events", /"dateDiff" takes at least 3 arguments, not 2/],
  ["select event, count() from events", /GROUP BY/],
  ["select event from events where count() > 1", /aggregate/],
  ["select * from heatmaps", /Unknown table "heatmaps"\. There are events/],
];

for (const [query, detail] of refused) {
  test(`refused: ${query}`, async () => {
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", {
      query: { kind: "HogQLQuery", query },
    });
    expect([status, body["attr"], body["detail"]]).toEqual([
      400,
      "query__query",
      expect.stringMatching(detail),
    ]);
  });
}
