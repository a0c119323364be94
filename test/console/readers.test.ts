// The console of a reader: whole pages of figures, without anything that the API would refuse, or that changes something.

import { expect } from "bun:test";
import { addAccount, ask } from "../support/ask.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfVisit, inBrowser, msMax, openConsole, settled, signedIn } from "../support/console.ts";
import { storesOf } from "../support/server.ts";

cleanUpEach();

const time = Date.now();
const group = { $group_type: "team", $group_key: "one", $group_set: { plan: "pro" } };
const web = openConsole(() => [
  { event: "$groupidentify", distinct_id: "ann", properties: group },
  ...["ann", "bob"].map((distinct_id, i) => ({
    event: "$pageview",
    distinct_id,
    timestamp: new Date(time - i * 3_600_000).toISOString(),
    properties: { $session_id: `s-${distinct_id}`, $pathname: "/", plan: "pro", $groups: { team: "one" } },
  })),
]);

async function addReader(): Promise<string> {
  const { sql } = await storesOf(web.server);
  const { body } = await ask(web.server, "GET", "/api/organizations/@current/");
  const membership = { organization_id: String(body["id"]), level: 0 };
  return (await addAccount(sql, "reader@example.com", membership)).key;
}

/** Words on what changes something for others. */
const changing =
  /save|delete|arrange|duplicate|favorite|share|create|invite|note|alert|new insight|add text/i;

inBrowser(
  "a reader's pages ask for nothing that is refused, change nothing, and are whole",
  async () => {
    const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "$pageview" }] };
    const { id: board } = await web.api("POST", "dashboards/", { name: "Board" });
    const { id: insight } = await web.api("POST", "insights/", { name: "Views", query, dashboards: [board] });
    const visited = await signedIn(web.browser, web.server, "overview", await addReader());
    const { page } = visited;
    const faults: string[] = [];
    const offered: string[] = [];
    for (const address of [
      "",
      "overview",
      "explore",
      "explore?kind=funnel&event=$pageview&event=paid",
      "explore?kind=retention",
      "explore?kind=paths",
      "explore?kind=lifecycle",
      "sql",
      "insights",
      `insights/${String(insight)}`,
      "dashboards",
      `dashboards/${String(board)}`,
      "groups",
      "groups/team/one",
      "keys",
      "members",
      "account",
    ]) {
      faults.push(...(await faultsOfVisit(visited, `reader ${address}`, address, settled)));
      const buttons = await page.locator("main").getByRole("button").allInnerTexts();
      if (/keys|account/.test(address)) continue;
      offered.push(...buttons.filter((text) => changing.test(text)).map((text) => `${address}: ${text}`));
      offered.push(...(await page.locator("main a.behind").allInnerTexts()));
    }
    expect({ faults, offered }).toEqual({ faults: [], offered: [] });
    const menu = page.getByRole("navigation", { name: "Pages of the console" });
    expect((await menu.getByRole("link").allInnerTexts()).map((text) => text.trim())).toEqual([
      "Overview",
      "Explore",
      "SQL",
      "Insights",
      "Dashboards",
      "Groups",
      "Keys",
      "Members",
      "Account",
    ]);
    for (const address of ["live", "persons", "exports", "projects", "start", "behind"]) {
      await page.goto(`${web.server.url}/#/1/${address}`);
      await page.getByRole("heading", { name: "Not found" }).waitFor();
    }
  },
  msMax,
);
