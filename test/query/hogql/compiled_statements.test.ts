// The second wall lets pass whatever the compiler makes: its lists and the wall's are one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import type { SqlFilters } from "../../../src/query/sql/compile/compile.ts";
import { sqlTables } from "../../../src/query/sql/compile/lists/tables.ts";
import { checkStatement } from "../../../src/query/sql/statement_check.ts";
import { openQueryRunners } from "../../../src/query/store.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { checkPropertyFilters } from "../../../src/storage/events/property_filter.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { usualBounds } from "../../support/query_bounds.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";
import { callables, callText, countsOf } from "../sql/compile/lists/arguments.ts";
import { publicContext, publicQueries } from "../sql/public_queries.ts";
import { openCompiler } from "../sql/sql_world.ts";

afterAll(cleanUp, storesStartMsMax);

const compile = openCompiler();
let clickhouse: ClickHouse;
beforeAll(async () => {
  ({ clickhouse } = await openMadeStores());
}, storesStartMsMax);

async function outcome(query: string, filters: SqlFilters = publicContext.filters): Promise<string> {
  const { statement, parameters } = await compile(query, { ...publicContext, filters });
  const { run } = openQueryRunners(clickhouse, systemClock, usualBounds());
  return checkStatement({ run, project_id: 1 }, statement, parameters).then(
    () => "passed",
    (thrown: unknown) => String(thrown),
  );
}

test("every query of PostHog's documents passes", async () => {
  for (const query of publicQueries.filter((one) => !one.startsWith("refused "))) {
    expect([query, await outcome(query)]).toEqual([query, "passed"]);
  }
}, 300_000);

const calls = [
  // The part of date_part() is a name of its own.
  ...callables.flatMap(([name, args]) =>
    name === "date_part"
      ? ["date_part('year', timestamp)"]
      : countsOf(args).map((count) => callText(name, args, count)),
  ),
  "toDateTime(timestamp), toDateTime(today()), toDateTime(event), toDateTime('2024-01-01')",
  "toDate(timestamp), toDate(event), toDate('2024-01-01'), toDate('2024-01-01T00:00:00Z')",
  "count(distinct event), sum(distinct 1), sumIf(distinct 1, 1), sum(distinct 1) filter (where true)",
  "sumArrayOrNullIf([1], true) filter (where true), quantile(0.5)(1) over (order by event)",
  "case event when 'a' then 1 when 'b' then 2 else 3 end, case when true then 1 end",
  "1 + 2, 1 - 2, 1 * 2, 1 / 2, 1 % 2, -timestamp, interval 1 day, event || 'a', not true, true and false or true",
  "1 = 2, 1 != 2, 1 < 2, 1 <= 2, 1 > 2, 1 >= 2, event between 'a' and 'b', event is distinct from 'a'",
  "event like 'a', event not like 'a', event ilike 'a', event not ilike 'a', event =~ 'a', event !~* 'a'",
  "event is null, event is not null, event in ('a'), event not in ('a', 'b'), event in [event], (1, 2) in ((1, 2))",
  "event in (select event from events), exists(select 1 from events), (select count() from events)",
  "[1, 2][1], [1, 2, 3][1:2], (1, 2).1, properties.a.b[1], arrayMap(x -> x + 1, [1])",
  "cast(event as int), cast(event as float), cast(event as date), cast(event as timestamp), cast(event as uuid)",
  "person.properties.a, person.created_at, pdi.person_id, session.$channel_type, group_0.properties.a, person_id",
];

test("every function of the lists passes, and every operator", async () => {
  const together = 12;
  for (let i = 0; i < calls.length; i += together) {
    const query = `select ${calls.slice(i, i + together).join(", ")} from events`;
    expect([query, await outcome(query)]).toEqual([query, "passed"]);
  }
}, 300_000);

test("every column of every table passes", async () => {
  for (const [name, { columns }] of Object.entries(sqlTables)) {
    const query = `select *, ${Object.keys(columns).join(", ")} from ${name}`;
    expect([query, await outcome(query)]).toEqual([query, "passed"]);
  }
});

test("every filter passes", async () => {
  const texts = "exact is_not icontains not_icontains regex not_regex in not_in is_set is_not_set".split(" ");
  const asked = [
    ...texts.map((operator) => ({ key: "a", operator, value: ["b", 1] })),
    ...["gt", "gte", "lt", "lte"].map((operator) => ({ key: "a", operator, value: 1 })),
    ...["between", "not_between"].map((operator) => ({ key: "a", operator, value: [1, 2] })),
    ...["is_date_exact", "is_date_before", "is_date_after"].map((operator) => ({
      key: "a",
      operator,
      value: "2024-01-01",
    })),
  ];
  const properties = asked.flatMap((one) => [
    { ...one, type: "event" },
    { ...one, type: "person" },
  ]);
  const filters = { ...publicContext.filters, properties: checkPropertyFilters(properties, "properties") };
  expect(await outcome("select count() from events where {filters}", filters)).toBe("passed");
});
