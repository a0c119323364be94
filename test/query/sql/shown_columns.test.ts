// What of a query in SQL a link shows: figures and keys of the lists, and nothing that was computed from anything else.

import { afterAll, expect, test } from "bun:test";
import { SqlProblem } from "../../../src/query/sql/compile/compile.ts";
import {
  findUnshownKey,
  readShownColumns,
  readShownExpression,
} from "../../../src/query/sql/shown_columns.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestParser } from "../../support/sql_parser.ts";

afterAll(cleanUp);

const parser = openTestParser();
const confirmed = new Set(["event", "properties.plan", "properties.amount", "session.$channel_type"]);

async function read(text: string, isAsking = false) {
  const tree = await parser.parse(text, "select", 1);
  try {
    return readShownColumns(tree, isAsking ? undefined : confirmed);
  } catch (thrown) {
    if (thrown instanceof SqlProblem) return thrown.message;
    throw thrown;
  }
}

const shown = [
  "select count() from events",
  "select count(), count(*), uniq(person_id), count(distinct distinct_id), countIf(properties.plan = 'a') from events",
  "select toStartOfWeek(timestamp) as week, sum(toFloat(properties.amount)) as revenue from events group by week",
  "select toStartOfWeek(timestamp) as week, uniq(person_id) from events where properties.plan != 'a' group by 1 order by 1",
  "select toStartOfInterval(timestamp, interval 5 minute) as t, count() from events group by all",
  "select date_trunc('hour', timestamp) as t, avg(properties.amount) from events group by t having count() > 1",
  "select event, properties.plan, round(100 * countIf(event = 'a') / count(), 1) from events group by event, properties.plan",
  "select coalesce(properties['plan'], '(none)') as plan, quantile(0.9)(properties.amount) from events group by plan",
  "select if(count() > 0, sum(properties.amount) / count(), 0) as mean from events e where e.event = 'a'",
  "select quantiles(0.5, 0.9)(properties.amount) from events",
  "select session.$channel_type as channel, avg(session.$session_duration) from events group by channel",
  "select toDate($start_timestamp) as day, avg($pageview_count), max($session_duration) from sessions group by day",
  "select distinct toDate(timestamp), properties.plan from events",
  "select toDate(min(timestamp)) as first, count() from events having count(distinct person_id) > 5",
  "select toYear(toTimeZone(timestamp, 'UTC') + interval 1 day) as year, count() from events group by year",
  "select case when properties.plan = 'a' then 'A' else 'B' end as plan, count() from events group by plan",
];

test.each(shown)("%s", async (text) => {
  const found = await read(text);
  expect(typeof found === "string" ? found : "shown").toBe("shown");
});

/** Each with a part of its reason. */
const hidden: [text: string, reason: string][] = [
  // What stands for a person, an event or a session.
  ["select distinct_id, count() from events group by distinct_id", '"distinct_id" is not shown'],
  ["select uuid from events", "no list of events"],
  ["select person_id as plan, count() from events group by plan", '"person_id"'],
  ["select $session_id, count() from events group by 1", '"$session_id"'],
  ["select session_id from sessions group by session_id", '"session_id"'],
  ["select person.properties.plan, count() from events group by 1", '"person.properties.plan"'],
  ["select group_0.properties.plan, count() from events group by 1", '"group_0'],
  ["select elements_chain, count() from events group by 1", '"elements_chain"'],
  // Lists.
  ["select toDate(timestamp), properties.plan from events", "no list of events"],
  ["select * from events", "no list of events"],
  ["select count(), * from (select distinct_id from events)", "without SELECTs inside"],
  ["select columns('id') from events", "no list of events"],
  ["select toDate(timestamp), count() over () from events group by 1", "computed so"],
  // Rows by a hidden key.
  ["select count() from events group by distinct_id", '"distinct_id"'],
  ["select distinct_id as plan, 1 + count() as n from events group by plan", '"distinct_id"'],
  ["select n from (select distinct_id as d, count() as n from events group by d)", "without SELECTs inside"],
  ["select n from (select distinct_id, count() as n from events group by all)", "without SELECTs inside"],
  [
    "select n from (select distinct count() as n, person_id from events group by person_id)",
    "without SELECTs inside",
  ],
  ["select count() from events group by toDate(timestamp), lower(distinct_id)", '"distinct_id"'],
  ["select count() from events group by timestamp", "rounded"],
  [
    "select count() as n from events group by plan union all select count() from events group by uuid",
    "without UNION",
  ],
  // Values out of aggregates.
  ["select groupArray(distinct_id) from events", "groupArray()"],
  ["select max(properties.email) from events", '"properties.email" is called like'],
  ["select any(properties.plan) from events", "any()"],
  ["select argMax(distinct_id, timestamp) from events", "argMax()"],
  ["select max(distinct_id) from events", '"distinct_id"'],
  ["select min(timestamp) from events", "rounded"],
  ["select topK(3)(distinct_id) from events", "topK()"],
  ["select anyIf(distinct_id, 1) from events", "anyIf()"],
  ["select sumArray([1]) from events", "sumArray()"],
  ["select uniqState(distinct_id) from events", "uniqState()"],
  ["select maxOrNull(distinct_id) from events", "maxOrNull()"],
  ["select sumMap(map(distinct_id, 1)) from events", "sumMap()"],
  ["select string_agg(distinct_id, ',') from events", "no list of events"],
  ["select sum(toInt(properties.phone)) from events", '"properties.phone" is called like'],
  ["select min(toInt(properties.p)) from events", '"properties.p" was not confirmed'],
  ["select sum(cityHash64(distinct_id)) from events", "cityHash64()"],
  ["select avg(length(distinct_id)) from events", "length()"],
  ["select sum(toUnixTimestamp(timestamp)) from events", "toUnixTimestamp()"],
  ["select avg(timestamp) from events", "computed so"],
  ["select quantile(toInt(distinct_id))(properties.amount) from events", "computed so"],
  // Texts that are put together.
  ["select concat(toString(count()), any(distinct_id)) from events", "any()"],
  ["select if(count() > 0, any(distinct_id), '') from events", "any()"],
  ["select multiIf(any(distinct_id) = 'a', 1, 0) from events", "any()"],
  ["select tuple(count(), any(distinct_id)) from events", "tuple()"],
  ["select (count(), any(distinct_id)) from events", "computed so"],
  ["select [any(distinct_id)] from events", "computed so"],
  ["select case when count() > 1 then any(distinct_id) else '' end from events", "any()"],
  ["select (select any(distinct_id) from events)", "without others inside"],
  ["select count() + (select max(toInt(distinct_id)) from events) from events", "without others inside"],
  ["select 'bob@example.com', count() from events", "no texts of the query"],
  ["select {variables.x}, count() from events", "computed so"],
  // Moments that are not rounded, and those of a person.
  ["select toDateTime(timestamp) as t, count() from events group by t", "rounded"],
  ["select toStartOfSecond(timestamp) as t, count() from events group by t", "toStartOfSecond()"],
  [
    "select toStartOfInterval(timestamp, interval 1 second) as t, count() from events group by t",
    "toIntervalSecond()",
  ],
  ["select date_trunc('second', timestamp) as t, count() from events group by t", "computed so"],
  ["select date_trunc(properties.plan, timestamp) as t, count() from events group by t", "computed so"],
  ["select formatDateTime(timestamp, '%f') as t, count() from events group by t", "computed so"],
  [
    "select toDate(properties.birth) as t, count() from events group by t",
    '"properties.birth" was not confirmed',
  ],
  [
    "select toStartOfDay(timestamp) + toIntervalDay(toInt(distinct_id)) as t, count() from events group by t",
    "tointervalday",
  ],
  // Properties that are not confirmed, or called like an id.
  ["select properties.country, count() from events group by 1", '"properties.country" was not confirmed'],
  ["select properties.userId, count() from events group by 1", '"properties.userId" is called like'],
  ["select properties.$session_id, count() from events group by 1", "is called like"],
  ["select properties['User Email'], count() from events group by 1", "is called like"],
  ...[
    "alias",
    "userid",
    "useremail",
    "customerids",
    "email1",
    "phoneNumber",
    "$elements_chain",
    "$elements.tag",
  ].map((name): [string, string] => [
    `select properties.${name}, count() from events group by 1`,
    "is called like",
  ]),
  ["select properties.account.uuid, count() from events group by 1", "is called like"],
  ["select properties, count() from events group by 1", '"properties" is not shown'],
  ["select properties['pla' || 'n'], count() from events group by 1", "computed so"],
  [
    "select JSONExtractString(properties, 'plan') as p, count() from events group by p",
    "JSONExtractString()",
  ],
  ["select session.$entry_pathname, count() from events group by 1", "was not confirmed"],
  // Names that mean something else.
  [
    "select distinct_id as timestamp, toDate(timestamp) as d, count() from events group by 1, 2",
    '"distinct_id"',
  ],
  ["select count(distinct_id as plan), plan from events group by plan", "behind a whole column"],
  ["select plan from (select distinct_id as plan from events group by plan)", "without SELECTs inside"],
  [
    "select properties.plan, count() from (select distinct_id as properties from events) group by 1",
    "without SELECTs inside",
  ],
  ["with distinct_id as day select day, count() from events group by day", "without WITH"],
  [
    "with x as (select distinct_id as plan from events) select plan, count() from x group by plan",
    "without WITH",
  ],
  [
    "with events as (select distinct_id as event from events) select event, count() from events group by event",
    "without WITH",
  ],
  [
    "with toDate(now()) as `any(distinct_id)` select `any(distinct_id)` from (select any(distinct_id) from events)",
    "without WITH",
  ],
  ["select id, count() from events as distinct_id group by id", '"id"'],
  // Rows that count a value.
  ["select count() from events array join range(toInt(properties.phone)) as x", "ARRAY JOIN"],
  ["select count(arrayJoin(range(toInt(properties.phone)))) from events", "computed so"],
  ["select count() from events join numbers(10) as n on n.number < toInt(properties.phone)", "JOIN"],
  ["select count() from numbers(10)", "one table"],
  ["select count() from persons", "tables events and sessions"],
  ["select type, count() from ingestion_warnings group by type", "tables events and sessions"],
  ["select start_url, count() from session_recordings group by 1", "tables events and sessions"],
  // Conditions and counts that read what is hidden, bit by bit.
  ["select countIf(properties.email = 'a') from events", "is called like"],
  ["select countIf(properties.salary > 100000) from events", '"properties.salary" was not confirmed'],
  ["select count() from events where distinct_id = 'bob'", '"distinct_id"'],
  [
    "select count() from events where not (properties.plan = 'a' and startsWith(distinct_id, 'b'))",
    '"distinct_id"',
  ],
  ["select count() from events prewhere person_id = 'a'", '"person_id"'],
  ["select event, count() from events group by event having max(distinct_id) > 'm'", '"distinct_id"'],
  ["select event, count() from events group by event having countIf(distinct_id > 'm') > 3", '"distinct_id"'],
  ["select event, count() from events group by event order by max(distinct_id)", '"distinct_id"'],
  ["select event, count() from events group by event order by event limit 1 by distinct_id", '"distinct_id"'],
  ["select count(if(distinct_id > 'm', 1, null)) from events", '"distinct_id"'],
  ["select uniq(substring(distinct_id, 1, 1)) from events", '"distinct_id"'],
  ["select uniqIf(person_id, distinct_id > 'm') from events", '"distinct_id"'],
  ["select sumIf(properties.amount, distinct_id = 'bob') from events", '"distinct_id"'],
  ["select count() filter (where distinct_id = 'bob') from events", '"distinct_id"'],
  ["select maxIf(1, bitTest(ascii(substring(distinct_id, 1, 1)), 0)) from events", '"distinct_id"'],
  // SELECTs inside, whose columns may hide others of their names.
  [
    "select distinct_id, count() from (select *, toStartOfHour(timestamp) as distinct_id from events) group by distinct_id",
    "without SELECTs inside",
  ],
  [
    "select n, count() from (select count() as n from events group by person_id) group by n",
    "without SELECTs",
  ],
  [
    "select count() from events where distinct_id in (select distinct_id from events)",
    "without others inside",
  ],
  ["with toDate(timestamp) as day select day, count() from events group by day", "without WITH"],
  // Moments that are calculated with before they are rounded.
  [
    "select toStartOfMinute(toDateTime((toInt(timestamp) - 1700000000) * 60)) as t, count() from events group by t",
    "computed so",
  ],
  [
    "select toDate(concat('2026-01-0', substring(toString(timestamp), 18, 1))) as t, count() from events group by t",
    "computed so",
  ],
  [
    "select toYear(if(1 = 1, toDateTime($session_duration * 60), $start_timestamp)) as t, count() from sessions group by t",
    "computed so",
  ],
  ["select max(dateDiff('millisecond', toDateTime('2026-01-01'), timestamp)) from events", "dateDiff()"],
  ["select formatDateTime(timestamp, '%S') as t, count() from events group by t", "computed so"],
  // Columns of sets.
  [
    "select toDate(timestamp) as a, count() from events group by a union all select distinct_id, count() from events group by 1",
    "without UNION",
  ],
  ["select count() from events union all select toDate(timestamp) from events group by 1", "without UNION"],
];

test.each(hidden)("hidden: %s", async (text, reason) => {
  const found = await read(text);
  expect(typeof found === "string" ? found.toLowerCase() : "shown").toContain(reason.toLowerCase());
});

test("before anything is confirmed, the properties that a query needs are listed", async () => {
  const found = await read(
    "select event, sum(properties.amount), max(properties.b) from events group by event",
    true,
  );
  expect(found).toMatchObject({ properties: new Set(["event", "properties.amount", "properties.b"]) });
});

test("words that only end like ids call nothing an id", async () => {
  const names = "paid isPaid valid grids android2 bid hybrid iphone headphones guide plan mailing";
  for (const name of names.split(" "))
    expect(await read(`select properties.${name}, count() from events group by 1`, true)).toMatchObject({
      properties: new Set([`properties.${name}`]),
    });
});

test("to a reader no key is shown that is an object or a list, in rows, lines, steps and links", () => {
  const user = JSON.stringify({ email: "ann@example.com" });
  const areFigures = [false, true];
  const find = (...rows: unknown[]) => findUnshownKey({ areFigures }, rows);
  for (const row of [
    [user, 1],
    [` ${user}`, 1],
    ['["ann"]', 1],
    [`[${user}]`, 1],
    { breakdown_value: user },
    { breakdown_value: ["pro", user] },
    [{ breakdown_value: [user] }],
    { source: "1_/", target: `2_${user}` },
  ])
    expect([row, find(["pro", 1], row)]).toEqual([row, expect.stringContaining("is an object or a list")]);
  const others = [
    ["[new] bought", 1],
    ["{campaign.name}", 1],
    ["{{id}}", [1, 2]],
    [null, [0.5]],
    { data: [1] },
    [],
  ];
  expect(find(...others)).toBeUndefined();
});

test("a column is called by its alias or field, never by the query's text", async () => {
  const text = "select event, count() as n, countIf(event = 'bob') from events group by event";
  expect(await read(text)).toMatchObject({
    names: ["event", "n", undefined],
    areFigures: [false, true, true],
  });
});

test("expressions of other kinds show what a query in SQL may show", async () => {
  const readExpression = async (text: string) => {
    const tree = await parser.parse(text, "expression", 1);
    try {
      return [...readShownExpression(tree, confirmed)];
    } catch (thrown) {
      return (thrown as Error).message;
    }
  };
  expect(await readExpression("properties.plan")).toEqual(["properties.plan"]);
  expect(await readExpression("sum(toFloat(properties.amount)) / uniq(person_id)")).toEqual([
    "properties.amount",
  ]);
  expect(await readExpression("toDate(timestamp)")).toEqual([]);
  expect(await readExpression("distinct_id")).toContain('"distinct_id"');
  expect(await readExpression("max(toInt(properties.phone))")).toContain("is called like");
  expect(await readExpression("concat(properties.plan, toString(person_id))")).toContain('"person_id"');
  expect(await readExpression("(select any(distinct_id) from events)")).toContain("computed so");
});
