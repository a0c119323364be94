// Recordings of apps in a real browser, as PostHog's mobile recorders send them: PostHog/posthog#13269,
// PostHog/posthog-flutter#168, #144.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { post, rested, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error", CAPTURE_ACK: "stored" });
  browser = await openBrowser();
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const body = JSON.stringify(bodyOf({ session: "first", events: [event.click(Date.now())] }));
  await until(async () => (await (await post(server, "/s/", body)).text()) === '{"status":"Ok"}');
}, 600_000);

inBrowser(
  "an app's screens are drawn, and what cannot be drawn is said",
  async () => {
    const at = Date.now() - 10_000;
    const base64 =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const box = (id: number, more: object) => ({ id, x: 0, y: 0, width: 300, height: 600, ...more });
    const app = [
      event.page(at, "app://shop"),
      { type: 2, timestamp: at + 100, data: { wireframes: [box(1, { type: "screenshot", base64 })] } },
      {
        type: 3,
        timestamp: at + 200,
        data: { source: 0, adds: [{ wireframe: box(2, { type: "text", text: "Pay now" }) }] },
      },
      { type: 3, timestamp: at + 3000, data: { source: 2, type: 7, id: 2, x: 5, y: 5 } },
    ];
    const open = async (session: string, events: object[]) => {
      expect((await post(server, "/s/", JSON.stringify(bodyOf({ session, events })))).status).toBe(200);
      await rested(server);
      const path = `/api/projects/1/session_recordings/${session}/sharing/`;
      const { body } = await ask(server, "PATCH", path, { enabled: true });
      const page = await (await browser.newContext()).newPage();
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      await page.goto(`${server.url}/shared/${String(body["access_token"])}/`);
      await page.waitForSelector(".notice");
      return { page, errors };
    };
    const { page, errors } = await open("app", app);
    expect(await page.textContent(".notice")).toContain("Recorded by an app");
    const played = page.frameLocator(".stage iframe");
    await page.click("text=Play");
    await played.locator("text=Pay now").waitFor();
    const drawn = await played.locator("div").first().getAttribute("style");
    expect(drawn).toContain("data:image/png;base64,iVBORw0KGgo");
    expect(errors).toEqual([]);
    const blank = await open("blank", [
      event.page(at, "https://x.example/"),
      event.move(at + 1),
      event.click(at + 2),
    ]);
    expect(await blank.page.textContent(".notice")).toContain("The page itself was not recorded");
    expect(blank.errors).toEqual([]);
  },
  120_000,
);
