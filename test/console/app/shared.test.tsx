// The page of a link to an insight or a dashboard: as it is answered, and empty once the link is revoked.

import { afterEach, expect, jest, test } from "bun:test";
import { type Answers, closePage, drawPage, inDocument, refused } from "./drawn_page.tsx";

const { SharedPage } = await inDocument(() => import("../../../src/console/app/shared.tsx"));

afterEach(async () => {
  await closePage();
  jest.useRealTimers();
});

const path = "/shared/token/";
const text = { id: 1, layouts: {}, text: "**as it was written**" };
const insight = {
  id: 2,
  layouts: { sm: { x: 0, y: 0, w: 12, h: 5 } },
  name: "Rows",
  description: "of a query",
  type: "table",
  results: [["a", 1]],
};
const board = {
  kind: "dashboard",
  name: "Sales",
  description: "Of the week",
  timezone: "Asia/Tokyo",
  computed_at: "2026-03-01T00:00:00Z",
  tiles: [text, insight],
};

async function drawn(answers: Answers) {
  return await drawPage(<SharedPage />, { answers, path });
}

test("tiles stand in the order of the dashboard, texts with their marks, an error as itself", async () => {
  const failing = { ...insight, id: 3, layouts: {}, name: "Broken", results: [], error: "It took too long." };
  const page = await drawn({ [`GET ${path}`]: { ...board, tiles: [text, failing, insight] } });
  const tiles = [...page.document.querySelectorAll("section")];
  expect(tiles.map((one) => one.className)).toEqual(["card wide", "card", "card"]);
  expect(tiles[0]!.textContent).toStartWith("Rowsof a query");
  expect(tiles.slice(1).map((one) => one.textContent)).toEqual([
    "as it was written",
    "Brokenof a queryIt took too long.",
  ]);
  expect(page.document.title).toBe("Sales · Sluice");
  expect(page.text()).toContain("Days are in the time zone Asia/Tokyo.");
});

test("results of an earlier version, which have no type, are said to be computed again", async () => {
  const { type: _, ...untyped } = insight;
  const page = await drawn({ [`GET ${path}`]: { ...board, tiles: [untyped] } });
  expect(page.texts(".notice")).toEqual(["Its results are computed again within 15 minutes."]);
});

test("an insight alone is wide, and its name is the page's", async () => {
  const alone = { ...board, kind: "insight", name: "Rows", tiles: [{ ...insight, layouts: {} }] };
  const page = await drawn({ [`GET ${path}`]: alone });
  expect(page.texts("h2")).toEqual([]);
  expect(page.find("section").className).toBe("card wide");
  await closePage();
  const empty = await drawn({ [`GET ${path}`]: { ...board, tiles: [] } });
  expect(empty.text()).toContain("There are no insights on this dashboard.");
});

test("the page requests with the ETag of its content, stays unchanged on 304, and is empty on 404", async () => {
  jest.useFakeTimers();
  const replies = [
    () => Response.json(board, { headers: { etag: '"one"' } }),
    () => new Response(null, { status: 304 }),
    () => refused(404, "gone"),
  ];
  const page = await drawn({ [`GET ${path}`]: () => replies.shift()!() });
  const turn = async () => {
    jest.advanceTimersByTime(2500);
    await page.settled();
  };
  await turn();
  expect([page.texts("h1"), page.texts('[role="alert"]')]).toEqual([["Sales"], []]);
  expect(page.texts("section")).toHaveLength(2);
  await turn();
  expect(page.texts('[role="alert"]')).toEqual(["This link is not valid, or was revoked."]);
  expect([page.texts("h1"), page.texts("section")]).toEqual([["A shared page"], []]);
  await turn();
  expect(page.asked.length).toBe(3);
});

test("a request to an unavailable or busy server is retried, and the shown content stays", async () => {
  jest.useFakeTimers();
  const away = () => {
    throw new Error("away");
  };
  const replies = [() => board, away, () => refused(503, "Busy."), () => board];
  const page = await drawn({ [`GET ${path}`]: () => replies.shift()!() });
  const problems: string[][] = [];
  for (let i = 0; i < 3; i++) {
    jest.advanceTimersByTime(2500);
    await page.settled();
    problems.push(page.texts('[role="alert"]'));
    expect(page.texts("section")).toHaveLength(2);
  }
  expect(problems).toEqual([
    ["The server does not answer. Is it running? This page tries again by itself."],
    ["Busy."],
    [],
  ]);
});
