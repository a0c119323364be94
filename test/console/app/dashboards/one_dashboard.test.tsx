// The page of one dashboard: tiles arranged by buttons, each change saved after the one before.

import { afterEach, expect, test } from "bun:test";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { type Answers, closePage, drawPage, inDocument, refused } from "../drawn_page.tsx";

const { OneDashboard } = await inDocument(
  () => import("../../../../src/console/app/dashboards/one_dashboard.tsx"),
);

afterEach(closePage);

const path = "/api/projects/7/dashboards/3/";
const text = (id: number, body: string, y: number) => ({
  id,
  layouts: { sm: { x: 0, y, w: 6, h: 5 } },
  insight: null,
  text: { body },
});
const board = {
  id: 3,
  name: "Sales",
  description: "Of the week",
  pinned: false,
  created_at: "2026-01-01T00:00:00Z",
  tiles: [text(11, "# First", 0), text(12, "second", 5), text(13, "third", 10)],
};
const answers: Answers = { [`GET ${path}`]: board, [`PATCH ${path}`]: {}, [`DELETE ${path}`]: {} };
const route = readRoute("#/7/dashboards/3");

/** Of each tile that was saved: its id, place and width. */
function savedIn(body: unknown): unknown[] {
  const { tiles } = body as { tiles: { id: number; layouts: { sm: { x: number; y: number; w: number } } }[] };
  return tiles.map(({ id, layouts: { sm } }) => [id, sm.x, sm.y, sm.w]);
}

test("a tile is moved by buttons, the move is announced, and its new position is saved", async () => {
  const page = await drawPage(<OneDashboard id={3} route={route} />, { answers });
  expect(page.texts(".text-tile")).toEqual(["First", "second", "third"]);
  await page.press("Arrange");
  page.find("#tile-13-earlier").click();
  await page.settled();
  expect(page.texts('[role="status"]')).toContain("third: moved earlier, 2 of 3.");
  const sent = page.asked.filter(({ method }) => method === "PATCH");
  expect(sent.map(({ body }) => savedIn(body))).toEqual([
    [
      [11, 0, 0, 6],
      [13, 6, 0, 6],
      [12, 0, 5, 6],
    ],
  ]);
});

test("the first tile moves no earlier and the last no later", async () => {
  const page = await drawPage(<OneDashboard id={3} route={route} />, { answers });
  await page.press("Arrange");
  page.find("#tile-11-earlier").click();
  page.find("#tile-13-later").click();
  await page.settled();
  expect(page.asked.filter(({ method }) => method === "PATCH")).toEqual([]);
  expect(page.find("#tile-11-earlier").getAttribute("aria-disabled")).toBe("true");
  expect(page.find("#tile-12-earlier").getAttribute("aria-disabled")).toBe("false");
});

test("changes are saved one after the other, also after one that is refused", async () => {
  const first = Promise.withResolvers<object>();
  const replies = [first.promise, {}];
  const page = await drawPage(<OneDashboard id={3} route={route} />, {
    answers: { ...answers, [`PATCH ${path}`]: () => replies.shift()! },
  });
  const sent = () => page.asked.filter(({ method }) => method === "PATCH").map(({ body }) => savedIn(body));
  const wide = [
    [11, 0, 0, 12],
    [12, 0, 5, 6],
    [13, 6, 5, 6],
  ];
  await page.press("Arrange");
  page.find("#tile-11-width").click();
  await page.settled();
  page.find("#tile-12-later").click();
  await page.settled();
  expect(sent()).toEqual([wide]);
  first.resolve(refused(503, "Try again."));
  await page.settled();
  const [one, two, three] = wide as [unknown, number[], number[]];
  expect(sent()).toEqual([wide, [one, [13, ...two.slice(1)], [12, ...three.slice(1)]]]);
});

test("a dashboard is named, and an empty name is none", async () => {
  const page = await drawPage(<OneDashboard id={3} route={route} />, { answers });
  await page.press("Arrange");
  await page.fill("Name", "");
  await page.fill("Pinned: first in the list", "on");
  await page.submit("Save");
  expect(page.asked.find(({ method }) => method === "PATCH")?.body).toEqual({
    name: null,
    description: "Of the week",
    pinned: true,
  });
});

test("a dashboard without tiles says how to add some, and one that is none says so", async () => {
  const page = await drawPage(<OneDashboard id={3} route={route} />, {
    answers: { [`GET ${path}`]: { ...board, name: null, tiles: [] } },
    scopes: ["dashboard:read"],
  });
  expect(page.texts("h1")).toEqual(["Dashboard 3"]);
  expect(page.text()).toContain("No insights yet. “Arrange” adds them, texts and the overview of the site.");
  expect(page.texts("button")).toEqual(["Refresh"]);
  await closePage();
  const none = await drawPage(<OneDashboard id={4} route={route} />, {
    answers: { "GET /api/projects/7/dashboards/4/": refused(404, "Not found.") },
  });
  expect(none.texts('[role="alert"]')).toEqual(["Not found."]);
});
