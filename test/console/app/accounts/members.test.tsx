// The page of members: who may change whom, and invitations.

import { afterEach, expect, test } from "bun:test";
import { Members } from "../../../../src/console/app/accounts/members.tsx";
import { type Answers, closePage, drawPage, project, refused } from "../drawn_page.tsx";

afterEach(closePage);

const member = (name: string, level: number) => ({
  id: name,
  user: { uuid: `uuid-${name}`, email: `${name}@shop.example`, first_name: name },
  level,
  joined_at: "2026-11-01T00:00:00Z",
  last_login: null,
});
const path = `/api/organizations/${project.organization}`;
const members = [member("olga", 15), member("adam", 8), member("anna", 8), member("mia", 1)];

/** The page as one of them sees it. */
function seenBy(name: string): Answers {
  return {
    [`GET ${path}/members/@me/`]: members.find(({ id }) => id === name)!,
    [`GET ${path}/members/`]: { results: members },
    [`GET ${path}/invites/`]: { results: [] },
    [`PATCH ${path}/members/uuid-mia/`]: {},
    [`DELETE ${path}/members/uuid-mia/`]: {},
    [`DELETE ${path}/members/@me/`]: {},
    [`POST ${path}/invites/`]: { target_email: "new@shop.example", link: "https://shop.example/#invite=x" },
  };
}

test.each([
  ["olga", ["Leave", "Remove", "Remove", "Remove"]],
  ["adam", ["", "Leave", "Remove", "Remove"]],
  ["mia", ["", "", "", "Leave"]],
])("%s may remove whom their level reaches", async (name, buttons) => {
  const page = await drawPage(<Members />, { answers: seenBy(name) });
  const rows = page.texts('[aria-label="Members"] tbody tr');
  expect(rows.map((row) => /Leave|Remove/.exec(row)?.[0] ?? "")).toEqual(buttons);
  expect(page.text().includes("Open invitations")).toBe(name !== "mia");
});

test("nobody makes a member more than they are themselves", async () => {
  const page = await drawPage(<Members />, { answers: seenBy("adam") });
  expect(page.texts('[aria-label="Level of mia@shop.example"] option')).toEqual([
    "reader",
    "member",
    "administrator",
  ]);
  await page.fill("Level of mia@shop.example", "8");
  expect(page.asked.filter(({ method }) => method === "PATCH")).toEqual([
    { method: "PATCH", path: `${path}/members/uuid-mia/`, query: {}, body: { level: 8 } },
  ]);
  expect(page.text()).toContain("mia@shop.example is administrator now.");
});

test("whoever leaves is signed out, and a refused removal says why", async () => {
  const page = await drawPage(<Members />, { answers: seenBy("mia") });
  await page.press("Leave");
  await page.press("Yes, leave. You lose access to the organization.");
  expect(page.asked.at(-1)?.method).toBe("SIGN OUT");
  await closePage();
  const refusing: Answers = {
    ...seenBy("olga"),
    [`DELETE ${path}/members/@me/`]: refused(400, "It needs an owner."),
  };
  const last = await drawPage(<Members />, { answers: refusing });
  await last.press("Leave");
  await last.press("Yes, leave. You lose access to the organization.");
  expect(last.texts('[role="alert"]')).toEqual(["It needs an owner."]);
  expect(last.asked.some(({ method }) => method === "SIGN OUT")).toBe(false);
});

test("an invitation's link is shown once, with the address that it is for", async () => {
  const page = await drawPage(<Members />, { answers: seenBy("adam") });
  await page.fill("E-mail address", "new@shop.example");
  await page.fill("Level", "8");
  await page.submit("Make a link");
  expect(page.asked.find(({ method }) => method === "POST")?.body).toMatchObject({
    target_email: "new@shop.example",
    level: 8,
  });
  expect(page.texts(".issued code")).toEqual(["https://shop.example/#invite=x"]);
});
