// The page of one's own account: a first password and another one, and browsers that are signed out.

import { afterEach, expect, test } from "bun:test";
import { OwnAccount } from "../../../../src/console/app/accounts/own_account.tsx";
import { type Answers, closePage, drawPage, refused } from "../drawn_page.tsx";

afterEach(closePage);

const user = { email: "ann@shop.example", first_name: "Ann", has_password: true };
const used = { created_at: "2026-11-01T00:00:00Z", last_used_at: null };
const sessions = [
  { ...used, id: "s1", user_agent: "curl/8", key_label: null, is_current: true },
  { ...used, id: "s2", user_agent: "curl/8", key_label: "laptop", is_current: false },
];
const answers: Answers = {
  "GET /api/users/@me/": user,
  "PATCH /api/users/@me/": user,
  "GET /api/users/@me/sessions/": { results: sessions },
  "DELETE /api/users/@me/sessions/s2/": {},
};

test("another password needs the current one, and both fields are empty afterwards", async () => {
  const page = await drawPage(<OwnAccount />, { answers });
  await page.fill("Current password", "old secret");
  await page.fill("New password", "new secret");
  await page.submit("Change the password");
  expect(page.asked.find(({ method }) => method === "PATCH")?.body).toEqual({
    password: "new secret",
    current_password: "old secret",
  });
  expect([page.valueOf("Current password"), page.valueOf("New password")]).toEqual(["", ""]);
  expect(page.text()).toContain("Changed. Your other browsers are signed out; your keys stay.");
});

test("a first password comes with the address that signs in", async () => {
  const without = { ...answers, "GET /api/users/@me/": { ...user, has_password: false } };
  const page = await drawPage(<OwnAccount />, { answers: without });
  await page.fill("E-mail address", "ann@new.example");
  await page.fill("New password", "new secret");
  await page.submit("Set the password");
  expect(page.asked.find(({ method }) => method === "PATCH")?.body).toEqual({
    password: "new secret",
    email: "ann@new.example",
  });
  expect(page.text()).toContain("Password set. Sign in as ann@new.example from now on.");
});

test("a password that is refused stays in its field, with the reason", async () => {
  const refusing: Answers = {
    ...answers,
    "PATCH /api/users/@me/": refused(400, "This password is too short."),
  };
  const page = await drawPage(<OwnAccount />, { answers: refusing });
  await page.fill("New password", "short");
  await page.submit("Change the password");
  expect(page.texts('[role="alert"]')).toEqual(["This password is too short."]);
  expect(page.valueOf("New password")).toBe("short");
});

test("other browsers can be signed out, this one cannot", async () => {
  const page = await drawPage(<OwnAccount />, { answers });
  const rows = page.texts("tbody tr");
  expect(rows.map((row) => /this browser|Sign out/.exec(row)?.[0])).toEqual(["this browser", "Sign out"]);
  expect(rows.map((row) => /password|key “laptop”/.exec(row)?.[0])).toEqual(["password", "key “laptop”"]);
  await page.press("Sign out");
  await page.press("Yes, sign out. It has to sign in again.");
  expect(page.asked.filter(({ method }) => method === "DELETE").map(({ path }) => path)).toEqual([
    "/api/users/@me/sessions/s2/",
  ]);
});
