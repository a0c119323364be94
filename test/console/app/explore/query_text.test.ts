// The question of the explore page in words: each kind says what it asks, and nothing that it does not.

import { expect, test } from "bun:test";
import { plainQuery } from "../../../../src/console/app/explore/query.ts";
import { describeQuery } from "../../../../src/console/app/explore/query_text.ts";

const asked = { ...plainQuery, series: [{ ...plainQuery.series[0]!, event: "$pageview", math: "dau" }] };
const rest = { breakdown: "plan", compare: true, start: "/tea", window: "1 hour" };

test("a trend says who is counted, over which time, by what and against what", () => {
  expect(describeQuery(asked)).toEqual(["Visitors", "14 days", "each day"]);
  expect(describeQuery({ ...asked, ...rest, formula: "A / 2", withoutTests: true })).toEqual([
    "Visitors",
    "14 days",
    "each day",
    "by plan",
    "against the time directly before",
    "Without own visits",
    "Formula: A / 2",
  ]);
});

test("other kinds say only what is theirs", () => {
  const words = (kind: typeof plainQuery.kind) => describeQuery({ ...asked, ...rest, kind });
  expect(words("funnel")).toEqual(["Page views → All events", "14 days", "within 1 hour", "by plan"]);
  expect(words("retention")).toEqual(["Page views → Page views", "each day"]);
  expect(words("lifecycle")).toEqual(["Page views", "14 days", "each day"]);
  expect(words("paths")).toEqual(["pages", "14 days", "from /tea"]);
});
