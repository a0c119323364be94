// posthog-js-lite, as it is published, bundled as an application would and run in a real browser.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { noBrowser, openBrowser, openSite, visit } from "../support/browser.ts";
import { cleanUp } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import { projectKey, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  if (!noBrowser) server = await startServer({ FLUSH_INTERVAL_MS: "50" });
});

test.skipIf(noBrowser)(
  "captures, identifies, asks for flags and survives a reload without a complaint",
  async () => {
    const entry = join(import.meta.dir, "../../node_modules/posthog-js-lite/dist/index.mjs");
    const built = await Bun.build({ entrypoints: [entry], target: "browser", format: "esm" });
    const site = openSite({
      "/": `<!doctype html><meta charset="utf-8"><title>Lite</title><link rel="icon" href="data:,">
        <script type="module">
          import { PostHog } from "/lite.js";
          window.posthog = new PostHog("${projectKey}", { host: "${server.url}", flushInterval: 100 });
          window.posthog.capture("opened", { name: "Zoë 🚲" });
        </script>`,
      "/lite.js": built.outputs[0]!,
    });
    const { page, complaints, requests } = await visit(await openBrowser(), `${site.url}/`);
    const stored = async () => (await readEvents(server)).map(({ event }) => event).toSorted();
    await until(async () => (await stored()).length === 1);
    await page.evaluate(`posthog.identify("zoe@example.com", { $set: { plan: "free" } })`);
    await until(async () => (await stored()).length === 2);
    await page.reload();
    await until(async () => (await stored()).length >= 3);
    expect(await stored()).toEqual(["$identify", "opened", "opened"]);
    const [first, second] = await readEvents(server, { event: "opened" });
    expect(first?.properties).toMatchObject({ name: "Zoë 🚲", $lib: "js" });
    expect(first?.distinct_id).toBe("zoe@example.com");
    expect(second?.distinct_id).not.toBe("zoe@example.com");
    await until(async () => requests.includes("POST /flags/ fetch"));
    expect(complaints).toEqual([]);
  },
  300_000,
);
