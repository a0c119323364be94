// The console in a browser: signing in, and waiting for a page.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type Visit, visit } from "./browser.ts";
import { personalKey, type Server } from "./server.ts";

/**
 * Complaints that are none: pages give up what they asked for when they are left, and what was recorded is refused what
 * it tries.
 */
export function seriousOf(complaints: readonly string[]): string[] {
  const expected = / net::ERR_ABORTED$|\/recorded\.|^console: Framing 'http|'allow-scripts' permission/;
  return complaints.filter((one) => !expected.test(one));
}

/** Visits a page with a key in the tab, as after signing in. */
export async function signedIn(
  browser: Browser,
  server: Server,
  address: string,
  key = personalKey,
  settings?: BrowserContextOptions,
): Promise<Visit> {
  const visited = await visit(browser, `${server.url}/console/player`, settings);
  await visited.page.evaluate(`sessionStorage.setItem("sluice_personal_api_key", ${JSON.stringify(key)})`);
  visited.complaints.length = 0;
  await visited.page.goto(`${server.url}/#/1/${address}`);
  return visited;
}

/** Waits until a page has what it asked for. */
export async function settled(page: Page): Promise<void> {
  // The menu comes with the key's scopes.
  const menu = page.getByRole("navigation", { name: "Pages of the console" });
  await menu.getByRole("link").first().waitFor();
  await page.locator("main h1").first().waitFor();
  await page.getByText("Loading …").first().waitFor({ state: "detached" });
}
