// The pages of groups: the list as its address asks for it, and one group with what was done in it.

import { afterEach, expect, test } from "bun:test";
import { Groups } from "../../../../src/console/app/persons/groups.tsx";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { type Answers, closePage, drawPage, refused } from "../drawn_page.tsx";

afterEach(closePage);

const home = "/api/projects/7";
const types = [
  { group_type: "company", group_type_index: 0 },
  { group_type: "team", group_type_index: 1 },
];
const group = {
  group_type: "team",
  group_key: "a/b",
  properties: { name: "Blue" },
  created_at: "2026-03-01T00:00:00Z",
};
const answers: Answers = {
  [`GET ${home}/groups_types/`]: types,
  [`GET ${home}/groups/`]: { results: [group], count: 1 },
  [`GET ${home}/groups/find/`]: group,
  [`GET ${home}/events/`]: { results: [], count: 0 },
};

async function drawn(hash: string, more: Answers = {}, scopes: readonly string[] = ["*"]) {
  return await drawPage(<Groups route={readRoute(hash)} />, {
    answers: { ...answers, ...more },
    hash: hash.slice(1),
    scopes,
  });
}

test("the list is requested as in the address, and its rows lead to their groups", async () => {
  const page = await drawn("#/7/groups?group_type=team&group_key=a&offset=50");
  expect(page.asked.find(({ path }) => path === `${home}/groups/`)?.query).toEqual({
    group_type: "team",
    group_key: "a",
    offset: "50",
    limit: "50",
  });
  expect(page.valueOf("Type")).toBe("team");
  expect(page.find("tbody a").getAttribute("href")).toBe("#/7/groups/team/a%2Fb");
  await page.fill("Key", "  acme ");
  await page.submit("Show");
  expect(location.hash).toBe("#/7/groups?group_type=team&group_key=acme");
});

test("a key of a hundred and twenty letters is whole, a longer one is cut", async () => {
  const named = async (letters: number) => {
    const long = { ...group, group_key: "k".repeat(letters) };
    const page = await drawn("#/7/groups", { [`GET ${home}/groups/`]: { results: [long], count: 1 } });
    const [text] = page.texts("tbody a");
    await closePage();
    return text;
  };
  expect(await named(120)).toBe("k".repeat(120));
  expect(await named(121)).toBe(`${"k".repeat(119)}…`);
});

test("a group's events are requested by its index, with its key as text in SQL", async () => {
  const page = await drawn(`#/7/groups/team/${encodeURIComponent("it's a \\ key")}`);
  expect(page.asked.find(({ path }) => path === `${home}/groups/find/`)?.query).toEqual({
    group_type_index: "1",
    group_key: "it's a \\ key",
  });
  const where = "$group_1 = 'it\\'s a \\\\ key'";
  const { query } = page.asked.find(({ path }) => path === `${home}/events/`)!;
  expect(JSON.parse(query["where"]!)).toEqual([where]);
  const link = new URLSearchParams(page.find(".card a").getAttribute("href")!.split("?")[1]);
  expect(JSON.parse(link.get("of")!)).toMatchObject({
    source: { kind: "InsightActorsQuery", source: { properties: [{ type: "hogql", key: where }] } },
  });
});

test("a group that only events name is shown all the same, one of an unknown type is an error", async () => {
  const unknown = { [`GET ${home}/groups/find/`]: refused(404, "Not found.") };
  const page = await drawn("#/7/groups/team/new", unknown);
  expect(page.text()).toContain("No $groupidentify event describes it.");
  expect(page.texts('[role="alert"]')).toEqual([]);
  await closePage();
  const broken = await drawn("#/7/groups/team/new", {
    [`GET ${home}/groups/find/`]: refused(500, "Broken."),
  });
  expect(broken.texts('[role="alert"]')).toEqual(["Broken."]);
  await closePage();
  const strange = await drawn("#/7/groups/planet/mars");
  expect(strange.texts('[role="alert"]')).toEqual(["There are no groups of the type planet."]);
});

test("a key that may not query sees the properties, and no events", async () => {
  const page = await drawn("#/7/groups/team/a", {}, ["group:read"]);
  expect(page.texts("h2")).toEqual(["Properties of the team"]);
  expect(page.asked.some(({ path }) => path === `${home}/events/`)).toBe(false);
});
