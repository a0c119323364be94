// People in browsers: signing in over tabs, links to colleagues, invitations, removals, and pages that are not ours.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { addAccount, addStranger, ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser, openSite, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, settled } from "../support/console.ts";
import { givePassword } from "../support/people.ts";
import { bodyOf } from "../support/recordings.ts";
import { personalKey, post, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;
const right = "correct horse battery";

let server: Server;
let browser: Browser;
let owner: string;
let organization_id: string;
let round = 0;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  owner = await givePassword(server, personalKey, right);
  organization_id = String((await ask(server, "GET", "/api/organizations/@current/")).body["id"]);
}, msMax);

async function addPerson(): Promise<{ email: string; uuid: string }> {
  const { sql } = await storesOf(server);
  const { key } = await addAccount(sql, `person-${++round}@example.com`, { organization_id, level: 1 });
  const email = await givePassword(server, key, right);
  const { body } = await ask(server, "GET", "/api/users/@me/", undefined, key);
  return { email, uuid: String(body["uuid"]) };
}

async function signIn(page: Page, email: string, password = right): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

inBrowser(
  "a person signs in, in every tab, and is signed out of every tab",
  async () => {
    const { page, context } = await visit(browser, `${server.url}/`);
    await signIn(page, owner, "wrong horse battery");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toBe("Invalid email or password.");
    expect(await allFindings(page)).toEqual([]);
    await signIn(page, owner);
    await settled(page);
    expect(await page.evaluate("document.cookie + sessionStorage.length")).toBe("0");
    const other = await context.newPage();
    await other.goto(`${server.url}/#/1/members`);
    await other.getByRole("heading", { name: "Members" }).waitFor();
    await other.getByRole("cell", { name: owner }).waitFor();
    await page.reload();
    await settled(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("E-mail address").waitFor();
    await other.getByLabel("E-mail address").waitFor();
    // What is left opens nothing: strangers' attempts do not lock this browser out.
    expect((await context.cookies()).map(({ name }) => name)).toEqual(["sluice_browser"]);
  },
  msMax,
);

inBrowser(
  "a link that was sent to a colleague opens after their sign-in, and no other site does",
  async () => {
    const address = `${server.url}/#/1/persons?search=ada%40example.com`;
    const { email } = await addPerson();
    const { page } = await visit(browser, address);
    await signIn(page, email);
    await page.getByRole("heading", { name: "Persons" }).waitFor();
    expect(page.url()).toBe(address);
    for (const hash of ["#//elsewhere.example", "#/https://elsewhere.example", "#javascript:alert(1)"]) {
      const fresh = await visit(browser, `${server.url}/?next=https://elsewhere.example${hash}`);
      await signIn(fresh.page, email);
      await settled(fresh.page);
      expect(new URL(fresh.page.url()).origin).toBe(server.url);
    }
  },
  msMax,
);

inBrowser(
  "an owner invites somebody by a link, who joins by it once and is removed again",
  async () => {
    const { page } = await visit(browser, `${server.url}/#/1/members`);
    await signIn(page, owner);
    await page.getByRole("heading", { name: "Members" }).waitFor();
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByRole("button", { name: "Make a link" }).click();
    const shown = page.getByRole("group", { name: "The invitation’s link" });
    const link = /http\S+#invite=\S+/.exec(await shown.innerText())?.[0] ?? "";
    await page.getByText("Send the link yourself.").waitFor();

    const invited = await visit(browser, link);
    await invited.page.getByRole("heading", { name: "Join Default organization" }).waitFor();
    expect(invited.page.url()).not.toContain("invite");
    expect(await allFindings(invited.page)).toEqual([]);
    await invited.page.getByLabel("First name").fill("Ada");
    await invited.page.getByLabel("Password").fill(right);
    await invited.page.keyboard.press("Enter");
    await settled(invited.page);
    const again = await visit(browser, link);
    await again.page.getByRole("alert").waitFor();
    expect(await again.page.getByRole("alert").innerText()).toContain(
      "This invitation is not valid any more",
    );

    await invited.page.goto(`${server.url}/#/1/members`);
    await invited.page.getByRole("cell", { name: "ada@example.com" }).waitFor();
    expect(await invited.page.getByRole("button", { name: "Remove" }).count()).toBe(0);
    expect(await invited.page.getByRole("heading", { name: "Invite somebody" }).count()).toBe(0);

    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "ada@example.com" });
    await row.getByRole("combobox").selectOption("8");
    await page.getByText("ada@example.com is administrator now.").waitFor();
    await row.getByRole("button", { name: "Remove" }).click();
    await row.getByRole("button", { name: "Yes, remove" }).click();
    await page.getByText("ada@example.com is removed.").waitFor();
    await invited.page.getByRole("link", { name: "Insights" }).click();
    await invited.page.getByText("Your session is over. Sign in again.").waitFor();
  },
  msMax,
);

inBrowser(
  "somebody with an account joins by its own password, and sees the keys and browsers that it had",
  async () => {
    const { sql } = await storesOf(server);
    const { key } = await addStranger(sql);
    const email = await givePassword(server, key, right);
    const elsewhere = await visit(browser, `${server.url}/`);
    await signIn(elsewhere.page, email);
    await settled(elsewhere.page);
    const path = `/api/organizations/${organization_id}/invites/`;
    const { body } = await ask(server, "POST", path, { target_email: email });
    const { page } = await visit(browser, String(body["link"]));
    await page.getByLabel("Password").fill("another horse battery");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toBe("Invalid email or password.");
    await page.getByLabel("Password").fill(right);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Are these yours?" }).waitFor();
    const had = await page.getByRole("listitem").allInnerTexts();
    expect(had[0]).toMatch(/^Key “all” phx_\.\.\.\w{4}, never used$/);
    expect(had[1]).toMatch(/^Chrom.*, signed in, used /);
    expect(had).toHaveLength(2);
    expect(await allFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Continue" }).click();
    await settled(page);
    await page.goto(`${server.url}/#/1/members`);
    await page.getByRole("cell", { name: email }).waitFor();
  },
  msMax,
);

inBrowser(
  "another password is chosen with the current one, and other browsers are signed out",
  async () => {
    const { email } = await addPerson();
    const { page } = await visit(browser, `${server.url}/#/1/account`);
    await signIn(page, email);
    await page.getByText("this browser").waitFor();
    const other = await visit(browser, `${server.url}/#/1/account`);
    await signIn(other.page, email);
    await other.page.getByText("this browser").waitFor();
    await page.getByLabel("Current password").fill(right);
    await page.getByLabel("New password").fill("another horse battery");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Changed. Your other browsers are signed out; your keys stay.").waitFor();
    await page.reload();
    await page.getByText("this browser").waitFor();
    await other.page.reload();
    await other.page.getByText("Your session is over. Sign in again.").waitFor();
  },
  msMax,
);

/** What a page of another origin gets when it asks with the browser's cookies, in each way it has. */
const attack = (url: string) => `<script>
  const ways = {
    plain: {}, header: { headers: { "x-sluice-console": "1" } }, opaque: { mode: "no-cors" },
    post: { method: "POST", headers: { "content-type": "application/json" }, body: "{}" },
  };
  Promise.all(Object.entries(ways).map(async ([name, way]) => {
    try {
      const reply = await fetch("${url}/api/users/@me/", { credentials: "include", ...way });
      return name + " " + reply.type + " " + reply.status;
    } catch { return name + " failed"; }
  })).then((all) => { window.got = all.join(); });
</script>`;

inBrowser(
  "pages of another origin and another port, and recordings, reach nothing with a browser's session",
  async () => {
    const { email } = await addPerson();
    const { page, context } = await visit(browser, `${server.url}/`);
    await signIn(page, email);
    await settled(page);
    const site = openSite({ "/": attack(server.url) });
    const port = new URL(site.url).port;
    for (const address of [`${site.url}/`, `http://127.0.0.1:${port}/`]) {
      const foreign = await context.newPage();
      const statuses: number[] = [];
      foreign.on("response", (response) => {
        if (response.url().startsWith(`${server.url}/api/`)) statuses.push(response.status());
      });
      await foreign.goto(address);
      await foreign.waitForFunction("window.got !== undefined");
      expect(await foreign.evaluate("window.got")).toBe(
        "plain failed,header failed,opaque opaque 0,post failed",
      );
      expect(statuses.every((status) => status >= 400)).toBe(true);
    }
    // From the pages' own origin, but as a frame, a picture or an address: none sends the console's header.
    const at = Date.now();
    const node = (id: number, tagName: string, attributes: object, childNodes: object[] = []) => ({
      type: 2,
      id,
      tagName,
      attributes,
      childNodes,
    });
    const framed = node(6, "body", {}, [
      node(7, "img", { src: "/api/users/@me/?as=img" }),
      node(8, "iframe", { src: "/api/users/@me/?as=iframe" }),
      node(9, "script", {}, [{ type: 3, id: 10, textContent: "fetch('/api/users/@me/?as=script')" }]),
    ]);
    const document = {
      type: 0,
      id: 1,
      childNodes: [node(3, "html", {}, [node(4, "head", {}), framed])],
    };
    const events = [
      { type: 4, timestamp: at, data: { href: `${server.url}/`, width: 800, height: 600 } },
      { type: 2, timestamp: at + 10, data: { node: document, initialOffset: { left: 0, top: 0 } } },
      { type: 3, timestamp: at + 4000, data: { source: 2, type: 2, id: 7, x: 1, y: 1 } },
    ];
    await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
    const pieces = bodyOf({ session: "s-framed", distinct_id: "d", events });
    await until(async () => (await (await post(server, "/s/", pieces)).text()) === '{"status":"Ok"}');
    await rested(server);
    const asked: string[] = [];
    context.on("response", (response) => {
      const { pathname, search } = new URL(response.url());
      if (pathname === "/api/users/@me/" && search !== "") asked.push(`${search} ${response.status()}`);
    });
    await page.goto(`${server.url}/#/1/recordings/s-framed`);
    await page.frameLocator("iframe").getByRole("button", { name: "Play" }).waitFor();
    await until(async () => asked.length >= 1);
    // The player takes addresses out of frames.
    expect(asked).toEqual(["?as=img 401"]);
    const direct = await context.newPage();
    const reply = await direct.goto(`${server.url}/api/users/@me/`);
    expect(reply?.status()).toBe(401);
  },
  msMax,
);

inBrowser(
  "the pages of members and of one's account are whole at every width, light and dark",
  async () => {
    const email = `waits-${++round}@example.com`;
    await ask(server, "POST", `/api/organizations/${organization_id}/invites/`, { target_email: email });
    await addPerson();
    const faults = [
      ...(await faultsOfLooks(browser, server, "members", "members", async (page) => {
        await page.getByRole("cell", { name: email }).waitFor();
      })),
      ...(await faultsOfLooks(browser, server, "account", "account", async (page) => {
        await page.getByRole("heading", { name: "Signed in" }).waitFor();
      })),
    ];
    expect(faults).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a session that the server did not end is not said to be over",
  async () => {
    const { page } = await visit(browser, `${server.url}/`);
    await signIn(page, owner);
    await settled(page);
    await page.route("**/api/logout/", (route) => route.abort());
    await page.getByRole("button", { name: "Sign out" }).click();
    expect(await page.getByRole("alert").innerText()).toContain("did not end the session");
    await page.reload();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  },
  msMax,
);
