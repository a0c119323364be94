// What pages look like when there is nothing, when they are refused, when their address names nothing, before somebody is
// signed in, and in the middle of what is done on them: whole, at each width, light and dark, and nothing for axe to find.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfState, faultsOfVisit, settled, signedIn } from "../support/console.ts";
import { type Server, startServer } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;
let organization: string;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ LOG_LEVEL: "error" });
  browser = await openBrowser();
  const { body } = await ask(server, "GET", "/api/organizations/@current/");
  organization = `/api/organizations/${String(body["id"])}`;
}, msMax);

/** Each page, and each kind of question. */
const pages = [
  "overview",
  "live",
  "explore",
  "explore?kind=funnel&event=seen&event=paid",
  "explore?kind=retention",
  "sql",
  "insights",
  "dashboards",
  "persons",
  "groups",
  "recordings",
  "exports",
  "subscriptions",
  "alerts",
  "start",
  "keys",
  "projects",
  "members",
  "account",
];

inBrowser(
  "every page of a project without anything is whole",
  async () => {
    const visited = await signedIn(browser, server, "start");
    const faults: string[] = [];
    for (const address of pages) {
      faults.push(...(await faultsOfVisit(visited, `empty ${address}`, address, settled)));
    }
    expect(faults).toEqual([]);
  },
  msMax,
);

inBrowser(
  "every page whose requests are refused says why, in the API's words",
  async () => {
    const { page } = await signedIn(browser, server, "start");
    await settled(page);
    const detail = "The store is being moved.";
    const body = JSON.stringify({ type: "server_error", code: "error", detail, attr: null });
    await page.route(/\/api\/(?!projects\/\?)/, (route) => route.fulfill({ status: 500, body }));
    const silent: string[] = [];
    const faults: string[] = [];
    for (const address of pages) {
      await page.goto(`${server.url}/#/1/${address}`);
      await settled(page);
      const asks = !["sql", "start", "projects"].includes(address);
      const alerts = await page.getByRole("alert").allInnerTexts();
      if (asks && !alerts.includes(detail)) silent.push(address);
      faults.push(...(await faultsOfState(page, `refused ${address}`)));
    }
    expect({ silent, faults }).toEqual({ silent: [], faults: [] });
  },
  msMax,
);

inBrowser(
  "an address that names no project, page or thing says so, and shows nothing in its place",
  async () => {
    const { page } = await signedIn(browser, server, "start");
    await settled(page);
    const none = crypto.randomUUID();
    const wrong: string[] = [];
    const faults: string[] = [];
    for (const [address, text] of [
      ["99999/explore", "There is no project 99999 here"],
      ["nobody/explore", "There is no project nobody here"],
      ["1/nonsense", "There is no page nonsense here"],
      ["1/keys/5", "There is no page keys/5 here"],
      ["1/groups/company", "There is no page groups/company here"],
      ["1/dashboards/abc", "There is no dashboard abc here"],
      ["1/subscriptions/abc", "There is no subscription abc here"],
      ["1/insights/abc", "Not found."],
      ["1/dashboards/99999", "Not found."],
      ["1/insights/99999", "Not found."],
      [`1/persons/${none}`, `There is no person ${none} here`],
      ["1/groups/company/nobody", "There are no groups of the type company."],
      ["1/recordings/nobody", "not found"],
      [`1/exports/${none}`, "Not found."],
      ["1/subscriptions/99999", "Not found."],
    ] as const) {
      await page.goto(`${server.url}/#/${address}`);
      await page.getByRole("alert").first().waitFor();
      const shown = (await page.getByRole("alert").allInnerTexts()).join();
      const data = await page.locator("main table, main canvas, main form").count();
      if (!shown.toLowerCase().includes(text.toLowerCase()) || data > 0)
        wrong.push(`${address}: ${shown} ${data}`);
      faults.push(...(await faultsOfState(page, address)));
    }
    expect({ wrong, faults }).toEqual({ wrong: [], faults: [] });
    await page.goto(`${server.url}/#/99999/insights`);
    await page.getByLabel("Project", { exact: true }).selectOption({ label: "Default project" });
    await page.getByRole("heading", { name: "Insights" }).waitFor();
  },
  msMax,
);

inBrowser(
  "who is signed in sees no form to sign in while the server is asked, and what loads is whole",
  async () => {
    const { page } = await signedIn(browser, server, "insights");
    await settled(page);
    for (const path of ["/api/personal_api_keys/@current/", "/api/projects/"]) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const isHeld = ({ pathname }: URL) => pathname === path;
      await page.route(isHeld, async (route) => {
        await promise;
        await route.continue();
      });
      await page.reload();
      await page.getByText("Loading …").waitFor();
      expect(await page.locator("form").count()).toBe(0);
      expect(await faultsOfState(page, `held ${path}`)).toEqual([]);
      resolve();
      await settled(page);
      await page.unroute(isHeld);
    }
  },
  msMax,
);

inBrowser(
  "signing in and accepting an invitation are whole, right and wrong",
  async () => {
    const faults: string[] = [];
    const { page } = await visit(browser, `${server.url}/`);
    const look = async (name: string, at: Page = page) => {
      faults.push(...(await faultsOfState(at, name)));
    };
    await page.getByLabel("Personal API key").waitFor();
    await look("sign in");
    await page.getByLabel("Personal API key").fill("phx_wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await look("sign in with a wrong key");
    const path = `${organization}/invites/`;
    const { body } = await ask(server, "POST", path, { target_email: "ada@example.com" });
    const invited = await visit(browser, String(body["link"]));
    await invited.page.getByLabel("Password").waitFor();
    await look("invitation", invited.page);
    await invited.page.getByLabel("Password").fill("short");
    await invited.page.keyboard.press("Enter");
    await invited.page.getByText("This password is too short.").waitFor();
    await look("invitation with a short password", invited.page);
    await ask(server, "DELETE", `${path}${String(body["id"])}/`);
    const late = await visit(browser, String(body["link"]));
    await late.page.getByRole("alert").waitFor();
    await look("revoked invitation", late.page);
    expect(faults).toEqual([]);
  },
  msMax,
);

inBrowser(
  "pages are whole while somebody acts on them",
  async () => {
    const { page } = await signedIn(browser, server, "keys");
    await settled(page);
    const faults: string[] = [];
    const look = async (name: string) => {
      faults.push(...(await faultsOfState(page, name)));
    };
    await page.getByLabel("Label").fill("to be looked at");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("group", { name: "The new key" }).waitFor();
    await page.getByRole("row", { name: "to be looked at" }).getByRole("button", { name: "Revoke" }).click();
    await look("a new key, and a question");

    await page.goto(`${server.url}/#/1/projects`);
    await settled(page);
    await page.getByLabel("Days that events are kept").fill("90");
    await page.getByRole("button", { name: "Save" }).click();
    await look("a shorter time that is asked again");
    await page.getByRole("button", { name: "Yes, save" }).click();
    await page.getByText("Saved.").waitFor();
    await look("saved settings");
    await page.getByLabel("Time zone").fill("Nowhere/Land");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    await look("refused settings");

    await page.goto(`${server.url}/#/1/members`);
    await settled(page);
    await page.getByLabel("E-mail address").fill("bob@example.com");
    await page.getByRole("button", { name: "Make a link" }).click();
    await page.getByRole("group", { name: "The invitation’s link" }).waitFor();
    await page.getByRole("cell", { name: "bob@example.com" }).waitFor();
    await look("an invitation's link");

    await page.goto(`${server.url}/#/1/exports`);
    await settled(page);
    await page.getByLabel("Name of the export").fill("To nowhere");
    await page.getByLabel("Bucket", { exact: true }).fill("No Bucket");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").waitFor();
    await look("a refused export");

    for (const [things, name] of [
      ["insights", "Sales"],
      ["dashboards", "Wall"],
    ]) {
      const query = { kind: "TrendsQuery", series: [{ event: "paid" }] };
      const body = things === "insights" ? { name, query, dashboards: [] } : { name };
      await ask(server, "POST", `/api/projects/1/${things}/`, body);
    }
    await ask(server, "PATCH", "/api/projects/1/insights/1/", { dashboards: [1] });
    await page.goto(`${server.url}/#/1/dashboards/1`);
    await settled(page);
    await page.getByRole("button", { name: "Arrange" }).click();
    await look("a dashboard that is arranged");
    await page.goto(`${server.url}/#/1/subscriptions`);
    await settled(page);
    await page.getByLabel("What to send").selectOption({ label: "Insight: Sales" });
    await page.getByLabel("To", { exact: true }).fill("nobody");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").waitFor();
    await look("a refused subscription");
    expect(faults).toEqual([]);
  },
  msMax,
);

inBrowser(
  "a key whose scopes allow no page is told so",
  async () => {
    const { body } = await ask(server, "POST", "/api/personal_api_keys/", {
      label: "no page",
      scopes: ["user:read"],
    });
    const { page } = await signedIn(browser, server, "", String(body["value"]));
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("or it is not shown to you");
    expect(await faultsOfState(page, "no page")).toEqual([]);
  },
  msMax,
);
