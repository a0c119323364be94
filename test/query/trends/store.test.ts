// Trends broken down by what persons and groups are now, and by several properties at once.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { queryLimits } from "../../../src/query/limits.ts";
import { noValue, otherValues, type TrendLine } from "../../../src/query/result.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;

/** Who did it, at what, for whom. */
const bought: readonly [user: string, item: string | undefined, company: string | undefined][] = [
  ["ann", "tea", "acme"],
  ["ann", "tea", "acme"],
  ["ann", "cup", "beta"],
  ["bob", "tea", "beta"],
  ["bob", undefined, undefined],
  ["cid", "cup", "none"],
  ["dot", "tea", "acme"],
];
/** The last value counts, for events of before as well. */
const plans: Record<string, string | null> = { ann: "pro", bob: "free", cid: "pro", dot: null };
const sizes: Record<string, number> = { acme: 10, beta: 200 };

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const timestamp = "2024-03-30T12:00:00Z";
  const batch = [
    { event: "$set", distinct_id: "ann", timestamp, properties: { $set: { plan: "free" } } },
    ...bought.map(([distinct_id, item, company]) => ({
      event: "bought",
      distinct_id,
      timestamp,
      properties: { item, $groups: company ? { company } : undefined },
    })),
    ...Object.entries(plans).map(([distinct_id, plan]) => ({
      event: "$set",
      distinct_id,
      timestamp: "2024-03-31T12:00:00Z",
      properties: { $set: plan === null ? {} : { plan } },
    })),
    ...viewed.map(({ item, user }) => ({
      event: "viewed",
      distinct_id: user,
      timestamp,
      properties: { item, brand: `brand ${viewed.findIndex((one) => one.item === item) % 5}` },
    })),
    ...Object.entries(sizes).map(([company, size]) => ({
      event: "$groupidentify",
      distinct_id: "ann",
      timestamp,
      properties: { $group_type: "company", $group_key: company, $group_set: { size } },
    })),
  ];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

/** As many events of each item as its number modulo seven, and one more: by two users where there are several. */
const viewed = Array.from({ length: queryLimits.breakdownValuesHeldMax + 100 }, (_, i) =>
  Array.from({ length: (i % 7) + 1 }, (__, n) => ({ item: `item ${i}`, user: n % 2 ? "ann" : "bob" })),
).flat();

async function lines(breakdownFilter: object, node: object = {}): Promise<[unknown, number][]> {
  const query = {
    kind: "TrendsQuery",
    series: [{ event: "bought", ...node }],
    dateRange: { date_from: "2024-03-30", date_to: "2024-03-30" },
    breakdownFilter,
  };
  const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  // A list of one value, of `breakdowns`, is that value.
  return (body["results"] as TrendLine[]).map(({ breakdown_value: value, count }) => [
    value?.length === 1 ? value[0] : value,
    count,
  ]);
}

/** Values with how often they are, the most frequent first. */
function counted(values: readonly unknown[]): [unknown, number][] {
  const keys = values.map((value) => JSON.stringify(value));
  return [...new Set(keys)]
    .map((key): [string, number] => [key, keys.filter((one) => one === key).length])
    .toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .map(([key, n]) => [JSON.parse(key) as unknown, n]);
}

const sorted = (found: [unknown, number][]) =>
  found.toSorted(([a], [b]) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
const planOf = ([user]: (typeof bought)[number]) => plans[user] ?? noValue;
const sizeOf = ([, , company]: (typeof bought)[number]) =>
  company !== undefined && company in sizes ? String(sizes[company]) : noValue;
const itemOf = ([, item]: (typeof bought)[number]) => item ?? noValue;

test("by a property of persons, as it is now", async () => {
  const expected = sorted(counted(bought.map(planOf)));
  expect(sorted(await lines({ breakdowns: [{ property: "plan", type: "person" }] }))).toEqual(expected);
  expect(sorted(await lines({ breakdown: "plan", breakdown_type: "person" }))).toEqual(expected);
});

test("by a property of groups, and of events without a group as of those without the property", async () => {
  const expected = sorted(counted(bought.map(sizeOf)));
  const breakdowns = [{ property: "size", type: "group", group_type_index: 0 }];
  expect(sorted(await lines({ breakdowns }))).toEqual(expected);
  const older = { breakdown: "size", breakdown_type: "group", breakdown_group_type_index: 0 };
  expect(sorted(await lines(older))).toEqual(expected);
  const nowhere = [{ property: "size", type: "group", group_type_index: 3 }];
  expect(await lines({ breakdowns: nowhere })).toEqual([[noValue, bought.length]]);
});

test("by several at once, each combination a line", async () => {
  const breakdowns = [
    { property: "item" },
    { property: "plan", type: "person" },
    { property: "size", type: "group", group_type_index: 0 },
  ];
  const expected = counted(bought.map((one) => [itemOf(one), planOf(one), sizeOf(one)]));
  expect(sorted(await lines({ breakdowns }))).toEqual(sorted(expected));
  const [first, second] = breakdowns;
  const pairs = counted(bought.map((one) => [itemOf(one), planOf(one)]));
  expect(sorted(await lines({ breakdowns: [first, second] }))).toEqual(sorted(pairs));
  const one = await lines({ breakdowns: [first, second], breakdown_limit: 1 });
  expect(one).toEqual([
    [["cup", "pro"], 2],
    [[otherValues, otherValues], bought.length - 2],
  ]);
});

test("persons are counted within each value", async () => {
  const found = await lines({ breakdowns: [{ property: "plan", type: "person" }] }, { math: "dau" });
  expect(sorted(found)).toEqual(
    sorted([
      ["pro", 2],
      ["free", 1],
      [noValue, 1],
    ]),
  );
  const first = await lines(
    { breakdowns: [{ property: "plan", type: "person" }] },
    { math: "first_time_for_user" },
  );
  expect(sorted(first)).toEqual(sorted(found));
  const bySize = await lines(
    { breakdowns: [{ property: "size", type: "group", group_type_index: 0 }] },
    { math: "first_matching_event_for_user" },
  );
  expect(bySize.reduce((sum, [, count]) => sum + count, 0)).toBe(4);
});

// PostHog's insights/trends/utils.py: `is_groups_math` has DAU with an index of a group type.
test("unique users with a group type are its groups", async () => {
  expect(await lines({}, { math: "dau" })).toEqual([[undefined, 4]]);
  expect(await lines({}, { math: "dau", math_group_type_index: 0 })).toEqual([[undefined, 3]]);
  expect(await lines({}, { math: "dau", math_group_type_index: 3 })).toEqual([[undefined, 0]]);
});

test("many values, read in two passes, and few, read in one, are counted alike", async () => {
  const brandOf = ({ item }: (typeof viewed)[number]) =>
    `brand ${viewed.findIndex((one) => one.item === item) % 5}`;
  for (const [property, of] of [
    ["item", ({ item }: (typeof viewed)[number]) => item],
    ["brand", brandOf],
  ] as const) {
    const all = counted(viewed.map(of)).toSorted(
      ([a, n], [b, m]) => m - n || (String(a) < String(b) ? -1 : 1),
    );
    const first = all.slice(0, 3);
    const rest = viewed.length - first.reduce((sum, [, n]) => sum + n, 0);
    const filter = { breakdowns: [{ property }], breakdown_limit: 3 };
    expect(await lines(filter, { event: "viewed" })).toEqual([...first, [otherValues, rest]]);
    const hidden = { ...filter, breakdown_hide_other_aggregation: true };
    expect(await lines(hidden, { event: "viewed" })).toEqual(first);
    // Values rank by their persons then; of all others together each person counts once.
    const pairs = new Set(viewed.map((row) => JSON.stringify([of(row), row.user])));
    const users = counted([...pairs].map((pair) => (JSON.parse(pair) as string[])[0]));
    const byUsers = users.toSorted(([a, n], [b, m]) => m - n || (String(a) < String(b) ? -1 : 1));
    const persons = await lines(filter, { event: "viewed", math: "dau" });
    expect(persons).toEqual([...byUsers.slice(0, 3), [otherValues, 2]]);
  }
});

test("what is no breakdown is refused by name", async () => {
  const refused: [object, string][] = [
    [{ breakdowns: [{ property: "a", type: "group" }] }, "query__breakdownFilter__breakdowns"],
    [{ breakdown: "a", breakdown_type: "group" }, "query__breakdownFilter__breakdown"],
    [{ breakdowns: Array(4).fill({ property: "a" }) }, "query__breakdownFilter__breakdowns"],
    [{ breakdown: 5 }, "query__breakdownFilter__breakdown"],
    [{ breakdown: "a", breakdown_type: "cohort" }, "query__breakdownFilter__breakdown_type"],
  ];
  for (const [breakdownFilter, attr] of refused) {
    const query = { kind: "TrendsQuery", series: [{ event: "bought" }], breakdownFilter };
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
    expect([breakdownFilter, status, body["attr"]]).toEqual([breakdownFilter, 400, attr]);
  }
});
