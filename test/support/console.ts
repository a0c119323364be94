// The console in a browser: signing in, and waiting for a page.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { allFindings, colourFindings } from "./axe.ts";
import { type Visit, visit } from "./browser.ts";
import { personalKey, type Server, until } from "./server.ts";

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

/** Where screenshots are wanted, if they are: to be looked at. */
const shots = process.env["CONSOLE_SCREENSHOTS"];

/** Switches what the system prefers; the page follows at once, and its charts are drawn again. */
export async function darken(page: Page): Promise<void> {
  const before = await page.evaluate<string>(groundOf);
  await page.emulateMedia({ colorScheme: "dark" });
  // Asked from here: the pages' policy forbids the evaluation that waiting in the page does after its first look.
  await until(async () => (await page.evaluate<string>(groundOf)) !== before);
}

const groundOf = "getComputedStyle(document.body).backgroundColor";

/**
 * A page at 375 and 1280 px, light and dark: what axe finds, and how far it is wider than the window.
 * @param ready resolves when the page shows what it is looked at for.
 */
export async function faultsOfLooks(
  browser: Browser,
  server: Server,
  name: string,
  address: string,
  ready: (page: Page) => Promise<void>,
): Promise<string[]> {
  const faults: string[] = [];
  const settings = { viewport: { width: 375, height: 800 }, colorScheme: "light" } as const;
  const { page, context, complaints } = await signedIn(browser, server, address, personalKey, settings);
  for (const width of [375, 1280]) {
    if (width > 375) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: "light" });
      await page.reload();
    }
    await settled(page);
    await ready(page);
    for (const colorScheme of ["light", "dark"]) {
      if (colorScheme === "dark") await darken(page);
      const look = `${name}_${width}_${colorScheme}`;
      const wider = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
      const found = colorScheme === "dark" ? await colourFindings(page) : await allFindings(page);
      if (wider > 0) found.push(`${wider} px wider than the window`);
      faults.push(...[...found, ...seriousOf(complaints.splice(0))].map((one) => `${look}: ${one}`));
      if (shots) await page.screenshot({ path: `${shots}/${look}.png`, fullPage: true });
    }
  }
  await context.close();
  return faults;
}
