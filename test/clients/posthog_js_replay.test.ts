// A session recorded by posthog-js in a real browser, read back over HTTP, and played by rrweb in another page.

import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { type Answer, ask } from "../support/ask.ts";
import { noBrowser, openBrowser, openSite, type Visit, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import { projectKey, rested, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const modules = join(import.meta.dir, "../../node_modules");
const base = "/api/environments/1/session_recordings";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  // The server itself is told within moments.
  const config = async () => (await fetch(`${server.url}/array/${projectKey}/config`)).text();
  await until(async () => (await config()).includes('"endpoint":"/s/"'));
  browser = await openBrowser();
});

function shop(): string {
  const settings = JSON.stringify({
    api_host: server.url,
    opt_out_useragent_filter: true,
    request_queue_config: { flush_interval_ms: 250 },
    session_recording: { maskAllInputs: false },
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title>
    <link rel="icon" href="data:,">
    <style>body { font: 16px sans-serif; background: #fdf6e3 } h1 { color: #268bd2 }
      button { background: #859900; color: white; padding: 12px 24px; border: 0 } li { color: #d33682 }</style>
    <h1>A shop for bicycles</h1><p><button id="add">Put a bicycle into the basket</button></p>
    <p><input id="name" placeholder="Your name"></p><ul id="basket"></ul>
    <script type="module">
      import posthog from "/posthog.js";
      window.posthog = posthog;
      document.querySelector("#add").addEventListener("click", () => {
        const item = document.createElement("li");
        item.textContent = "bicycle number " + (document.querySelectorAll("li").length + 1);
        document.querySelector("#basket").append(item);
        console.error("sold out soon");
      });
      posthog.init("${projectKey}", ${settings});
    </script></html>`;
}

/** What people do in a shop. */
async function shopFor(page: Page): Promise<void> {
  await page.mouse.move(50, 50);
  await page.mouse.move(200, 120, { steps: 20 });
  for (let n = 0; n < 3; n++) await page.click("#add");
  await page.locator("#name").pressSequentially("Zoë");
  await page.mouse.move(300, 200, { steps: 20 });
}

async function recorded(session: unknown, isWhole: (answer: Answer) => boolean): Promise<Answer> {
  const find = () => ask(server, "GET", `${base}/${String(session)}/`);
  await until(async () => {
    await rested(server);
    const answer = await find();
    return answer.status === 200 && isWhole(answer);
  });
  return await find();
}

interface RrwebEvent {
  type: number;
  timestamp: number;
}

inBrowser(
  "a visit is recorded by posthog-js as it is published, and played back as it was",
  async () => {
    const site = openSite({
      "/": shop(),
      "/posthog.js": Bun.file(join(modules, "posthog-js/dist/module.js")),
    });
    const { page, complaints, requests }: Visit = await visit(browser, `${site.url}/?from=ad`);
    await page.waitForFunction("window.posthog?.sessionRecordingStarted()");
    await shopFor(page);
    const session = await page.evaluate("window.posthog.get_session_id()");
    const answer = await recorded(session, ({ body }) => Number(body["keypress_count"]) >= 3);
    expect(complaints.filter((one) => one !== "console: sold out soon")).toEqual([]);
    expect(requests).toContain("POST /s/ fetch");
    expect(requests.filter((one) => /^GET \/static\/\S*lazy-recorder.js script$/.test(one))).toHaveLength(1);

    const recording = answer.body;
    expect(recording).toMatchObject({
      id: session,
      start_url: `${site.url}/?from=ad`,
      snapshot_source: "web",
      ongoing: true,
      console_error_count: 3,
      distinct_id: await page.evaluate("window.posthog.get_distinct_id()"),
    });
    expect(Number(recording["click_count"])).toBeGreaterThanOrEqual(3);
    expect(Number(recording["mouse_activity_count"])).toBeGreaterThan(3);
    expect(Number(recording["active_seconds"])).toBeGreaterThan(0);
    const listed = await ask(server, "GET", `${base}/`);
    expect((listed.body["results"] as { id: string }[]).map(({ id }) => id)).toEqual([String(session)]);
    expect(await readEvents(server, { event: "$snapshot" })).toEqual([]);

    const readSnapshots = () => ask(server, "GET", `${base}/${String(session)}/snapshots/`);
    // A key may be counted before the last one was sent.
    await until(async () => (await readSnapshots()).text.includes("Zoë"));
    const read = await readSnapshots();
    const [events = []] = Object.values(
      read.body["snapshot_data_by_window_id"] as Record<string, RrwebEvent[]>,
    );
    expect(events.map(({ type }) => type).slice(0, 8)).toContain(2);
    const player = await play(events);
    const played = player.mainFrame().childFrames()[0];
    expect(await played?.locator("h1").textContent()).toBe("A shop for bicycles");
    expect(await played?.locator("li").allTextContents()).toEqual([
      "bicycle number 1",
      "bicycle number 2",
      "bicycle number 3",
    ]);
    expect(await played?.locator("#name").inputValue()).toBe("Zoë");
    const shot = process.env["REPLAY_SCREENSHOT"];
    if (shot) await player.screenshot({ path: shot });
  },
  300_000,
);

/** Plays to the end in a page of its own. */
async function play(events: RrwebEvent[]): Promise<Page> {
  const site = openSite({
    "/": `<!doctype html><title>A player</title><link rel="icon" href="data:,"><h2>What was recorded</h2>
      <div id="player"></div><script src="/rrweb.js"></script>`,
    "/rrweb.js": Bun.file(join(modules, "rrweb/dist/rrweb.umd.min.cjs")),
  });
  const { page } = await visit(browser, `${site.url}/`);
  await page.waitForFunction("window.rrweb");
  await page.evaluate(`(() => {
    const events = ${JSON.stringify(events)};
    const replayer = new rrweb.Replayer(events, { root: document.querySelector("#player"), mouseTail: false });
    replayer.pause(replayer.getMetaData().totalTime);
  })()`);
  await page.waitForFunction("document.querySelector('iframe')?.contentDocument?.querySelector('li')");
  return page;
}

inBrowser(
  "a project that wants no recordings has none, and its pages ask for no recorder",
  async () => {
    const quiet = await startServer({ FLUSH_INTERVAL_MS: "50" });
    const page = shop().replaceAll(server.url, quiet.url);
    const site = openSite({ "/": page, "/posthog.js": Bun.file(join(modules, "posthog-js/dist/module.js")) });
    const visited = await visit(browser, `${site.url}/`);
    await visited.page.waitForFunction("window._POSTHOG_REMOTE_CONFIG && window.posthog.__loaded");
    await shopFor(visited.page);
    await until(async () => (await readEvents(quiet, { event: "$autocapture" })).length >= 3);
    expect(visited.requests.filter((one) => /lazy-recorder|\/s\//.test(one))).toEqual([]);
  },
  300_000,
);
