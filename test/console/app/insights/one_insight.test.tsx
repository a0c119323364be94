// The page of one insight: where it is edited, what its buttons send, and the dashboards that show it.

import { afterEach, expect, test } from "bun:test";
import { type Answers, closePage, drawPage, inDocument, refused } from "../drawn_page.tsx";

const { OneInsight } = await inDocument(() => import("../../../../src/console/app/insights/one_insight.tsx"));

afterEach(closePage);

const path = "/api/projects/7/insights/5/";
const sql = { kind: "DataVisualizationNode", source: { kind: "HogQLQuery", query: "select 1" } };
const insight = {
  id: 5,
  name: null,
  derived_name: "One row",
  description: "why",
  query: sql,
  dashboards: [3],
  favorited: false,
  result: [["a", 1]],
  columns: ["name", "n"],
  types: ["String", "UInt8"],
  query_status: null,
  last_modified_at: "2026-01-01T00:00:00Z",
};

function answersOf(more: object = {}): Answers {
  return {
    [`GET ${path}`]: { ...insight, ...more },
    [`PATCH ${path}`]: {},
    "POST /api/projects/7/insights/": { ...insight, id: 6 },
    "GET /api/projects/7/dashboards/": {
      results: [
        { id: 3, name: "Sales" },
        { id: 4, name: null },
      ],
    },
  };
}

test.each([
  ["SQL on its page", sql, "#/7/sql?insight=5"],
  [
    "a question in its form",
    {
      kind: "InsightVizNode",
      source: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "paid" }] },
    },
    /^#\/7\/explore\?insight=5&kind=trend.*&event=paid/,
  ],
  ["what no form shows nowhere", { kind: "TrendsQuery", series: [], samplingFactor: 0.1 }, null],
])("%s is edited", async (_, query, href) => {
  const page = await drawPage(<OneInsight id="5" />, { answers: answersOf({ query }) });
  const link =
    page.document.querySelector(".page-actions a.button:not([href*=alerts])")?.getAttribute("href") ?? null;
  if (href instanceof RegExp) expect(link).toMatch(href);
  else expect(link).toBe(href);
  expect(page.text().includes("Change it through the API.")).toBe(href === null);
});

test("a copy has its name, query and description, is on no dashboard, and is opened", async () => {
  const page = await drawPage(<OneInsight id="5" />, { answers: answersOf() });
  await page.press("Duplicate");
  expect(page.asked.find(({ method }) => method === "POST")?.body).toEqual({
    name: "One row (copy)",
    description: "why",
    query: sql,
  });
  expect(location.hash).toBe("#/7/insights/6");
});

test("it is put on a dashboard beside the others and taken off one", async () => {
  const page = await drawPage(<OneInsight id="5" />, { answers: answersOf() });
  await page.fill("Put it on", "4");
  await page.submit("Put it there");
  await page.press("Remove from Sales");
  await page.press("★ Favorite");
  expect(page.asked.filter(({ method }) => method === "PATCH").map(({ body }) => body)).toEqual([
    { dashboards: [3, 4] },
    { dashboards: [] },
    { favorited: true },
  ]);
});

test("an emptied name is none, and its derived one stands in its field", async () => {
  const page = await drawPage(<OneInsight id="5" />, { answers: answersOf({ name: "Mine" }) });
  await page.fill("Name", "");
  await page.submit("Save");
  expect(page.asked.find(({ method }) => method === "PATCH")?.body).toEqual({
    name: null,
    description: "why",
  });
  expect(page.find('input[placeholder="One row"]').tagName).toBe("INPUT");
});

test("a query that failed says why, and who may only read changes nothing", async () => {
  const failed = { query_status: { error: true, error_message: "Unknown table." }, result: null };
  const page = await drawPage(<OneInsight id="5" />, {
    answers: answersOf(failed),
    scopes: ["insight:read", "query:read"],
  });
  expect(page.texts(".notice.bad")).toEqual(["Unknown table."]);
  expect(page.texts("button")).toEqual([]);
  await closePage();
  const none = await drawPage(<OneInsight id="abc/def" />, {
    answers: { "GET /api/projects/7/insights/abc%2Fdef/": refused(404, "Not found.") },
  });
  expect(none.texts('[role="alert"]')).toEqual(["Not found."]);
});
