import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { checkPropertyFilters, compilePropertyFilters } from "../../../src/storage/events/property_filter.ts";
import { storageLimits } from "../../../src/storage/limits.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

let stores: Stores;
const now = Date.UTC(2024, 4, 31, 12);

/** Each event's name tells what is in it. */
const events: Record<string, string> = {
  nothing: "{}",
  null: '{"p":null}',
  text: '{"p":"Hello World"}',
  empty: '{"p":""}',
  quote: '{"p":"it\'s a \\"quote\\" \\\\"}',
  one: '{"p":1}',
  one_text: '{"p":"1"}',
  thousand: '{"p":1e3}',
  half: '{"p":1.50}',
  yes: '{"p":true}',
  yes_text: '{"p":"true"}',
  list: '{"p":["a","b"]}',
  long_number: '{"p":"near a long one","q":123456789012345678901234567890}',
  huge: '{"p":"with 1e999","q":[1,1e999],"r":-12345678901234567890123}',
  day: '{"p":"2024-05-20"}',
  moment: '{"p":"2024-05-20T23:30:00Z"}',
  seconds: '{"p":1716249600}',
};

beforeAll(async () => {
  stores = await openMadeStores();
  for (const [i, [name, properties]] of Object.entries(events).entries())
    await stores.clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
       VALUES (generateUUIDv4(), 1, {name:String}, 'd', {properties:String}, ${1_716_000_000 + i}, now64(6))`,
      { name, properties },
    );
}, storesStartMsMax);

/** The names of the events a filter lets through. */
async function through(properties: unknown, timezone = "UTC", project_id = 1): Promise<string[]> {
  const params: Record<string, unknown> = { project_id };
  const where = compilePropertyFilters(checkPropertyFilters(properties), params, "p", { now, timezone });
  const rows = await stores.clickhouse.query<{ event: string }>(
    `SELECT event FROM events WHERE project_id = {project_id:UInt32} AND ${where} ORDER BY timestamp`,
    params,
  );
  return rows.map(({ event }) => event);
}

function one(operator: string, value?: unknown, key = "p") {
  return [{ key, type: "event", operator, value }];
}

function others(...names: string[]): string[] {
  return Object.keys(events).filter((name) => !names.includes(name));
}

describe("a filter lets through", () => {
  const cases: [string, unknown, string[]][] = [
    ["nothing asked", [], others()],
    ["exact text", one("exact", "Hello World"), ["text"]],
    ["an empty text", one("exact", ""), ["empty"]],
    ["text with quotes", one("exact", 'it\'s a "quote" \\'), ["quote"]],
    ["a number, also as text", one("exact", 1), ["one", "one_text"]],
    ["a text that is a number's", one("exact", ["1"]), ["one", "one_text"]],
    ["a number however it is spelt", one("exact", [1000, 1.5]), ["thousand", "half"]],
    ["a boolean, also as text", one("exact", true), ["yes", "yes_text"]],
    ["no operator: exact", [{ key: "p", value: ["true", "1"] }], ["one", "one_text", "yes", "yes_text"]],
    [
      "is_not: all others, absent ones too",
      one("is_not", [1, "true"]),
      others("one", "one_text", "yes", "yes_text"),
    ],
    ["in", one("in", ["Hello World", ""]), ["text", "empty"]],
    ["not_in", one("not_in", ["Hello World", ""]), others("text", "empty")],
    ["icontains", one("icontains", "hello w"), ["text"]],
    ["icontains takes % as it is", one("icontains", "%"), []],
    ["icontains in a list", one("icontains", '"a"'), ["list"]],
    ["not_icontains", one("not_icontains", ["HELLO", "quote"]), others("text", "quote")],
    ["regex", one("regex", "^Hel+o|^1$"), ["text", "one", "one_text"]],
    ["not_regex", one("not_regex", "^Hel+o"), others("text")],
    ["is_set", one("is_set"), others("nothing", "null")],
    ["is_not_set", one("is_not_set"), ["nothing", "null"]],
    ["gt", one("gt", "1"), ["thousand", "half", "seconds"]],
    ["gte", one("gte", 1), ["one", "one_text", "thousand", "half", "seconds"]],
    ["lt", one("lt", 1.5), ["one", "one_text"]],
    ["lte", one("lte", 1.5), ["one", "one_text", "half"]],
    ["max is lte", one("max", 1.5), ["one", "one_text", "half"]],
    ["between", one("between", [1.2, 1000]), ["thousand", "half"]],
    ["not_between", one("not_between", ["1.2", "1000"]), others("thousand", "half")],
    ["events beside a number too long", one("icontains", "near"), ["long_number"]],
    ["events beside a number too big", one("exact", "with 1e999"), ["huge"]],
    ["a number too long, digit by digit", one("exact", "-12345678901234567890123", "r"), ["huge"]],
    ["a number too long, as a number", one("lt", -1e22, "r"), ["huge"]],
    ["is_date_exact a day", one("is_date_exact", "2024-05-20"), ["day", "moment"]],
    ["is_date_exact a moment", one("is_date_exact", "2024-05-21T02:00:00+02:00"), ["seconds"]],
    ["is_date_before", one("is_date_before", "2024-05-20T23:30:00Z"), ["day"]],
    ["is_date_after", one("is_date_after", "-11d"), ["moment", "seconds"]],
    ["all of several", [...one("gte", 1), ...one("lt", 1000)], ["one", "one_text", "half"]],
    [
      "any of a group",
      { type: "OR", values: [...one("exact", 1), { type: "AND", values: one("exact", "") }] },
      ["empty", "one", "one_text"],
    ],
    ["a key that is no name", one("exact", "x", "') OR 1 --"), []],
  ];
  for (const [name, filter, expected] of cases)
    test(name, async () => {
      expect(await through(filter)).toEqual(expected);
    });

  test("dates that no event can have are before or after all of them", async () => {
    expect(await through(one("is_date_after", "-9999y"))).toEqual(["day", "moment", "seconds"]);
    expect(await through(one("is_date_before", "-9999y"))).toEqual([]);
    expect(await through(one("is_date_after", "1900-01-01"))).toEqual(["day", "moment", "seconds"]);
    expect(await through(one("is_date_before", "2299-12-31"))).toEqual(["day", "moment", "seconds"]);
    expect(await through(one("is_date_after", "2024-01-01T00:00:00+99:99"))).toEqual([
      "day",
      "moment",
      "seconds",
    ]);
    expect(await through(one("is_date_before", "2024-01-01T00:00:00-9999"))).toEqual([]);
  });

  test("dates without a zone in the requested zone", async () => {
    expect(await through(one("is_date_exact", "2024-05-21"), "Europe/Berlin")).toEqual(["moment", "seconds"]);
  });
});

describe("a filter on persons lets through the events of", () => {
  beforeAll(async () => {
    // Who ann is was said by her first event alone; of bob nothing is known.
    await stores.clickhouse.command(`
      INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv)
      VALUES (generateUUIDv4(), 9, 'first', 'ann', '{}', 1716000000, now64(6), ['plan', 'age'], [0, 0], ['"pro"', '41']),
        (generateUUIDv4(), 9, 'second', 'ann', '{}', 1716000001, now64(6), [], [], []),
        (generateUUIDv4(), 9, 'other', 'bob', '{}', 1716000002, now64(6), [], [], [])`);
  }, storesStartMsMax);

  const cases: [string, unknown[], string[]][] = [
    ["those with a value", [{ key: "plan", type: "person", value: "pro" }], ["first", "second"]],
    [
      "those with a number above",
      [{ key: "age", type: "person", operator: "gt", value: 40 }],
      ["first", "second"],
    ],
    ["those without a value", [{ key: "plan", type: "person", operator: "is_not", value: "pro" }], ["other"]],
    ["those of whom nothing is known", [{ key: "plan", type: "person", operator: "is_not_set" }], ["other"]],
    ["nobody", [{ key: "plan", type: "person", value: "free" }], []],
  ];
  for (const [name, filter, expected] of cases)
    test(name, async () => {
      expect(await through(filter, "UTC", 9)).toEqual(expected);
    });
});

describe("a filter on groups lets through the events of", () => {
  beforeAll(async () => {
    // Companies are at place 1; `team` is of no project's types. Nothing is known of the group "none".
    await stores.clickhouse.command(
      "INSERT INTO group_type_rows (project_id, group_type, place, version) VALUES (8, 'company', 1, 1)",
    );
    await stores.clickhouse.command(`
      INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, gt, gk, pk, pw, pv, person_mode)
      VALUES
        (generateUUIDv4(), 8, '$groupidentify', 'a', '{}', 1716000000, now64(6), ['company'], ['acme'], ['size'], [3], ['41'], 2),
        (generateUUIDv4(), 8, 'bought', 'b', '{}', 1716000001, now64(6), ['team', 'company'], ['red', 'acme'], [], [], [], 0),
        (generateUUIDv4(), 8, 'seen', 'b', '{"$group_1":"sent"}', 1716000002, now64(6), ['company'], ['none'], [], [], [], 0),
        (generateUUIDv4(), 8, 'own', 'b', '{"$group_1":"sent"}', 1716000003, now64(6), ['team'], ['red'], [], [], [], 0),
        (generateUUIDv4(), 8, 'alone', 'c', '{}', 1716000004, now64(6), [], [], [], [], [], 0)`);
  }, storesStartMsMax);

  const size = (fields: object) => [{ key: "size", type: "group", group_type_index: 1, ...fields }];
  const cases: [string, unknown[], string[]][] = [
    ["a group by its key", one("exact", "acme", "$group_1"), ["$groupidentify", "bought"]],
    ["a group by a part of its key", one("icontains", "NON", "$group_1"), ["seen"]],
    ["no group of a type", one("is_not_set", undefined, "$group_1"), ["alone"]],
    ["no type at a place", one("is_set", undefined, "$group_0"), []],
    [
      "a client's own property of the name, where they have no group",
      one("exact", "sent", "$group_1"),
      ["own"],
    ],
    ["groups with a value", size({ value: "41" }), ["$groupidentify", "bought"]],
    ["groups with a number below", size({ operator: "lt", value: 42 }), ["$groupidentify", "bought"]],
    ["groups without a value, or none", size({ operator: "is_not", value: 41 }), ["seen", "own", "alone"]],
    ["groups of another type", size({ group_type_index: 0, value: "41" }), []],
  ];
  for (const [name, filter, expected] of cases)
    test(name, async () => {
      expect(await through(filter, "UTC", 8)).toEqual(expected);
    });
});

describe("a filter is refused", () => {
  const cases: [string, unknown, string, string][] = [
    ["that is no list", "p = 1", "not_a_list", "properties"],
    ["that is no object", ["p"], "not_a_dict", "properties__0"],
    ["without a key", [{ value: 1 }], "required", "properties__0__key"],
    [
      "of a kind not supported",
      [{ key: "id", type: "cohort", value: 1 }],
      "invalid_choice",
      "properties__0__type",
    ],
    ["that is SQL", [{ key: "1 = 1", type: "hogql" }], "invalid_choice", "properties__0__type"],
    [
      "of a group without its type",
      [{ key: "a", type: "group", value: 1 }],
      "required",
      "properties__0__group_type_index",
    ],
    [
      "of a group of a sixth type",
      [{ key: "a", type: "group", value: 1, group_type_index: 5 }],
      "invalid_input",
      "properties__0__group_type_index",
    ],
    [
      "of an event with a type of groups",
      [{ key: "a", type: "event", value: 1, group_type_index: 0 }],
      "invalid_input",
      "properties__0__group_type_index",
    ],
    ["with an operator nobody has", one("like", "x"), "invalid_choice", "properties__0__operator"],
    ["without a value", one("exact"), "required", "properties__0__value"],
    ["with no value of a range", one("between", []), "required", "properties__0__value"],
    ["with an object for a value", one("exact", { a: 1 }), "invalid_input", "properties__0__value"],
    ["that compares with no number", one("gt", "many"), "invalid_input", "properties__0__value"],
    ["with several numbers to compare with", one("gt", [1, 2]), "invalid_input", "properties__0__value"],
    ["between the wrong way round", one("between", [2, 1]), "invalid_input", "properties__0__value"],
    ["with a year beyond all", one("is_date_before", "9999-12-31"), "invalid_input", "properties__0__value"],
    ["with a day that is none", one("is_date_exact", "2024-02-30"), "invalid_input", "properties__0__value"],
    ["with NUL in it", one("exact", "a\0"), "invalid_input", "properties__0__value"],
    [
      "with too many values",
      one("exact", Array.from({ length: storageLimits.propertyValuesMax + 1 }, String)),
      "max_length",
      "properties__0__value",
    ],
    [
      "in a group that is neither and nor or",
      { type: "XOR", values: [] },
      "invalid_choice",
      "properties__type",
    ],
  ];
  for (const [name, filter, code, attr] of cases)
    test(name, () => {
      const refusal = refusalOf(() => checkPropertyFilters(filter));
      expect([refusal?.code, refusal?.attr]).toEqual([code, attr] as never);
    });

  test("past the number of filters, wherever they stand", () => {
    const many = Array.from({ length: storageLimits.propertyFiltersMax }, () => one("is_set")[0]);
    expect(checkPropertyFilters(many)).toHaveLength(storageLimits.propertyFiltersMax);
    const grouped = { type: "AND", values: [...many, ...one("is_set")] };
    expect(refusalOf(() => checkPropertyFilters(grouped))?.code).toBe("max_length");
  });

  test("by a property of an event or a group where the rows are persons", () => {
    const ofGroup = [{ key: "p", type: "group", group_type_index: 0, operator: "is_set" }];
    for (const filters of [one("is_set"), ofGroup].map((each) => checkPropertyFilters(each))) {
      const compile = () =>
        compilePropertyFilters(filters, { project_id: 1 }, "p", { rows: "persons", timezone: "UTC" });
      expect(refusalOf(compile)?.code).toBe("invalid_input");
    }
  });
});

function refusalOf(act: () => unknown): Fault | undefined {
  try {
    act();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
}
