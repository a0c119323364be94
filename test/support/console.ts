// The console in a browser: signing in, and waiting for a page.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page, Route } from "playwright-core";
import { type Answer, ask } from "./ask.ts";
import { allFindings, colourFindings } from "./axe.ts";
import { noBrowser, openBrowser, type Visit, visit } from "./browser.ts";
import {
  personalKey,
  post,
  projectKey,
  rested,
  type Server,
  type StartedServer,
  startServer,
  until,
} from "./server.ts";

export const inBrowser = test.skipIf(noBrowser);
/** Of one test: servers, browsers and pages share a busy machine. */
export const msMax = 600_000;

export interface OpenedConsole {
  server: StartedServer;
  browser: Browser;
  /** Asks below a project's path. @throws where that is refused */
  api: (method: string, path: string, body?: object, project?: number) => Promise<Answer["body"]>;
  /** A page of the first project, when it has what it asked for; `settings` are those of the browser. */
  opened: (address: string, settings?: BrowserContextOptions) => Promise<Page>;
}

/** A server with these events, and a browser: there once the tests of the file begin. @param events made then. */
export function openConsole(events: () => readonly object[]): OpenedConsole {
  const opened = {
    api: async (method, path, body, project = 1) => {
      const answer = await ask(opened.server, method, `/api/projects/${project}/${path}`, body);
      if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
    opened: async (address, settings) => {
      const { page } = await signedIn(opened.browser, opened.server, address, personalKey, settings);
      await settled(page);
      await openForm(page);
      return page;
    },
  } as OpenedConsole;
  beforeAll(async () => {
    if (noBrowser) return;
    opened.server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "warn" });
    opened.browser = await openBrowser();
    const sent = { api_key: projectKey, historical_migration: true, batch: events() };
    expect((await post(opened.server, "/batch/", sent)).status).toBe(200);
    await rested(opened.server);
  }, msMax);
  return opened;
}

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

/** Opens the form of the explore page, where the page has one that is closed. */
export async function openForm(page: Page): Promise<void> {
  const question = page.locator('.question[aria-expanded="false"]');
  if ((await question.count()) > 0) await question.click();
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

/** Widths in px at which pages are looked at: of a phone, and of a window. */
const widths = [375, 1280];
/** Layout shift of a page that loads, as Chromium measures it: what web.dev calls good. */
const shiftMax = 0.1;

/** At each width, light and dark: what axe finds on a page as it is, and how far it is wider than the window. */
export async function faultsOfState(
  page: Page,
  name: string,
  at: readonly number[] = widths,
): Promise<string[]> {
  const faults: string[] = [];
  for (const width of at) {
    await page.setViewportSize({ width, height: 800 });
    // Charts take their new width in the frame after the one that tells them of it.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await page.emulateMedia({ colorScheme: "light" });
    for (const colorScheme of ["light", "dark"]) {
      if (colorScheme === "dark") await darken(page);
      const look = `${name}_${width}_${colorScheme}`;
      const wider = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
      const found = colorScheme === "dark" ? await colourFindings(page) : await allFindings(page);
      if (wider > 0) found.push(`${wider} px wider than the window`);
      faults.push(...found.map((one) => `${look}: ${one}`));
      if (shots) await page.screenshot({ path: `${shots}/${look}.png`, fullPage: true });
    }
  }
  return faults;
}

/**
 * A page that loads at 375 and 1280 px: what axe finds before it has what it asked for, and afterwards in light and dark;
 * how far it is wider than the window; what moved when it came, and what the browser complained of.
 * @param ready resolves when the page shows what it is looked at for.
 */
export async function faultsOfLooks(
  browser: Browser,
  server: Server,
  name: string,
  address: string,
  ready: (page: Page) => Promise<unknown>,
): Promise<string[]> {
  const visited = await signedIn(browser, server, address);
  const faults = await faultsOfVisit(visited, name, address, ready);
  await visited.context.close();
  return faults;
}

/** The faults of a page in a browser that is signed in already. */
export async function faultsOfVisit(
  { page, complaints }: Visit,
  name: string,
  address: string,
  ready: (page: Page) => Promise<unknown>,
): Promise<string[]> {
  const faults: string[] = [];
  await page.addInitScript(watchShifts);
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    const release = await holdReplies(page);
    // Loaded once: the page that is left does not follow its address.
    await page.evaluate(`history.replaceState(null, "", ${JSON.stringify(`/#/1/${address}`)})`);
    await page.reload();
    const menu = page.getByRole("navigation", { name: "Pages of the console" });
    await menu.getByRole("link").first().waitFor();
    faults.push(...(await allFindings(page)).map((one) => `${name}_${width}_loading: ${one}`));
    await release();
    await settled(page);
    await ready(page);
    const shift = await page.evaluate<number>("shifts.reduce((sum, { value }) => sum + value, 0)");
    if (shift >= shiftMax) faults.push(`${name}_${width}: a layout shift of ${shift}`);
    faults.push(...(await faultsOfState(page, name, [width])));
    faults.push(...seriousOf(complaints.splice(0)).map((one) => `${name}_${width}: ${one}`));
  }
  return faults;
}

/**
 * Runs before a page's own scripts, once for each that was looked at before. What moves within half a second of a key is
 * what the reader asked for, and counts as no shift, as in web.dev's definition.
 */
const watchShifts = `if (!window.shifts) {
  window.shifts = [];
  new PerformanceObserver((list) => {
    shifts.push(...list.getEntries().filter(({ hadRecentInput }) => !hadRecentInput));
  }).observe({ type: "layout-shift", buffered: true });
}`;

/** What the frame of the pages asks for: who is signed in, and the projects. */
const ofFrame = /\/api\/(?:personal_api_keys\/@current|projects)\/(?:\?|$)/;

/** Holds back what pages ask of the API, but not what their frame does. Returns what lets it go. */
async function holdReplies(page: Page): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const isHeld = (url: URL) => url.pathname.startsWith("/api/") && !ofFrame.test(url.href);
  const hold = async (route: Route): Promise<void> => {
    await promise;
    // A page that was left gave it up.
    await route.continue().catch(() => undefined);
  };
  await page.route(isHeld, hold);
  return async () => {
    resolve();
    await page.unroute(isHeld, hold);
  };
}
