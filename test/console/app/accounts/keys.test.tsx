// The page of personal API keys: what a new key may do, and that its value is shown once.

import { afterEach, expect, test } from "bun:test";
import { Keys } from "../../../../src/console/app/accounts/keys.tsx";
import { type Answers, closePage, drawPage, refused } from "../drawn_page.tsx";

afterEach(closePage);

const row = { scoped_teams: [], created_at: "2026-11-01T00:00:00Z", last_used_at: null };
const own = { ...row, id: "k1", label: "laptop", mask_value: "phx_…aaaa", scopes: ["*"] };
const other = {
  ...row,
  id: "k2",
  label: "reports",
  mask_value: "phx_…bbbb",
  scopes: ["query:read", "insight:read"],
};
const answers: Answers = {
  "GET /api/personal_api_keys/": { results: [own, other] },
  "GET /api/personal_api_keys/@current/": own,
  "POST /api/personal_api_keys/": { ...other, id: "k3", label: "nightly", value: "phx_nightly" },
  "POST /api/personal_api_keys/k2/roll/": { ...other, value: "phx_rolled" },
};

test("keys are listed, and the tab's own can be neither rolled nor revoked", async () => {
  const page = await drawPage(<Keys />, { answers });
  expect(page.texts("tbody tr")).toEqual([
    "laptopphx_…aaaa*neverused by this tab",
    "reportsphx_…bbbbquery:read, insight:readneverRoll Revoke",
  ]);
  expect(page.asked[0]).toMatchObject({ path: "/api/personal_api_keys/", query: { limit: "200" } });
});

test("a new key has the scopes that are chosen, all of them or one project's", async () => {
  const page = await drawPage(<Keys />, { answers });
  await page.fill("Label", "nightly");
  await page.fill("query:read", "off");
  await page.fill("person:read", "on");
  await page.submit("Create");
  await page.fill("All scopes (*)", "on");
  await page.fill("Only for Shop", "on");
  await page.submit("Create");
  expect(page.asked.filter(({ method }) => method === "POST").map(({ body }) => body)).toEqual([
    { label: "nightly", scopes: ["project:read", "person:read"], scoped_teams: [] },
    { label: "", scopes: ["*"], scoped_teams: [7] },
  ]);
});

test("a reader makes keys that read", async () => {
  const page = await drawPage(<Keys />, { answers, project: { effective_membership_level: 0 } });
  expect(page.text()).not.toMatch(/All scopes|:write|person:read/);
  await page.fill("Label", "nightly");
  await page.fill("insight:read", "on");
  await page.submit("Create");
  expect(page.asked.find(({ method }) => method === "POST")?.body).toMatchObject({
    scopes: ["query:read", "project:read", "insight:read"],
  });
});

test("the value of a rolled key is shown with the label, after a question", async () => {
  const page = await drawPage(<Keys />, { answers });
  await page.press("Roll");
  expect(page.asked.filter(({ method }) => method === "POST")).toEqual([]);
  await page.press("Yes, roll. The old value stops working at once.");
  expect(page.texts(".issued p")).toEqual([
    "This is the new value of “reports”. It is shown this once: copy it now, to where you keep secrets.",
  ]);
  expect(page.texts(".issued code")).toEqual(["phx_rolled"]);
  expect(page.text()).toContain("Rolled. The old value is no longer valid.");
});

test("a refused key is an error in the API's words, and no value is shown", async () => {
  const refusing: Answers = {
    ...answers,
    "POST /api/personal_api_keys/": refused(400, "This field may not be blank."),
  };
  const page = await drawPage(<Keys />, { answers: refusing });
  await page.submit("Create");
  expect(page.texts('[role="alert"]')).toEqual(["This field may not be blank."]);
  expect(page.texts(".issued")).toEqual([]);
});
