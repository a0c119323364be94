// Statements of SQL with the rows of PostHog's hogql/test/test_query.py, test_printer.py, test_placeholders.py,
// test_filters.py and database tests, on data of our own. Each row names its test, or what it asks for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let project: PeerProject;
const session = (minute: number) => `018cc251-f40${minute}-7000-8000-000000000001`;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const at = (minute: number) => `2024-01-01T00:0${minute}:00Z`;
  const happenings: Happening[] = [
    [
      "ann",
      "$groupidentify",
      at(0),
      { $group_type: "org", $group_key: "o1", $group_set: { name: "One", size: 5 } },
    ],
    ...[1, 2, 3].map((minute): Happening => [
      "ann",
      "view",
      at(minute),
      {
        n: minute,
        k: "a",
        tags: ["x", "y"],
        deep: { id: [{ id: "z" }] },
        $groups: { org: "o1" },
        $set: { email: "ann@x.org", age: 30 },
      },
    ]),
    ...[1, 2].map((minute): Happening => [
      "bob",
      "view",
      at(minute + 4),
      {
        n: minute * 10,
        k: minute === 1 ? "b" : "a",
        $session_id: session(4),
        $current_url: `https://e.com/${minute}`,
        $pathname: `/${minute}`,
        $set: { email: "bob@y.org" },
      },
    ]),
    ["bob", "odd", at(7), { empty: "", null: null, zero: 0, text_zero: "0" }],
  ];
  project = await makeProject(
    app,
    happenings.map(([who, event, when, properties = {}]) => {
      return [
        who,
        event,
        when,
        {
          ...(event !== "$groupidentify" && who === "bob" ? { $session_id: session(4) } : {}),
          ...properties,
        },
      ];
    }),
  );
}, startMsMax);
afterAll(cleanUp, startMsMax);

const sql = (query: string, more: object = {}) =>
  project.results<unknown[]>({ kind: "HogQLQuery", query, ...more });

test.each([
  [
    "test_subquery",
    "select cnt, event from (select count() as cnt, event from events where event = 'view' group by event) group by cnt, event",
    [[5, "view"]],
  ],
  [
    "test_query_distinct",
    "select distinct properties.email from persons where properties.age = 30",
    [["ann@x.org"]],
  ],
  [
    "test_query_joins_simple",
    "select e.event, pdi.distinct_id, p.properties.email from events e left join person_distinct_ids pdi on pdi.distinct_id = e.distinct_id left join persons p on p.id = pdi.person_id where e.event = 'odd'",
    [["odd", "bob", "bob@y.org"]],
  ],
  [
    "test_null_properties",
    "select properties.empty, properties.`null`, properties.undefined, properties.text_zero from events where event = 'odd'",
    [["", null, null, "0"]],
  ],
  [
    "test_property_access_with_arrays",
    "select properties.tags.1, properties.tags[2], properties.deep.id.1.id, properties.deep.id[1].id, properties.deep.id[1]['id'] from events where event = 'view' and properties.n = 1",
    [["x", "y", "z", "z", "z"]],
  ],
  [
    "test_window_functions_simple",
    "select properties.n, groupArray(properties.n) over (order by timestamp rows between 2 preceding and 1 preceding) as two from events where distinct_id = 'ann' and event = 'view' order by timestamp",
    [
      [1, []],
      [2, [1]],
      [3, [1, 2]],
    ],
  ],
  [
    "test_window_functions_with_window",
    "select row_number() over w as r, rank() over w as k, first_value(properties.n) over w as f, last_value(properties.n) over w as l from events where distinct_id = 'ann' and event = 'view' window w as (order by timestamp) order by timestamp",
    [
      [1, 1, 1, 1],
      [2, 2, 1, 2],
      [3, 3, 1, 3],
    ],
  ],
  [
    "a share of all",
    "select properties.k, round(100 * count() / sum(count()) over (), 1) as share from events where event = 'view' group by properties.k order by share desc",
    [
      ["a", 80],
      ["b", 20],
    ],
  ],
  ["test_numbers_table", "select number from numbers(1, 4)", [[1], [2], [3], [4]]],
  ["test_numbers_table", "select number + number + 1 from numbers(2 + 2)", [[1], [3], [5], [7]]],
  [
    "test_numbers_table",
    "select count() from numbers(assumeNotNull(dateDiff('day', toStartOfDay(toDateTime('2011-12-31 00:00:00')), toDateTime('2012-01-14 23:59:59'))))",
    [[14]],
  ],
  ["test_nullish_coalescing", "select 1 + null ?? 2 + 3, 10 ?? true ? 20 : 30", [[5, 20]]],
  [
    "test_events_sessions_table",
    "select distinct session.session_id, session.$session_duration from events where distinct_id = 'bob'",
    [[session(4), 120]],
  ],
  [
    "sessions",
    "select session_id, $entry_current_url, $pageview_count, $autocapture_count from sessions",
    [[session(4), "https://e.com/1", 0, 0]],
  ],
  [
    "a group's property",
    "select distinct group_0.properties.name from events where event = 'view' and distinct_id = 'ann'",
    [["One"]],
  ],
  [
    "a group by its type's name",
    "select distinct org.properties.name, e.org.key, e.org.properties.size > 4 from events e where event = 'view' and distinct_id = 'ann'",
    [["One", "o1", 1]],
  ],
  ["the groups", "select key, properties.size from groups", [["o1", 5]]],
  [
    "test_hogql_proper_ifnull",
    "with latest as (select distinct_id, argMax(properties.k, timestamp) as k from events where event = 'view' group by distinct_id) select k, count() from latest group by k order by k",
    [["a", 2]],
  ],
  [
    "a WITH in a WITH",
    "with a as (select properties.n as n from events where event = 'view'), b as (select n * 2 as m from a) select sum(m) from b",
    [[72]],
  ],
  ["a UNION", "select n from (select 1 as n union all select 2 as n) order by n desc", [[2], [1]]],
  [
    "an INTERSECT",
    "select distinct_id from events where properties.n = 1 intersect select distinct_id from events where properties.n = 2",
    [["ann"]],
  ],
  [
    "LIMIT BY",
    "select distinct_id, properties.n from events where event = 'view' order by properties.n desc limit 1 by distinct_id",
    [
      ["bob", 20],
      ["ann", 3],
    ],
  ],
  [
    "LIMIT and OFFSET",
    "select properties.n from events where event = 'view' order by properties.n limit 2 offset 1",
    [[2], [3]],
  ],
  [
    "HAVING",
    "select distinct_id, count() as c from events where event = 'view' group by distinct_id having c > 2",
    [["ann", 3]],
  ],
  [
    "GROUP BY a place",
    "select properties.k, count() from events where event = 'view' group by 1 order by 2",
    [
      ["b", 1],
      ["a", 4],
    ],
  ],
  [
    "ARRAY JOIN",
    "select tag, count() from events array join ['a', 'b'] as tag where event = 'odd' group by tag order by tag",
    [
      ["a", 1],
      ["b", 1],
    ],
  ],
  [
    "arrayJoin of a property",
    "select arrayJoin(JSONExtract(properties.tags, 'Array(String)')) as tag, count() from events where event = 'view' and distinct_id = 'ann' group by tag order by tag",
    [
      ["x", 3],
      ["y", 3],
    ],
  ],
  [
    "IN a SELECT",
    "select count() from events where event = 'view' and person_id in (select id from persons where properties.email like '%@x.org')",
    [[3]],
  ],
  [
    "NOT IN a SELECT",
    "select count() from events where event = 'view' and person_id not in (select id from persons where properties.email like '%@x.org')",
    [[2]],
  ],
  [
    "a scalar SELECT",
    "select count() from events where properties.n > (select avg(properties.n) from events where event = 'view')",
    [[2]],
  ],
  [
    "CASE",
    "select case when properties.n < 3 then 'low' when properties.n < 15 then 'mid' else 'high' end as size, count() from events where event = 'view' group by size order by size",
    [
      ["high", 1],
      ["low", 2],
      ["mid", 2],
    ],
  ],
  [
    "a condition for an aggregate",
    "select count() filter (where properties.k = 'a'), countIf(properties.k = 'b') from events where event = 'view'",
    [[4, 1]],
  ],
  [
    "persons' columns",
    "select properties.email, is_identified, created_at = toDateTime('2024-01-01T00:01:00Z') or created_at is not null from persons order by properties.email",
    [
      ["ann@x.org", false, 1],
      ["bob@y.org", false, 1],
    ],
  ],
  [
    "an event's person",
    "select person.properties.email, max(properties.n) from events where event = 'view' group by person.properties.email order by 1",
    [
      ["ann@x.org", 3],
      ["bob@y.org", 20],
    ],
  ],
  [
    "quoted names",
    'select "properties"."n" as "a b" from "events" where "event" = \'view\' order by "a b" limit 1',
    [[1]],
  ],
  ["a comment", "select 1 -- one\n/* two */ + 1", [[2]]],
  [
    "an interval",
    "select count() from events where timestamp >= toDateTime('2024-01-01') and timestamp < toDateTime('2024-01-01') + interval 3 minute",
    [[3]],
  ],
  [
    "a text as a date",
    "select count() from events where timestamp > '2024-01-01 00:04:00' and event = 'view'",
    [[2]],
  ],
  [
    "BETWEEN dates",
    "select count() from events where toDate(timestamp) between '2024-01-01' and '2024-01-02' and event = 'view'",
    [[5]],
  ],
  [
    "lambdas of two lists",
    "select arrayMap((x, i) -> x * i, [10, 20], arrayEnumerate([10, 20]))",
    [[[10, 40]]],
  ],
  [
    "a join of two SELECTs",
    "select a.d, b.c from (select distinct distinct_id as d from events) a join (select distinct_id as d, count() as c from events where event = 'view' group by d) b on a.d = b.d order by a.d",
    [
      ["ann", 3],
      ["bob", 2],
    ],
  ],
  [
    "a cross join",
    "select count() from (select 1 as x union all select 2 as x) a cross join (select 3 as y) b",
    [[2]],
  ],
  ["a full list of columns", "select * from (select 1 as a, 'b' as c)", [[1, "b"]]],
  [
    "DISTINCT counts",
    "select count(distinct distinct_id), uniqIf(distinct_id, event = 'odd') from events where event != '$groupidentify'",
    [[2, 1]],
  ],
])("%s: %s", async (_, query, rows) => {
  expect(await sql(query)).toEqual(rows as never);
});

const filters = (more: object) => ({ filters: more });
test.each([
  [
    "select count() from events where {filters}",
    filters({ properties: [{ key: "k", value: "a", type: "event", operator: "exact" }] }),
    [[4]],
  ],
  [
    "select count() from events e where e.event = 'view' and {filters}",
    filters({ properties: [{ key: "email", value: "ann", type: "person", operator: "icontains" }] }),
    [[3]],
  ],
  [
    "select count() from events where {filters}",
    filters({ dateRange: { date_from: "2024-01-01", date_to: "2024-01-02" } }),
    [[7]],
  ],
  [
    "select count() from events where {filters}",
    filters({ dateRange: { date_from: "2023-01-01", date_to: "2023-01-02" } }),
    [[0]],
  ],
  ["select count() from events where {filters}", {}, [[7]]],
  [
    "select session_id from sessions where {filters}",
    filters({
      properties: [
        { key: "$entry_current_url", value: "https://e.com/1", type: "session", operator: "exact" },
      ],
    }),
    [[session(4)]],
  ],
  ["select count() from events where event = {name}", { values: { name: "odd" } }, [[1]]],
  ["select {a} + {b}", { values: { a: 1, b: 2 } }, [[3]]],
  ["select count() from events where event in {names}", { values: { names: ["odd", "view"] } }, [[6]]],
  [
    "select {variables.size} + 1",
    { variables: { v: { variableId: "v", code_name: "size", value: 4 } } },
    [[5]],
  ],
])("placeholders: %s with %j", async (query, more, rows) => {
  expect(await sql(query, more)).toEqual(rows as never);
});

// PostHog's grammar has SAMPLE with a fraction and EXCLUDE; test_printer.py's samples of 1 are the whole.
test.each([
  ["select count() from events sample 1 where event = 'view'", [[5]]],
  ["select count() from events as e sample 3/3 where e.event = 'view'", [[5]]],
  ["select count() from (select event from events sample 1.0) where event = 'view'", [[5]]],
  ["select p.n from (select 1 as n, 2 as m) as p sample 1", [[1]]],
  ["select * exclude (m) from (select 1 as n, 2 as m)", [[1]]],
])("the whole: %s", async (query, rows) => {
  expect(await sql(query)).toEqual(rows);
});

// Texts that clients of PostHog show, or a refusal of our own with the place.
test.each([
  ["select x from events", /Unable to resolve field: "?x"?/],
  ["select count() from nowhere", /Unknown table/],
  ["select no_function(1)", /no_function/],
  ["select count( from events", /Line 1|position|input/],
  ["select length(1, 2)", /expects 1 argument|takes 1 arguments?/],
  ["select * from events(1, 4)", /no table "events/],
  ["select number from numbers", /Unknown table/],
  ["select {missing}", /missing/],
  ["select properties.something[0] from events", /begin with 1/],
  ["select count() from events sample 0.1", /SAMPLE is not supported, but for 1/],
  ["select count() from events sample 1/10 offset 1/2", /SAMPLE is not supported, but for 1/],
  ["select count() from events sample 1 offset 1/2", /SAMPLE is not supported, but for 1/],
  ["select count() from events sample 10000", /SAMPLE is not supported, but for 1/],
  ["select count() from events sample 0/0", /SAMPLE is not supported, but for 1/],
  ["select * except (event) from events", /HogQL has no \* EXCEPT: write \* EXCLUDE \(…\)/],
  ["select e.* except(event) from events e", /HogQL has no \* EXCEPT/],
  ["select * replace (upper(event) as event) from events", /HogQL has no \* REPLACE: name the columns/],
  ["drop table events", /./],
  ["select 1; select 2", /./],
  ["select sum(event) from events group by", /./],
])("%s is refused", async (query, message) => {
  const { status, body } = await project.query({ kind: "HogQLQuery", query });
  expect([status, body["type"]]).toEqual([400, "validation_error"]);
  expect(String(body["detail"])).toMatch(message);
});
