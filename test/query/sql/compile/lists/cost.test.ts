// What a query takes for one row: estimated from its text, before the engine has it.

import { afterAll, expect, test } from "bun:test";
import { compileSelect, SqlProblem } from "../../../../../src/query/sql/compile/compile.ts";
import { cleanUp } from "../../../../support/cleanup.ts";
import { openTestParser } from "../../../../support/sql_parser.ts";

afterAll(cleanUp);
const { parse } = openTestParser();

async function statementOf(text: string): Promise<string> {
  const tree = await parse(text, "select", 1);
  return compileSelect(tree, { project_id: 1, timezone: "UTC", now: 0, text }).statement;
}

async function problemOf(text: string, values: Record<string, unknown> = {}): Promise<string> {
  const tree = await parse(text, "select", 1);
  try {
    compileSelect(tree, { project_id: 1, timezone: "UTC", now: 0, text, values });
    return "";
  } catch (thrown) {
    if (thrown instanceof SqlProblem) return thrown.message;
    throw thrown;
  }
}

const tooMany = "The query takes too long: here its calls exceed";
const tooLong = "The query takes too long: here its readings";

test.each([
  ["select arraySum(arrayMap(x -> position(repeat('a', 10000), toString(x)), range(60000)))", tooLong],
  ["select position(repeat('a', 1000000), event) from events", '"repeat" makes at most 10000.'],
  ["select arrayMap(x -> arrayMap(y -> x * y, range(1000)), range(1000)) from events", tooMany],
  ["select arrayMap(x -> arrayMap(y -> arrayMap(z -> z, range(1000)), range(1000)), range(1000))", tooMany],
  ["with repeat(repeat('a', 1000), 1000) as r select position(r, event) from events", tooLong],
  [
    "select position(r, e) from (select repeat(repeat('a', 1000), 1000) as r, event as e from events)",
    tooLong,
  ],
  ["select position(replaceAll(repeat('a', 1000), 'a', repeat('b', 1000)), event) from events", tooLong],
  ["select arrayMap(x -> position(repeat('a', 9000), x), groupArray(event)) from events", tooLong],
  ["select arrayMap(x -> position(repeat('a', 10000), x), splitByChar(',', event)) from events", tooLong],
  ["select has(arrayWithConstant(10000, repeat('a', 100)), event) from events", tooLong],
  ["select hasAny(range(1000), range(1000)) from events", tooLong],
  [
    "select position((select any(properties.long) from events), event, 1), has((select groupArray(event) from events), event) from events",
    tooLong,
  ],
  [
    "with (select groupArray(event) from events) as a select arrayMap(x -> has(a, x), distinct_ids) from persons",
    tooLong,
  ],
  [
    "select match((select any(properties.long) from events), event) from events",
    "A pattern is a text of the query.",
  ],
  ["select JSONExtractInt((select any(properties) from events), event) from events", tooLong],
  ["select arrayJoin(range(1000000)) as a, position(repeat(repeat('a', 1000), 1000), toString(a))", tooLong],
  [
    "select length(format(concat('{0}{0}{0}{0}', repeat('{0}', 9)), event)) from events",
    "The template is a text of the query.",
  ],
  ["select match(event, '(a{1,100}){1,45}') from events", tooLong],
  [
    "select match(event, 'a{1000}{1000}') from events",
    "A pattern with its repetitions has at most 5000 steps.",
  ],
  ["select position({long}, event), position({long}, distinct_id) from events", tooLong],
  [
    "select multiSearchAny({long}, [event]) from events",
    '"multiSearchAny" searches for texts of the query only.',
  ],
  [
    `select ${Array.from({ length: 60 }, (_, i) => `event like concat('%${i}', distinct_id)`).join(", ")} from events`,
    tooLong,
  ],
])("%s is refused", async (text, problem) => {
  expect(await problemOf(text, { long: "a".repeat(150_000) })).toStartWith(problem);
});

test("the engine refuses a value of a SELECT, or an array for a long lambda, that is longer than costs assume", async () => {
  const sum = Array.from({ length: 60 }, () => "abs(x)").join(" + ");
  const long = await statementOf(`select arrayMap(x -> ${sum}, groupArray(length(event))) from events`);
  expect(long).toMatch(
    /arrayResize\((l\d), if\(length\(\1\) > \{p\d:UInt32\}, 4294967295, length\(\1\)\)\), \[groupArray/,
  );
  for (const short of ["groupArray(event)", "range(9)"]) {
    const lambda = short === "range(9)" ? sum : "length(x)";
    expect(await statementOf(`select arrayMap(x -> ${lambda}, ${short}) from events`)).not.toContain(
      "4294967295",
    );
  }
  const scalar = "empty(repeat('', if(length(toString((";
  expect(
    await statementOf("select event from events where event = (select max(event) from events)"),
  ).toContain(scalar);
  for (const value of ["count()", "max(timestamp)", "any(person_id)"]) {
    expect(await statementOf(`select (select ${value} from events)`)).not.toContain(scalar);
  }
});

test.each([
  "select count() from events where event = (select max(event) from events) and distinct_id != (select min(event) from events)",
  "with (select groupArray(event) from events) as a select a[1], length(a), has(a, event) from events",
  "select arraySum(range(1000000))",
  "select arrayMap(i -> countEqual(groupArray(toInt(properties.n)), i), range(0, 30)) from events",
  "select arrayMap(i -> dateAdd('day', i, toDate(min(timestamp))), range(0, dateDiff('day', min(timestamp), max(timestamp)) + 1)) from events",
  "select arrayFilter(x -> arrayExists(y -> position(x, y) > 0, ['a', 'b', 'c']), splitByChar(',', event)) from events",
  "select arrayMap(x -> arrayMap(y -> arrayMap(z -> z + y, [x]), [x]), groupArray(event)) from events",
  "select arrayJoin(range(0, 8760)) as hour, count() from events group by hour",
  "select repeat('ab', 1000), leftPad(toString(number), 8, '0') from numbers(1000)",
  "select replaceAll(replaceAll(replaceAll(event, '&', '&amp;'), '<', '&lt;'), '>', '&gt;') from events",
  "select multiSearchAnyCaseInsensitive(properties.ua, ['bot', 'crawl', 'spider']) from events",
  "select match(properties.id, '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$') from events",
])("%s is sent", async (text) => {
  expect(await problemOf(text)).toBe("");
});

test("a pattern has a length", async () => {
  expect(await problemOf(`select match(event, '${"a".repeat(10_001)}') from events`)).toStartWith(
    "A pattern has at most 10000 characters.",
  );
  expect(await problemOf("select event =~ '(a{90}){90}', event !~* '(a{90}){90}' from events")).toStartWith(
    "A pattern with its repetitions",
  );
});
