// Statements for names: how a page is counted, which volumes are read, and which conditions a filter becomes.

import { expect, test } from "bun:test";
import { definitionQueryLimits } from "../../src/definitions/limits.ts";
import {
  coreProperties,
  type EventNameFilter,
  type EventOrder,
  hiddenProperties,
  listEventNames,
  listPropertyNames,
  type PropertyNameFilter,
} from "../../src/definitions/store.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";

interface Call {
  text: string;
  params: Record<string, unknown>;
}

/** An engine that answers the first statement with the first of these, and so on. */
function openEngine(...answers: object[][]) {
  const calls: Call[] = [];
  const query = (text: string, params: Record<string, unknown>) => {
    calls.push({ text: text.replaceAll(/\s+/g, " "), params });
    return Promise.resolve(answers.shift() ?? []);
  };
  return { calls, reads: toReads({ query } as unknown as ClickHouse, 7) };
}

const byName: EventOrder[] = [{ by: "name", isDescending: false }];
const page = { limit: 2, offset: 0 };
const rowsOf = (...names: string[]) => names.map((name) => ({ name, found: "9", volume: "0" }));

const eventCall = async (filter: EventNameFilter, order = byName): Promise<Call> => {
  const { calls, reads } = openEngine();
  await listEventNames(reads, filter, order, page);
  return calls[0]!;
};
const propertyCall = async (filter: PropertyNameFilter): Promise<Call> => {
  const { calls, reads } = openEngine();
  await listPropertyNames(reads, filter, page);
  return calls[0]!;
};

test("a page of events is one statement with their number, and one for the volumes of its names alone", async () => {
  const { calls, reads } = openEngine(rowsOf("a", "b"), [{ event: "b", volume: "12" }]);
  const { count, rows } = await listEventNames(reads, {}, byName, page);
  expect([count, rows.map(({ name, volume }) => [name, volume])]).toEqual([
    9,
    [
      ["a", "0"],
      ["b", "12"],
    ],
  ]);
  expect(calls).toHaveLength(2);
  expect(calls[1]!.params).toEqual({
    project_id: 7,
    names: ["a", "b"],
    days: definitionQueryLimits.volumeDays,
  });
  expect(calls[1]!.text).toContain("event IN {names:Array(String)}");
});

test("events sorted by volume have it from the first statement, and it is not read again", async () => {
  const { calls, reads } = openEngine([{ name: "a", found: "1", volume: "5" }]);
  const order: EventOrder[] = [
    { by: "volume_30_day", isDescending: true },
    { by: "last_seen_at::date", isDescending: false },
    { by: "created_at", isDescending: true },
  ];
  const { rows } = await listEventNames(reads, {}, order, page);
  expect(rows.map(({ volume }) => volume)).toEqual(["5"]);
  expect(calls).toHaveLength(1);
  // By name at last: a page must not show what another one showed.
  expect(calls[0]!.text).toContain("ORDER BY volume DESC, toDate32(last_at), created_at DESC, name LIMIT");
});

test.each([
  ["the first page without rows has none", 0, [], 0, 1],
  ["a page behind the last one is counted by a statement of its own", 4, [{ count: "3" }], 3, 2],
  ["a page behind the last one of nothing counts nothing", 4, [], 0, 2],
])("%s", async (_, offset, counted, count, statements) => {
  const { calls, reads } = openEngine([], counted);
  expect(await listEventNames(reads, {}, byName, { limit: 2, offset })).toEqual({ count, rows: [] });
  expect(calls).toHaveLength(statements);
  expect(calls[0]!.params).toMatchObject({ limit: 2, offset });
});

test("a filter of events becomes conditions, and what a client writes is only ever a parameter", async () => {
  const hostile = "x') OR 1=1 --";
  const words = [hostile];
  const plain = await eventCall({});
  expect(plain.text).not.toContain("{names:");
  expect(plain.text).not.toContain("startsWith");
  expect(plain.text).not.toContain("staleDays");
  const { text, params } = await eventCall({
    words,
    names: [hostile],
    excluded: [hostile],
    isPostHogs: false,
    excludeStale: true,
  });
  expect(text).not.toContain("OR 1=1");
  expect(text).toContain("AND name IN {names:Array(String)} AND NOT startsWith(name, '$') GROUP BY");
  expect(text).toContain("WHERE last_at > now() - toIntervalDay({staleDays:UInt16})");
  expect(params).toMatchObject({
    words,
    names: [hostile],
    excluded: [hostile],
    staleDays: definitionQueryLimits.staleDays,
  });
  expect((await eventCall({ isPostHogs: true })).text).toContain("AND startsWith(name, '$')");
  // No name at all is another thing than any name.
  expect((await eventCall({ names: [] })).text).toContain("name IN {names:Array(String)}");
});

test("one event is asked for by its id, whose parameter no other request has", async () => {
  const id = "01234567-89ab-5cde-8f01-23456789abcd";
  expect((await eventCall({ id })).params["id"]).toBe(id);
  expect((await eventCall({ id })).text).toContain("= {id:UUID}");
  expect("id" in (await eventCall({})).params).toBe(false);
});

test("properties are of any owner, or of one with its number; those of groups only while their type exists", async () => {
  const any = await propertyCall({});
  expect(any.text).toContain(
    "AND kind > 0 AND (kind != 3 OR group_type IN (SELECT group_type FROM group_types",
  );
  expect(any.text).not.toContain("place =");
  expect((await propertyCall({ type: "event" })).params["kind"]).toBe(1);
  const person = await propertyCall({ type: "person" });
  expect([person.params["kind"], person.text.includes("AND kind = {kind:UInt8} AND")]).toEqual([2, true]);
  const group = await propertyCall({ type: "group", group_type_index: 0 });
  expect(group.params).toMatchObject({ kind: 3, place: 0 });
  expect(group.text).toContain("AND place = {place:UInt8}");
});

test("properties that no list shows are left out besides those that the request leaves out", async () => {
  const { params } = await propertyCall({ excluded: ["plan"] });
  expect(params["excluded"]).toEqual([...hiddenProperties, "plan"]);
  expect(params["core"]).toEqual([]);
  const others = await propertyCall({ excludeCore: true });
  expect(others.params["core"]).toEqual(coreProperties);
  expect(others.text).toContain("NOT startsWith(name, '$') AND NOT has({core:Array(String)}, name)");
});

test("whether events had a property is read only for a request that names events", async () => {
  const plain = await propertyCall({ ofEventsOnly: true });
  expect(plain.text).not.toContain("event_properties");
  expect(plain.text).toMatch(/HAVING 1 ?\)/);
  const named = await propertyCall({ event_names: ["a"], ofEventsOnly: true, isNumerical: false });
  expect(named.text).toContain("HAVING 1 AND property_type != 'Numeric' AND is_seen");
  expect(named.params["event_names"]).toEqual(["a"]);
  expect((await propertyCall({ isNumerical: true })).text).toContain(
    "HAVING 1 AND property_type = 'Numeric'",
  );
  const flags = await propertyCall({ isFeatureFlag: true, names: ["b"] });
  expect(flags.text).toContain("AND name IN {names:Array(String)} AND startsWith(name, '$feature/')");
});
