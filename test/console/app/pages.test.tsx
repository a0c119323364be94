// The pages of the console: what a key is shown, and which page an address names.

import { expect, test } from "bun:test";
import { readRoute } from "../../../src/console/app/session/route.ts";
import { scopesIn } from "../../../src/console/app/session/session.ts";
import { inDocument } from "./drawn_page.tsx";

const { icons, pageAt, pagesFor } = await inDocument(() => import("../../../src/console/app/pages.tsx"));

const pagesOf = (effective_membership_level: number, ...scopes: string[]) =>
  pagesFor(scopesIn({ effective_membership_level }, scopes));
const namesOf = (groups: ReturnType<typeof pagesFor>) =>
  groups.map(({ title, entries }) => [title, ...entries.map(({ name }) => name)] as const);
const shownTo = (...scopes: string[]) => namesOf(pagesOf(1, ...scopes));
const all = pagesOf(15, "*").flatMap(({ entries }) => entries);
const nameAt = (hash: string, allowed = all) => pageAt(allowed, readRoute(hash))?.name;

test("a key is shown the pages of its scopes, and no group without any", () => {
  expect(shownTo("*").flat()).toHaveLength(all.length + pagesOf(15, "*").length);
  expect(shownTo("query:read")).toEqual([
    ["", "overview", "live"],
    ["Analyze", "explore", "behind", "sql"],
  ]);
  expect(shownTo("person:write", "project:read")).toEqual([
    ["People", "persons"],
    ["Settings", "start", "projects"],
  ]);
  expect(shownTo()).toEqual([]);
});

test("a reader is shown the pages of figures, members and their own account", () => {
  expect(namesOf(pagesOf(0, "*"))).toEqual([
    ["", "overview"],
    ["Analyze", "explore", "sql", "insights", "dashboards"],
    ["People", "groups"],
    ["Settings", "keys", "members", "account"],
  ]);
  expect(namesOf(pagesOf(0, "person:read", "query:read"))).toEqual([
    ["", "overview"],
    ["Analyze", "explore", "sql"],
  ]);
});

test("every page has a name of its own, and the menu all but the persons behind a number", () => {
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  expect(all.filter(({ name }) => icons[name] === undefined).map(({ name }) => name)).toEqual(["behind"]);
});

test("an address without a page is the first that the key is shown", () => {
  expect(nameAt("#/7")).toBe("overview");
  expect(
    nameAt(
      "#/7/",
      pagesOf(1, "group:read").flatMap(({ entries }) => entries),
    ),
  ).toBe("groups");
  expect(nameAt("#/7/", [])).toBeUndefined();
});

test.each([
  ["#/7/insights", "insights"],
  ["#/7/insights/abc", "insights"],
  ["#/7/insights/abc/more", undefined],
  ["#/7/groups/team", undefined],
  ["#/7/groups/team/a%2Fb", "groups"],
  ["#/7/overview/1", undefined],
  ["#/7//1", undefined],
  ["#/7/nonsense", undefined],
  ["#/7/constructor", undefined],
])("%s is the page %p", (hash, name) => {
  expect(nameAt(hash)).toBe(name);
});
