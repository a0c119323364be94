// Signing in: by a key, a password, a link; what is remembered of it, and how it ends.

import { afterEach, expect, jest, test } from "bun:test";
import {
  type Answers,
  type Asked,
  closePage,
  drawPage,
  type Given,
  inDocument,
  refused,
} from "../drawn_page.tsx";

const { SignIn } = await inDocument(() => import("../../../../src/console/app/accounts/sign_in.tsx"));
const { useSignIn } = await inDocument(() => import("../../../../src/console/app/accounts/signing.ts"));

afterEach(async () => {
  await closePage();
  jest.useRealTimers();
});

function Page() {
  const signing = useSignIn();
  if (!signing.signed) return <SignIn {...signing} />;
  return (
    <>
      <p class="signed">{`${signing.signed.key ?? "session"}: ${signing.signed.scopes.join(" ")}`}</p>
      <button type="button" onClick={() => signing.signOut(false)}>
        Sign out
      </button>
      <button type="button" onClick={() => signing.signOut(true)}>
        Refuse
      </button>
    </>
  );
}

const current = "GET /api/personal_api_keys/@current/";
const stored = "sluice_personal_api_key";
const answers: Answers = {
  [current]: { scopes: ["*"] },
  "POST /api/login/": {},
  "POST /api/logout/": {},
  "POST /console/sign_in": { personal_api_key: "phx_first" },
};
const drawn = async (given: Given = {}) => await drawPage(<Page />, { answers, hash: "", ...given });
const sentTo = (asked: readonly Asked[]) => asked.map(({ method, path }) => `${method} ${path}`);

test("no request is sent where no session is known, and a password makes a session", async () => {
  const page = await drawn();
  expect(page.asked).toEqual([]);
  await page.fill("E-mail address", "ann@shop.example");
  await page.fill("Password", "secret");
  await page.submit("Sign in");
  expect(page.asked[0]).toMatchObject({
    path: "/api/login/",
    body: { email: "ann@shop.example", password: "secret" },
  });
  expect(page.texts(".signed")).toEqual(["session: *"]);
  expect([localStorage.getItem("sluice_signed_in"), sessionStorage.getItem(stored)]).toEqual(["1", null]);
});

test("over plain HTTP a key signs in this tab alone: no session is made", async () => {
  const page = await drawn();
  Object.assign(globalThis, { isSecureContext: false });
  await page.fill("Personal API key", "  phx_mine ");
  await page.submit("Sign in with the key");
  expect(sentTo(page.asked)).toEqual([current]);
  expect(page.texts(".signed")).toEqual(["phx_mine: *"]);
  expect([localStorage.getItem("sluice_signed_in"), sessionStorage.getItem(stored)]).toEqual([
    null,
    "phx_mine",
  ]);
});

test("where the address is secure, a key makes a session", async () => {
  const page = await drawn();
  Object.assign(globalThis, { isSecureContext: true });
  await page.fill("Personal API key", "phx_mine");
  await page.submit("Sign in with the key");
  expect(sentTo(page.asked)).toEqual(["POST /api/login/", current]);
  expect(page.asked[0]!.body).toEqual({ personal_api_key: "phx_mine" });
  expect(page.texts(".signed")).toEqual(["session: *"]);
});

test("a link's code is exchanged for its key, and is not left in the address", async () => {
  const page = await drawn({ hash: "code=abc123" });
  expect(location.hash).toBe("#/");
  expect(sentTo(page.asked)[0]).toBe("POST /console/sign_in");
  expect(page.texts(".signed")).toHaveLength(1);
});

test("a key that is not valid any more is forgotten, and the forms say why", async () => {
  const page = await drawn({
    answers: { ...answers, [current]: refused(401, "no") },
    stored: { [stored]: "phx_old" },
  });
  expect(page.texts('[role="alert"]')).toEqual([
    "This personal API key is not valid. It may be mistyped, expired or revoked.",
  ]);
  expect(sessionStorage.getItem(stored)).toBeNull();
});

test("a known user sees no form while the server is unavailable, and is signed in when it is back", async () => {
  jest.useFakeTimers();
  let isAway = true;
  const answer = () => {
    if (isAway) throw new Error("away");
    return { scopes: ["query:read"] };
  };
  const page = await drawn({ answers: { ...answers, [current]: answer }, stored: { [stored]: "phx_mine" } });
  expect(page.texts("form")).toEqual([]);
  expect(page.text()).toContain("This page tries again by itself.");
  isAway = false;
  jest.advanceTimersByTime(3000);
  await page.settled();
  expect(page.texts(".signed")).toEqual(["phx_mine: query:read"]);
});

test("a session is over when the server has ended it, and not before", async () => {
  const signIn = async (more: Answers) => {
    const page = await drawn({ answers: { ...answers, ...more } });
    await page.fill("E-mail address", "ann@shop.example");
    await page.fill("Password", "secret");
    await page.submit("Sign in");
    return page;
  };
  const ended = await signIn({});
  await ended.press("Sign out");
  expect(ended.asked.at(-1)).toMatchObject({ method: "POST", path: "/api/logout/" });
  expect(localStorage.getItem("sluice_signed_in")).toBeNull();
  await closePage();
  const kept = await signIn({ "POST /api/logout/": refused(500, "broken") });
  await kept.press("Sign out");
  expect(kept.texts('[role="alert"]')).toEqual([
    "The server did not end the session: reload this page, and sign out again.",
  ]);
  expect(localStorage.getItem("sluice_signed_in")).toBe("1");
  await closePage();
  const refusedLater = await signIn({});
  await refusedLater.press("Refuse");
  expect(refusedLater.texts('[role="alert"]')).toEqual(["Your session is over. Sign in again."]);
});

test("another tab that signs out ends the session of this one, and no key", async () => {
  const page = await drawn({ stored: { [stored]: "phx_mine" } });
  const out = () => Object.assign(new Event("storage"), { key: "sluice_signed_in", newValue: null });
  dispatchEvent(out());
  await page.settled();
  expect(page.texts(".signed")).toEqual(["phx_mine: *"]);
});
