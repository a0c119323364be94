import { afterAll, beforeAll, expect, test } from "bun:test";
import { compileOverEvents, type PropertyTypes } from "../../../src/query/sql/compile/compile.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestParser } from "../../support/sql_parser.ts";
import { storesStartMsMax } from "../../support/stores.ts";
import type { NaiveEvent } from "../naive.ts";
import { dayMs, madeEvents, openSqlWorld, type SqlWorld, zone } from "./sql_world.ts";

afterAll(cleanUp, storesStartMsMax);

let world: SqlWorld;
beforeAll(async () => {
  world = await openSqlWorld();
}, storesStartMsMax);

const day = ({ at }: NaiveEvent): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate().toString();

/** Rows of groups and their counts, by group. */
function counted(key: (event: NaiveEvent) => string | null, events = madeEvents): [string | null, string][] {
  const counts = new Map<string | null, number>();
  for (const one of events) counts.set(key(one), (counts.get(key(one)) ?? 0) + 1);
  return [...counts].map(([name, count]) => [name, String(count)]);
}

const sorted = (rows: unknown[][]): unknown[][] =>
  rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

const properties = (event: NaiveEvent): Record<string, unknown> => event.properties;
const amount = (event: NaiveEvent): number | undefined => {
  const value = properties(event)["amount"];
  return typeof value === "number" ? value : undefined;
};
const since = Temporal.ZonedDateTime.from(`2024-03-05T00:00:00[${zone}]`).epochMilliseconds;

/** Conditions of events since Monday of the project's zone, which is an hour of the day before in UTC. */
const sinceMonday = [
  "timestamp >= dateTrunc('week', now())",
  "timestamp >= addDays(today(), -3)",
  "timestamp >= today() - interval 3 day",
  "timestamp >= today() - interval 72 hour",
  "timestamp >= toStartOfInterval(now(), interval 1 week)",
  "timestamp >= dateSub('day', 3, today())",
  "timestamp >= dateSub('hour', 72, today())",
  "timestamp >= toStartOfDay(today() - 3)",
  "timestamp >= subtractHours(today(), 72)",
  "timestamp >= dateTrunc('hour', today() - interval 3 day)",
  "toDateTime(dateTrunc('week', now())) <= timestamp",
  "timestamp >= toDateTime('2024-03-10 23:00:00', 'UTC')",
  "toDate(timestamp) in ('2024-03-11', '2024-03-12', '2024-03-13', '2024-03-14')",
  "toStartOfDay(timestamp) >= dateTrunc('week', now())",
  "toDate(timestamp) >= toStartOfWeek(now(), 1)",
];

const counts: [name: string, query: string, expected: () => [string | null, string][]][] = [
  [
    "by day of the project's zone",
    "select toString(toDate(timestamp)) as d, count() from events group by d",
    () => counted(day),
  ],
  [
    "by property, null where it is absent",
    "select properties.plan, count() from events group by 1",
    () => counted((one) => (properties(one)["plan"] as string | undefined) ?? null),
  ],
  [
    "since a moment of the project's zone",
    "select event, count() from events where timestamp >= '2024-03-05' group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter(({ at }) => at >= since),
      ),
  ],
  [
    "of a day",
    "select event, count() from events where toDate(timestamp) = '2024-03-05' group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => day(one) === "2024-03-05"),
      ),
  ],
  [
    "since the start of a week",
    "select event, count() from events where toStartOfWeek(timestamp, 1) > '2024-03-04' group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => day(one) >= "2024-03-11"),
      ),
  ],
  [
    "until a month",
    "select event, count() from events where toStartOfMonth(timestamp) <= toDate('2024-02-29') group by event",
    () => [],
  ],
  [
    "of the last days",
    "select event, count() from events where timestamp > now() - interval 5 day group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter(({ at }) => at > Date.UTC(2024, 2, 14) - 5 * dayMs),
      ),
  ],
  ...sinceMonday.map((condition): (typeof counts)[number] => [
    `since Monday of the project's zone: ${condition}`,
    `select event, count() from events where ${condition} group by event`,
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => day(one) >= "2024-03-11"),
      ),
  ]),
  [
    "where a property is a number",
    "select event, count() from events where properties.amount > 100 group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => (amount(one) ?? 0) > 100),
      ),
  ],
  [
    "where a property is true",
    "select event, count() from events where properties.is_new = true group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => properties(one)["is_new"] === true),
      ),
  ],
  [
    "where a property differs: of those without it too",
    "select event, count() from events where properties.plan != 'free' group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => properties(one)["plan"] !== "free"),
      ),
  ],
  [
    "where a property is none of these: of those without it too",
    "select event, count() from events where properties.plan not in ('free', 'pro') group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => properties(one)["plan"] !== "free"),
      ),
  ],
  [
    "where a property equals null",
    "select event, count() from events where properties.plan = null group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => properties(one)["plan"] === undefined),
      ),
  ],
  [
    "where a pattern matches",
    "select event, count() from events where properties.$current_url =~* 'DOCS' group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => String(properties(one)["$current_url"]).includes("docs")),
      ),
  ],
  [
    "of a nested property",
    "select event, count() from events where properties.nested.deep.number < 10 group by event",
    () => counted((one) => one.event, madeEvents.slice(0, 10)),
  ],
  [
    "of an item of a list",
    "select properties.tags[2], count() from events group by 1",
    () => counted((one) => (properties(one)["tags"] as string[])[1]!),
  ],
  [
    "of persons who did another thing",
    "select event, count() from events where person_id in (select person_id from events where uuid = '00000000-0000-4000-8000-000000000003') group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter((one) => one.distinct_id === "u3"),
      ),
  ],
  [
    "within the filters of the request",
    "select event, count() from events where {filters} group by event",
    () =>
      counted(
        (one) => one.event,
        madeEvents.filter(({ at }) => at >= Date.UTC(2024, 2, 2) && at < Date.UTC(2024, 2, 4)),
      ),
  ],
];

test.each([
  ...sinceMonday.map((condition) => `select countIf(${condition}) from events`),
  "select sum(n) from (select count() as n from events group by toDate(timestamp) having toDate(timestamp) >= '2024-03-11')",
  "select sum(n) from (select count() as n from events group by timestamp having timestamp >= '2024-03-11')",
  "select sum(n) from (select toStartOfDay(timestamp) as d, count() as n from events where d >= '2024-03-11' group by d)",
])("moments are compared apart from the key, too: %s", async (query) => {
  const [[count] = []] = await world.ask(query);
  expect(Number(count)).toBe(madeEvents.filter((one) => day(one) >= "2024-03-11").length);
});

for (const [name, query, expected] of counts) {
  test(`events are counted ${name}`, async () => {
    const filters = { from: "2024-03-02 00:00:00.000000", to: "2024-03-04 00:00:00.000000", properties: [] };
    expect(sorted(await world.ask(query, { filters }))).toEqual(sorted(expected()));
  });
}

test("numbers of properties are summed; what is no number is left out", async () => {
  const numbers = madeEvents.map(amount).filter((one) => one !== undefined);
  const [row] = await world.ask(
    "select sum(properties.amount), max(toInt(properties.amount)), countIf(properties.amount > 50) from events",
  );
  const over = numbers.filter((one) => one > 50).length;
  expect(row).toEqual([
    numbers.reduce((sum, one) => sum + one, 0),
    String(Math.max(...numbers)),
    String(over),
  ]);
});

test("IN and NOT IN are truths in sums and of names; whole numbers keep their digits", async () => {
  const [row] = await world.ask(
    `select 'a' as e, [1, 2] as x, 2 in x, arrayExists(y -> 1 in y, [[1]]), 'a' in e, (1 not in (2)) * 2,
       (1 not in (1)) + 1, toString(9007199254740993)`,
  );
  expect(row?.slice(2).map(String)).toEqual(["1", "1", "1", "2", "1", "9007199254740993"]);
});

const knownTypes: PropertyTypes = (_, name) =>
  (({ amount: "Numeric", is_new: "Boolean", seen_at: "DateTime" }) as const)[name];

test("a property of known type is that type wherever it stands", async () => {
  const query =
    "select properties.amount, properties.is_new from events order by properties.amount desc, uuid limit 2";
  const [first] = await world.ask(query, { propertyType: knownTypes });
  expect(first).toEqual([239, false]);
});

/** Conditions on properties of known types, and of which events they are true. */
const typed: [condition: string, isTrue: (event: NaiveEvent) => boolean][] = [
  ["properties.amount > '99'", (one) => (amount(one) ?? 0) > 99],
  ["properties.amount = '100.0'", (one) => amount(one) === 100],
  ["properties.amount = 'none'", (one) => properties(one)["amount"] === "none"],
  ["properties.amount != ''", () => true],
  ["properties.amount in ('5', 'none')", (one) => [5, "none"].includes(properties(one)["amount"] as number)],
  ["properties.amount in ('5.0', 7)", (one) => [5, 7].includes(amount(one) ?? 0)],
  ["properties.amount like '10_'", (one) => /^10.$/.test(String(properties(one)["amount"]))],
  ["properties.amount is null", (one) => amount(one) === undefined],
  ["lower(properties.amount) = 'none'", (one) => properties(one)["amount"] === "none"],
  ["length(properties.amount) = 3", (one) => (amount(one) ?? 0) >= 100],
  [
    "coalesce(properties.amount, properties.$browser) = 'Safari'",
    (one) => properties(one)["amount"] === null && properties(one)["$browser"] === "Safari",
  ],
  ["properties.is_new", (one) => properties(one)["is_new"] === true],
  ["properties.is_new = 'true'", (one) => properties(one)["is_new"] === true],
  ["properties.is_new = 1", (one) => properties(one)["is_new"] === true],
  ["properties.is_new != false", (one) => properties(one)["is_new"] === true],
  ["properties.seen_at is null", () => true],
  ["properties.seen_at > '2024-01-01'", () => false],
  ["properties.seen_at = 'never'", () => false],
];

/** Lists of one type, which are one parameter, without types known. */
const lists: [condition: string, isTrue: (event: NaiveEvent) => boolean][] = [
  ["event in ('signup', 'purchase', 'it''s')", ({ event }) => ["signup", "purchase"].includes(event)],
  ["event not in ('signup', 'purchase')", ({ event }) => event === "$pageview"],
  ["distinct_id in ('u1', '', 'u1,u2', 'u6')", ({ distinct_id }) => ["u1", "u6"].includes(distinct_id)],
  ["properties.plan in ('free', 'pro')", (one) => properties(one)["plan"] === "free"],
  ["properties.plan not in ('free', 'pro')", (one) => properties(one)["plan"] !== "free"],
  ["properties.amount in (5, 7, -1, 300)", (one) => [5, 7].includes(amount(one) ?? 0)],
  ["properties.amount not in (5, 9007199254740991)", (one) => amount(one) !== 5],
  ["toHour(timestamp) in (2, 3)", ({ at }) => [2, 3].includes(berlin(at).hour)],
  ["length(distinct_id) in (2, 70000)", () => true],
  ["2 in (1, 2) and 'a' not in ('b', 'c') and 1.5 not in (1, 2)", () => true],
];
const berlin = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);

test.each(lists)("%s is true of the right events", async (condition, isTrue) => {
  const [row] = await world.ask(`select count() from events where ${condition}`);
  expect([condition, Number(row?.[0])]).toEqual([condition, madeEvents.filter(isTrue).length]);
});

test.each(typed)("with types known, %s is true of the right events", async (condition, isTrue) => {
  const query = `select count() from events where ${condition}`;
  const [row] = await world.ask(query, { propertyType: knownTypes });
  expect([condition, Number(row?.[0])]).toEqual([condition, madeEvents.filter(isTrue).length]);
});

test("truths of known type are counted, and moments written as texts", async () => {
  const query = `select sum(properties.is_new), formatDateTime(parseDateTimeBestEffort('2024-03-05'), '%Y'),
    max(properties.amount) from events`;
  const [row] = await world.ask(query, { propertyType: knownTypes });
  const numbers = madeEvents.flatMap((one) => amount(one) ?? []);
  expect(row?.map(String)).toEqual(["120", "2024", String(Math.max(...numbers))]);
});

test("a name that an alias has is the alias, also where a column has it too", async () => {
  const query =
    "select toString(toDate(timestamp)) as timestamp, count() from events where timestamp = '2024-03-05' group by timestamp";
  const [row] = await world.ask(query);
  const expected = madeEvents.filter((one) => day(one) === "2024-03-05").length;
  expect(row).toEqual(["2024-03-05", String(expected)]);
});

test("joined tables, common tables and windows agree with a walk over the events", async () => {
  const query = `with firsts as (select person_id as who, min(timestamp) as t from events group by person_id)
    select e.uuid, row_number() over (partition by e.person_id order by e.timestamp) as n
    from events e join firsts f on e.person_id = f.who where e.timestamp > f.t order by e.timestamp limit 5`;
  const rows = await world.ask(query);
  const later = madeEvents.slice(7, 12).map(({ uuid }) => [uuid, "1"]);
  expect(rows.slice(0, 5)).toEqual(later);
});

test("rows beyond the limit show as one row more", async () => {
  const { limit, offset } = await world.compile(
    "select uuid from events order by timestamp limit 3 offset 2",
  );
  expect([limit, offset]).toEqual([3, 2]);
  const rows = await world.ask("select uuid from events order by timestamp limit 3 offset 2");
  expect(rows.map(([uuid]) => uuid)).toEqual(madeEvents.slice(2, 6).map(({ uuid }) => uuid));
  expect((await world.ask("select uuid from events")).length).toBe(101);
});

for (const condition of [
  "timestamp >= '2024-03-05'",
  "timestamp > now() - interval 1 day",
  "timestamp >= toDateTime('2024-03-05 00:00:00', 'UTC')",
  "timestamp >= today() - interval 3 day",
  "timestamp >= toStartOfMonth(now()) - interval 6 month",
  "toDate(timestamp) = '2024-03-05'",
  "toDate(timestamp) in ('2024-03-05', '2024-03-06')",
  "toStartOfMonth(timestamp) >= '2024-03-01'",
  "month >= '2024-03-01'",
  "dateTrunc('day', timestamp) between '2024-03-01' and '2024-03-02'",
  "{filters}",
]) {
  test(`${condition} reaches the key of the table`, async () => {
    const filters = { from: "2024-03-02 00:00:00.000000", properties: [] };
    const { statement, parameters } = await world.compile(
      `select person_id, toStartOfMonth(timestamp) as month, count() from events where ${condition} group by 1, 2`,
      { filters },
    );
    const lines = await world.stores.clickhouse.query<{ explain: string }>(
      `EXPLAIN indexes = 1 ${statement}`,
      parameters,
    );
    expect(
      lines.some(
        ({ explain }) => explain.includes("Condition") && explain.includes("(toDate(timestamp) in "),
      ),
    ).toBe(true);
  });
}

test("statements over events with expressions reach the key, whatever these join", async () => {
  const parser = openTestParser();
  const texts = ["properties.plan", "person.properties.plan = 'free'", "session.$session_duration > 3"];
  const trees = await Promise.all(texts.map((text) => parser.parse(text, "expression", 1)));
  const context = { project_id: 1, timezone: "UTC", now: 0, text: "" };
  const failed = (thrown: unknown): never => {
    throw thrown;
  };
  const exposed = ["project_id", "timestamp"];
  const { rows, parameters, expressions } = compileOverEvents(trees, exposed, context, failed);
  const lines = await world.stores.clickhouse.query<{ explain: string }>(
    `EXPLAIN indexes = 1 SELECT count() FROM ${rows}
     WHERE project_id = {project_id:UInt32} AND timestamp >= toDateTime64('2024-03-05 00:00:00', 6, 'UTC')
       AND ${expressions[1]!.sql} AND ${expressions[2]!.sql}`,
    parameters,
  );
  expect(
    lines.some(({ explain }) => explain.includes("Condition") && explain.includes("(toDate(timestamp) in ")),
  ).toBe(true);
});

test("properties of persons come with their events, those of persons without any are null", async () => {
  await world.stores.clickhouse.command(
    `INSERT INTO event_rows
       (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv)
     SELECT generateUUIDv4(), 1, '$set', 'u1', '{}', toDateTime64('2024-03-13 12:00:00', 6, 'UTC'), now64(6),
       ['email', 'age'], [0, 0], ['"u1@example.com"', '41']`,
  );
  const expected = madeEvents.filter(({ distinct_id }) => distinct_id === "u1").length;
  const rest = madeEvents.length - expected;
  const query = (columns: string) =>
    `select ${columns}, count() from events where event != '$set' group by all order by 2 nulls last, 1`;
  expect(sorted(await world.ask(query("person.properties.email")))).toEqual(
    sorted([
      ["u1@example.com", String(expected)],
      [null, String(rest)],
    ]),
  );
  const [row] = await world.ask(
    "select count() from events where person.properties.age > 40 and event != '$set'",
  );
  expect(row).toEqual([String(expected)]);
  const named =
    "select person.properties.email, person.created_at is not null, count() from events where distinct_id = 'u1' group by 1, 2";
  expect(await world.ask(named)).toEqual([["u1@example.com", 1, String(expected + 1)]]);
  const several =
    "select person.properties.email, person.properties.age, person.properties.none, person.properties from events " +
    "where distinct_id = 'u1' and event = '$set'";
  const [[email, age, none, all] = []] = await world.ask(several);
  expect([email, age, none]).toEqual(["u1@example.com", "41", null]);
  expect(JSON.parse(String(all))).toEqual({ email: "u1@example.com", age: 41 });
  const direct = "select properties.email, properties.age from persons where properties.age = 41";
  expect(await world.ask(direct)).toEqual([["u1@example.com", "41"]]);
});

for (const [text, numbers] of [
  ["select number from numbers(3) union all select number from numbers(3) limit 1", ["0", "0", "1", "2"]],
  [
    "(select number from numbers(3) limit 1) union all (select number from numbers(3) limit 2)",
    ["0", "0", "1"],
  ],
] as const) {
  test(`the engine means by it what is answered: ${text}`, async () => {
    const rowsOf = (rows: unknown[][]) => rows.flat().toSorted();
    const direct = await world.stores.clickhouse.query<Record<string, unknown>>(text, {});
    expect(rowsOf(direct.map((row) => Object.values(row)))).toEqual([...numbers]);
    expect(rowsOf(await world.ask(text))).toEqual([...numbers]);
  });
}
