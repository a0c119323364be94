// The frame of the console: the project of the address, the menu of the key, and addresses that name nothing.

import { afterEach, expect, test } from "bun:test";
import { type Answers, closePage, drawPage, inDocument, project, refused } from "./drawn_page.tsx";

const { App } = await inDocument(() => import("../../../src/console/app/app.tsx"));
// Pages load when they are opened: those that are opened here are there already.
await inDocument(() => import("../../../src/console/app/persons/groups.tsx"));

afterEach(closePage);

const stored = { sluice_personal_api_key: "phx_mine" };
const shop = { ...project, organization: "o1" };
const blog = { ...project, id: 9, name: "Blog", timezone: "Asia/Tokyo" };

async function drawn(hash: string, scopes: readonly string[], more: Answers = {}) {
  const answers: Answers = {
    "GET /api/personal_api_keys/@current/": { scopes },
    "GET /api/projects/": { results: [shop, blog] },
    ...more,
  };
  return await drawPage(<App />, { answers, hash, stored });
}

test("the project of the address is shown, with its clock, and the menu of what the key allows", async () => {
  const page = await drawn("/9/groups", ["group:read", "project:read"]);
  expect(page.texts("h1")).toEqual(["Groups"]);
  expect(page.asked.some(({ path }) => path === "/api/projects/9/groups/")).toBe(true);
  expect(page.texts("footer")[0]).toContain("Asia/Tokyo");
  const links = [...page.document.querySelectorAll("nav a")];
  expect(
    links.map((one) => [one.textContent, one.getAttribute("href"), one.getAttribute("aria-current")]),
  ).toEqual([
    ["Groups", "#/9/groups", "page"],
    ["Start", "#/9/start", null],
    ["Projects", "#/9/projects", null],
  ]);
});

test("another project is opened on the page that is shown", async () => {
  const page = await drawn("/7/groups/team/a", ["group:read", "project:read"]);
  await page.fill("Project", "9");
  expect(location.hash).toBe("#/9/groups");
});

test("an address of a project or a page that is none says so, and shows no other project's", async () => {
  const stray = await drawn("/12/groups", ["*"]);
  expect(stray.texts('[role="alert"]')).toEqual(["There is no project 12 here, or it is not shown to you."]);
  expect(stray.texts("#project option")).toEqual(["Not found", "Shop", "Blog"]);
  expect(stray.asked.some(({ path }) => path.includes("/groups/"))).toBe(false);
  await closePage();
  const lost = await drawn("/7/nonsense/1", ["*"]);
  expect(lost.texts('[role="alert"]')).toEqual([
    "There is no page nonsense/1 here, or it is not shown to you.",
  ]);
});

test("a key that does not read projects has the current one, whatever the address says", async () => {
  const page = await drawn("/12/groups", ["group:read"]);
  expect(page.texts("#project option")).toEqual(["Current project"]);
  expect(page.asked.map(({ path }) => path)).toContain("/api/projects/@current/groups/");
  expect(page.asked.map(({ path }) => path)).not.toContain("/api/projects/");
});

test("a key without projects, or without scopes for any page, is shown the reason", async () => {
  const none = await drawn("/", ["project:read"], { "GET /api/projects/": { results: [] } });
  expect(none.texts(".notice")).toEqual(["This key reaches no project."]);
  await closePage();
  const empty = await drawn("/", ["organization:read"]);
  expect(empty.texts("nav a")).toEqual([]);
  expect(empty.texts('[role="alert"]')).toHaveLength(1);
});

test("projects that cannot be read are an error, and signing out leads to the forms", async () => {
  const broken = await drawn("/7/groups", ["*"], { "GET /api/projects/": refused(400, "Broken.") });
  expect(broken.texts('[role="alert"]')).toEqual(["Broken."]);
  await closePage();
  const page = await drawn("/7/groups", ["group:read", "project:read"]);
  await page.press("Sign out");
  expect(page.texts("h2")).toEqual(["Or with a key"]);
  expect(sessionStorage.getItem("sluice_personal_api_key")).toBeNull();
});

test("a key that is revoked while a page is open signs out, with the reason", async () => {
  const page = await drawn("/7/groups", ["group:read", "project:read"], {
    "GET /api/projects/7/groups/": refused(401, "no"),
  });
  expect(page.texts("form").length).toBe(2);
  expect(page.text()).toContain("This personal API key is not valid.");
});
