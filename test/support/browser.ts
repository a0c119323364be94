// A real browser and a web page of a test's own, on another origin than the server's: CORS is the browser's,
// nothing of it is imitated.

import { existsSync } from "node:fs";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from "playwright-core";
import { later } from "./cleanup.ts";

const chromiumPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  existsSync,
);

/** True where there is no browser to test with; never on CI, where a missing one is a failure. */
export const noBrowser = chromiumPath === undefined && !process.env["CI"];
if (noBrowser) console.log("browser tests are skipped: no chromium in /usr/bin");

export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: chromiumPath ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  later(() => browser.close());
  return browser;
}

export interface Site {
  /** Of another origin than any server's. */
  url: string;
}

/** A web site: what is at each path, HTML unless it is a file. */
export function openSite(pages: Record<string, string | Blob>): Site {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const page = pages[new URL(request.url).pathname];
      if (page === undefined) return new Response("no such page", { status: 404 });
      const type = typeof page === "string" ? "text/html; charset=utf-8" : "text/javascript; charset=utf-8";
      return new Response(page, { headers: { "content-type": type } });
    },
  });
  later(() => server.stop(true));
  // localhost and 127.0.0.1 are two sites to a browser, which is stricter than two ports.
  return { url: `http://localhost:${server.port}` };
}

export interface Visit {
  page: Page;
  context: BrowserContext;
  /** What a developer would see in red or yellow: errors, warnings, failed and refused requests. */
  complaints: string[];
  /** Every request but those to the page's own site: method, path without its query, and kind. */
  requests: string[];
}

/** How long a page may take to show what is waited for, in ms: browsers of five files share a busy machine. */
const waitMsMax = 180_000;

/** Opens `url` as a new visitor; `settings` are those of the browser. */
export async function visit(browser: Browser, url: string, settings?: BrowserContextOptions): Promise<Visit> {
  const context = await browser.newContext(settings);
  context.setDefaultTimeout(waitMsMax);
  // A hidden page continues to work.
  later(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  const home = new URL(url).origin;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
  const answered = new Set<Request>();
  page.on("requestfailed", (request) => {
    // An SDK that has its status need not read the body; a browser calls that a failure too.
    if (answered.has(request) && request.failure()?.errorText === "net::ERR_ABORTED") return;
    complaints.push(`failed: ${request.method()} ${request.url()} ${request.failure()?.errorText ?? ""}`);
  });
  page.on("response", (response) => {
    answered.add(response.request());
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
  context.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin !== home) requests.push(`${request.method()} ${pathname} ${request.resourceType()}`);
  });
  await page.goto(url);
  return { page, context, complaints, requests };
}
