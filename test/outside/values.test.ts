// Values of breakdowns: the assertions of PostHog's test_trends_breakdown_empty_null_properties.py,
// test_breakdown_limits.py and test_trends.py, and public threads.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";
import { until } from "../support/server.ts";

let app: RunningApp;
let empty: PeerProject;
let many: PeerProject;
const day = "2024-01-10 12:00:00";
const none = "$$_posthog_breakdown_null_$$";
const others = "$$_posthog_breakdown_other_$$";

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const did = (person: string, properties: object): Happening => [person, "did", day, properties];
  empty = await makeProject(app, [
    did("null", { part: null, one: "a" }),
    did("empty", { part: "", two: "b" }),
    did("missing", { other: "value" }),
    did("value", { part: "actual", one: "a", two: "b" }),
  ]);
  many = await makeProject(
    app,
    Array.from({ length: 260 }, (_, i): Happening => {
      return [
        `p${i}`,
        "did",
        day,
        { v: `v${i % 250}`, long: `${"x".repeat(500)}${i % 2}`, flag: i % 2 === 0, price: i % 3 },
      ];
    }),
  );
  // A property has the type of its definition, which follows its event.
  await until(async () => {
    const { body } = await ask(app, "GET", `${many.path}/property_definitions/?properties=flag`);
    const [definition] = body["results"] as { property_type: string | null }[];
    return definition?.property_type === "Boolean";
  });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const trends = (breakdownFilter: object, more: object = {}) => ({
  kind: "TrendsQuery",
  series: [{ event: "did" }],
  dateRange: { date_from: "2024-01-01", date_to: "2024-01-15" },
  breakdownFilter,
  ...more,
});
const counts = async (project: PeerProject, ...query: Parameters<typeof trends>) =>
  (await project.results<TrendLine>(trends(...query))).map((line) => [
    line.breakdown_value,
    line.aggregated_value ?? line.count,
  ]);

// PostHog/posthog#40577.
test("null, the empty text and nothing are one value, also of two properties", async () => {
  expect(await counts(empty, { breakdown: "part", breakdown_type: "event" })).toEqual([
    ["actual", 1],
    [none, 3],
  ]);
  const breakdowns = [
    { property: "one", type: "event" },
    { property: "two", type: "event" },
  ];
  expect((await counts(empty, { breakdowns })).toSorted()).toEqual(
    [
      [[none, none], 1],
      [[none, "b"], 1],
      [["a", none], 1],
      [["a", "b"], 1],
    ].toSorted() as never,
  );
});

// test_get_breakdown_limit_caps_at_max; PostHog/posthog#24894, #21422, #23008: a limit beyond the largest is the largest.
test.each([
  [undefined, 26],
  [50, 51],
  [200, 201],
  [1000, 201],
])("a limit of %p has %d lines", async (breakdown_limit, expected) => {
  const lines = await counts(many, { breakdown: "v", ...(breakdown_limit && { breakdown_limit }) });
  expect([lines.length, lines.at(-1)![0]]).toEqual([expected, others]);
});

// PostHog/posthog#32654.
test.each([
  [
    { breakdown: "flag" },
    [
      ["false", 130],
      ["true", 130],
    ],
  ],
  [
    { breakdown: "price" },
    [
      ["0", 87],
      ["1", 87],
      ["2", 86],
    ],
  ],
  [{ breakdown: "price", breakdown_type: "hogql" }, undefined],
  [
    { breakdown: "toString(properties.price)", breakdown_type: "hogql" },
    [
      ["0", 87],
      ["1", 87],
      ["2", 86],
    ],
  ],
  [
    { breakdown: "properties.flag ? 'yes' : 'no'", breakdown_type: "hogql" },
    [
      ["no", 130],
      ["yes", 130],
    ],
  ],
  [
    { breakdown: "price", breakdown_limit: 1 },
    [
      ["0", 87],
      [others, 173],
    ],
  ],
  [{ breakdown: "price", breakdown_limit: 1, breakdown_hide_other_aggregation: true }, [["0", 87]]],
  [{ breakdown: null, breakdown_type: null }, [[undefined, 260]]],
  [{ breakdowns: [] }, [[undefined, 260]]],
  [
    { breakdown: ["price"], breakdown_type: "event" },
    [
      ["0", 87],
      ["1", 87],
      ["2", 86],
    ],
  ],
  [
    { breakdown: "price", breakdown_path_cleaning: false },
    [
      ["0", 87],
      ["1", 87],
      ["2", 86],
    ],
  ],
])("by %j", async (breakdownFilter, expected) => {
  const query = trends(breakdownFilter);
  if (!expected) expect((await many.query(query)).status).toBe(400);
  else expect(await counts(many, breakdownFilter)).toEqual(expected as never);
});

// test_breakdown_limits.py: what begins with the same 400 letters is one value.
test("long values are cut", async () => {
  const [[value] = []] = await counts(many, { breakdown: "long" });
  expect(value).toBe("x".repeat(400));
});

test.each(["ActionsBarValue", "ActionsPie", "ActionsTable", "ActionsLineGraphCumulative"])(
  "as %s values keep their numbers",
  async (display) => {
    expect(await counts(many, { breakdown: "price" }, { trendsFilter: { display } })).toEqual([
      ["0", 87],
      ["1", 87],
      ["2", 86],
    ]);
  },
);
