import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { startMsMax } from "../../support/accounts.ts";
import { noBrowser, openBrowser } from "../../support/browser.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { personalKey, type Server, startServer } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer();
  browser = await openBrowser();
}, startMsMax);

interface Opened {
  page: Page;
  /** Addresses the page asked for. */
  asked: string[];
  /** What the browser complained of. */
  complaints: string[];
}

/** One page for each path, since a browser takes seconds of work to show all operations. */
const pages = new Map<string, Promise<Opened>>();

function opened(path: string): Promise<Opened> {
  const page = pages.get(path) ?? open(path);
  pages.set(path, page);
  return page;
}

async function open(path: string): Promise<Opened> {
  // Swagger UI draws the operations in view only: all are.
  const page = await browser.newPage({ viewport: { width: 1200, height: 16_000 } });
  page.setDefaultTimeout(120_000);
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (line) => {
    if (line.type() === "error" || line.type() === "warning") complaints.push(line.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${server.url}${path}`);
  await page.locator("#operations-Projects-projects_list").waitFor();
  return { page, asked, complaints };
}

for (const path of ["/docs", "/docs/"]) {
  test.skipIf(noBrowser)(
    `${path} shows the operations and loads nothing from elsewhere`,
    async () => {
      const { page, asked, complaints } = await opened(path);
      const shown = await page.locator(".opblock-summary-path").allInnerTexts();
      // The page breaks long paths with invisible characters.
      const paths = shown.map((text) => text.replaceAll("\u200b", ""));
      expect(paths).toEqual(
        expect.arrayContaining(["/batch/", "/api/projects/", "/api/projects/{project_id}/"]),
      );
      expect(await page.locator(".info .title").innerText()).toStartWith("Sluice");
      const elsewhere = asked.filter((url) => !url.startsWith(`${server.url}/`) && !url.startsWith("data:"));
      expect({ elsewhere, complaints }).toEqual({ elsewhere: [], complaints: [] });
    },
    startMsMax,
  );
}

test.skipIf(noBrowser)(
  "an operation can be tried with a key, from the page itself",
  async () => {
    const { page, complaints } = await opened("/docs");
    await page.locator("button.authorize").first().click();
    await page.locator(".auth-container input").fill(personalKey);
    await page.locator(".auth-btn-wrapper button.authorize").click();
    await page.locator(".auth-btn-wrapper .btn-done").click();
    const operation = page.locator("#operations-Projects-projects_list");
    await operation.locator(".opblock-summary-control").click();
    await operation.locator("button.execute").click();
    const status = operation.locator(".live-responses-table .response-col_status").last();
    await status.waitFor();
    expect(await status.innerText()).toStartWith("200");
    expect(complaints).toEqual([]);
  },
  startMsMax,
);
