// One use of a table: the columns that are read of it, joins that are named, and the project's condition on each.

import { expect, test } from "bun:test";
import { sqlTables } from "../../../../src/query/sql/compile/lists/tables.ts";
import { call, compare, compiled, constant, field, refusalOfTree, select, statementOf } from "./trees.ts";

const project = "project_id = {project_id:UInt32}";
const countIn = (text: string, part: string) => text.split(part).length - 1;

test("a column is read once, however often it is named, and one that is not named is not read", () => {
  const text = statementOf(select([field("event"), call("lower", field("event")), field("uuid")], "events"));
  const [, inner] = /FROM \((SELECT .*? FROM stored_events WHERE .*?)\)/.exec(text)!;
  expect(countIn(inner!, " AS v")).toBe(2);
  expect(text).toMatch(/^SELECT (t\d+\.v\d+) AS c\d+, lower\(\1\) AS /);
  expect(inner).not.toContain("properties");
  expect(statementOf(select([constant("a")], "events"))).toContain(
    `(SELECT 1 AS one FROM stored_events WHERE ${project})`,
  );
});

test("a property is read once, and by its path", () => {
  const text = statementOf(
    select([field("properties", "a"), field("properties", "a"), field("properties", "a", "b")], "events"),
  );
  const [, inner] = /FROM \((SELECT .*) FROM stored_events/s.exec(text)!;
  expect(countIn(inner!, " AS v")).toBe(2);
});

test("the table with persons is read only where a person is named", () => {
  expect(statementOf(select([field("event")], "events"))).toContain("FROM stored_events WHERE");
  expect(statementOf(select([field("person_id")], "events"))).toContain("FROM events WHERE");
});

test("what is named of another table is joined once, within the project, one row at most for each", () => {
  const text = statementOf(
    select([field("session", "$is_bounce"), field("session", "$channel_type")], "events"),
  );
  expect(countIn(text, "LEFT ANY JOIN")).toBe(1);
  expect(countIn(text, `WHERE ${project}`)).toBe(2);
  const twice = statementOf(
    select([field("session", "$is_bounce"), field("session", "$is_bounce")], "events"),
  );
  expect(twice).toMatch(/^SELECT (t\d+\.v\d+) AS c\d+, \1 AS /);
});

test("a row is joined to one of another table, or to all where it may have many", () => {
  const kinds = Object.entries(sqlTables).flatMap(([name, { joins = {} }]) =>
    Object.entries(joins).map(([join, { table, rows, by }]) => {
      const shown = by === undefined ? table : sqlTables[table]!.joins![by]!.table;
      const other = Object.keys(sqlTables[shown]!.columns)[0]!;
      const text = statementOf(select([field(join, other)], name));
      expect({ name, join, isAny: text.includes("LEFT ANY JOIN") }).toEqual({
        name,
        join,
        isAny: rows === "one",
      });
      return `${rows} ${table} by ${sqlTables[table]!.columns[joins[join]!.right]!.sql}`;
    }),
  );
  // Unique columns of the views, and one that is not.
  expect([...new Set(kinds)].toSorted()).toEqual([
    "many person_distinct_ids by person_id",
    "one groups by group_key",
    "one person_distinct_ids by distinct_id",
    "one persons by person_id",
    "one sessions by session_id",
  ]);
  const nested = statementOf(select([field("person", "pdi", "distinct_id")], "events"));
  expect(nested).not.toContain("ANY JOIN");
});

test("a property of a person has a join of its own, which reads no other property", () => {
  const text = statementOf(
    select([field("person", "properties", "plan"), field("person", "properties", "seats")], "events"),
  );
  expect(countIn(text, `FROM person_values WHERE ${project} AND key = "`)).toBe(2);
  const all = statementOf(select([field("person", "properties")], "events"));
  expect(all).not.toContain("person_values");
});

test("scopes and names of persons' properties are known from what is read", () => {
  const { scopes, personKeys } = compiled(select([field("person", "properties", "plan")], "events"));
  expect([[...scopes], [...personKeys.keys()]]).toEqual([["person:read"], ["plan"]]);
  const plain = compiled(select([field("properties", "plan")], "events"));
  expect([[...plain.scopes], [...plain.personKeys.keys()]]).toEqual([[], []]);
});

test("of the sessions beside events those of the time that is requested are read", () => {
  const where = compare(">=", field("timestamp"), constant("2024-06-01"));
  const read = (more: object) => statementOf(select([field("session", "$is_bounce")], "events", more));
  expect(read({ where })).toMatch(/FROM sessions WHERE project_id = \S+ AND end_time >= toDateTime64/);
  expect(read({ having: where })).not.toContain("end_time >=");
});

test("a property of known type is that type, one of several keys is its text", () => {
  const typed = {
    propertyType: (_: string, name: string) => (name === "n" ? ("Numeric" as const) : undefined),
  };
  const text = (...chain: string[]) => statementOf(select([field("properties", ...chain)], "events"), typed);
  expect(text("n")).toMatch(/^SELECT toFloat64OrNull\(t\d+\.v\d+\) AS /);
  expect(text("n", "m")).toMatch(/^SELECT t\d+\.v\d+ AS /);
});

const filters = (more: object = {}) => ({ node: "Placeholder", expr: field("filters"), ...more }) as const;

test("`{filters}` is the span and the properties, of the table that it stands in", () => {
  const asked = { from: "2024-01-01 00:00:00.000000", to: "2024-02-01 00:00:00.000000", properties: [] };
  const text = statementOf(select([constant(1)], "events", { where: filters() }), { filters: asked });
  expect(text).toContain(
    `(1 AND timestamp >= toDateTime64("${asked.from}", 6, 'UTC') AND timestamp < toDateTime64("${asked.to}", 6, 'UTC'))`,
  );
  expect(statementOf(select([constant(1)], "persons", { where: filters() }))).toMatch(
    / FROM persons WHERE .* WHERE \(t0\.v\d+\) /,
  );
  expect(refusalOfTree(select([constant(1)], "groups", { where: filters() }))).toBe(
    "{filters} needs the table events or sessions.",
  );
  expect(refusalOfTree(select([constant(1)], "persons", { where: filters() }), { filters: asked })).toBe(
    "{filters} needs the table events or sessions.",
  );
});

test("a name that the table has not is refused with what was perhaps meant; a text has no members", () => {
  expect(refusalOfTree(select([field("events", "evnt")], "events"))).toBe(
    'There is no "evnt" in this table. Did you mean "event"?',
  );
  expect(refusalOfTree(select([field("events", "event", "a")], "events"))).toBe('"event" has no members.');
  expect(refusalOfTree(select([field("events", "hasOwnProperty")], "events"))).toStartWith(
    'There is no "hasOwnProperty"',
  );
});
