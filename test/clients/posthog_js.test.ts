// posthog-js, as it is published, in a real browser, on a page of another origin than the server's.

import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { noBrowser, openBrowser, openSite, type Visit, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { get, metric, projectKey, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const scripts = join(import.meta.dir, "../../node_modules/posthog-js/dist");

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  browser = await openBrowser();
});

/** Settings any page may have; a headless browser is a bot to posthog-js, which it would not count. */
const settings = { opt_out_useragent_filter: true, request_queue_config: { flush_interval_ms: 250 } };

function shop(script: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title>
    <link rel="icon" href="data:,"><h1>A shop</h1>
    <p><button id="buy" class="primary">Buy now</button></p>${script}</html>`;
}

/** As an application that bundles the npm package. */
function bundled(apiKey: string, more: object = {}): string {
  const options = JSON.stringify({ api_host: server.url, ...settings, ...more });
  return shop(`<script type="module">
    import posthog from "/posthog.js";
    window.posthog = posthog;
    posthog.init("${apiKey}", ${options});
  </script>`);
}

/** As a page with the snippet, which queues calls until the server's array.js has come. */
function withSnippet(): string {
  const options = JSON.stringify({ api_host: server.url, ...settings });
  return shop(`<script>
    window.posthog = Object.assign([], {
      __SV: 1, _i: [["${projectKey}", ${options}, "posthog"]], people: [],
      capture: (...call) => window.posthog.push(["capture", ...call]),
    });
    posthog.capture("before it came", { early: true });
  </script><script async crossorigin="anonymous" src="${server.url}/static/array.js"></script>`);
}

const leave = { "/elsewhere": "<!doctype html><title>Elsewhere</title><link rel=icon href='data:,'>" };
const library = { "/posthog.js": Bun.file(join(scripts, "module.js")) };

/** A page that goes away takes its requests with it; the next one of the same site can still read these. */
const noteBeacons = `(() => {
  const send = navigator.sendBeacon.bind(navigator);
  navigator.sendBeacon = (url, body) => {
    const sent = send(url, body);
    sessionStorage.beacons = (sessionStorage.beacons ?? "") + (sent ? url.split("?")[0] : "refused") + " ";
    return sent;
  };
})()`;

/** Calls posthog on the page; its type is not known here. */
async function call(visit: Visit, method: string, ...args: unknown[]): Promise<void> {
  await visit.page.evaluate(`window.posthog.${method}(...${JSON.stringify(args)})`);
}

/** The events of one visit's page, oldest first, once there are `count`. */
async function eventsOfPage(url: string, count: number): Promise<ReadEvent[]> {
  const find = async () => {
    const events = await readEvents(server);
    return events.filter(({ properties }) => String(properties["$current_url"]).startsWith(url)).toReversed();
  };
  await until(async () => (await find()).length >= count);
  return await find();
}

inBrowser(
  "a visit is captured whole: every event once, nothing in the console, no failed request",
  async () => {
    const site = openSite({ "/": bundled(projectKey), ...library, ...leave });
    const visited = await visit(browser, `${site.url}/`);
    const { page, context, complaints, requests } = visited;
    await page.waitForFunction("window._POSTHOG_REMOTE_CONFIG && window.posthog.__loaded");
    await eventsOfPage(site.url, 1);
    await context.addInitScript(noteBeacons);
    await page.evaluate(noteBeacons);
    await page.click("#buy");
    await call(visited, "capture", "bought", { price: 12.5, name: "Zoë 🚲" });
    await call(visited, "identify", "zoe@example.com", { plan: "free" }, { first_seen: "today" });
    await eventsOfPage(site.url, 4);
    await page.reload();
    await eventsOfPage(site.url, 6);
    await page.goto(`${site.url}/elsewhere`);
    const events = await eventsOfPage(site.url, 7);

    expect(complaints).toEqual([]);
    expect(events.map(({ event }) => event).toSorted()).toEqual(
      [
        "$pageview",
        "$autocapture",
        "bought",
        "$identify",
        "$pageleave",
        "$pageview",
        "$pageleave",
      ].toSorted(),
    );
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(7);
    const byName = (name: string) => events.find(({ event }) => event === name)!;
    expect(byName("bought").properties).toMatchObject({ price: 12.5, name: "Zoë 🚲", $lib: "web" });
    expect(byName("$autocapture").properties).toMatchObject({ $event_type: "click", $el_text: "Buy now" });
    expect(byName("$autocapture").properties["$elements_chain"]).toStartWith("button.primary:");
    const anonymous = byName("bought").distinct_id;
    expect(byName("$identify").distinct_id).toBe("zoe@example.com");
    expect(byName("$identify").properties).toMatchObject({ $anon_distinct_id: anonymous });
    // One for the reload, one for going elsewhere: the page that went away could not wait for an answer.
    expect(await page.evaluate("sessionStorage.beacons")).toBe(`${server.url}/i/v0/e/ `.repeat(2));
    expect(requests).toContain("POST /i/v0/e/ fetch");
    expect(requests).toContain(`GET /array/${projectKey}/config.js script`);
  },
  300_000,
);

inBrowser(
  "the snippet loads posthog-js from the server, and calls made before it came are kept",
  async () => {
    const site = openSite({ "/": withSnippet(), ...leave });
    const { page, complaints, requests } = await visit(browser, `${site.url}/`);
    await page.waitForFunction("window.posthog.__loaded");
    await eventsOfPage(site.url, 2);
    await page.goto(`${site.url}/elsewhere`);
    const events = await eventsOfPage(site.url, 3);
    expect(complaints).toEqual([]);
    expect(events.map(({ event }) => event).toSorted()).toEqual([
      "$pageleave",
      "$pageview",
      "before it came",
    ]);
    expect(requests).toContain("GET /static/array.js script");
  },
  300_000,
);

inBrowser(
  "an application that waits for flags before it renders is called back at once: there are none",
  async () => {
    const render = `(names) => { document.title = "rendered with " + JSON.stringify(names); }`;
    const bundle = bundled(projectKey).replace("</script>", `posthog.onFeatureFlags(${render});</script>`);
    const snippet = withSnippet().replace(
      "posthog.capture(",
      `posthog.push(["onFeatureFlags", ${render}]);\n    posthog.capture(`,
    );
    for (const page of [bundle, snippet]) {
      const site = openSite({ "/": page, ...library });
      const visited = await visit(browser, `${site.url}/`);
      await visited.page.waitForFunction(`document.title === "rendered with []"`);
      expect(visited.complaints).toEqual([]);
      expect(visited.requests.filter((one) => one === "POST /flags/ fetch").length).toBe(1);
    }
  },
  300_000,
);

inBrowser(
  "the newest snippets work: the loader's bootstrap script, and one script with a project's configuration",
  async () => {
    const start = `<script>posthog.init("${projectKey}", ${JSON.stringify({ api_host: server.url, ...settings })})</script>`;
    const source = `${server.url}/static/loader-bootstrap.js`;
    const bootstrap = `<script crossorigin="anonymous" src="${source}" data-asset-host="${server.url}"></script>`;
    const whole = withSnippet().replace("/static/array.js", `/array/${projectKey}/array.js`);
    for (const page of [shop(bootstrap + start), whole]) {
      const site = openSite({ "/": page });
      const visited = await visit(browser, `${site.url}/`);
      await visited.page.waitForFunction("window.posthog.__loaded && window.posthog.version");
      const events = await eventsOfPage(site.url, 1);
      expect(events.map(({ event }) => event)).toContain("$pageview");
      expect(visited.complaints).toEqual([]);
    }
  },
  300_000,
);

inBrowser(
  "a page that asks for surveys is called back, one that opens the toolbar goes on quietly, logs are sent once",
  async () => {
    const site = openSite({ "/": bundled(projectKey, { advanced_enable_surveys: false }), ...library });
    const visited = await visit(browser, `${site.url}/`);
    const { page, complaints, requests } = visited;
    await page.waitForFunction("window._POSTHOG_REMOTE_CONFIG && window.posthog.__loaded");
    const surveys: unknown = await page.evaluate(`Promise.all([
      new Promise((done) => posthog.onSurveysLoaded((list) => done(list))),
      new Promise((done) => posthog.getActiveMatchingSurveys((list) => done(list))),
    ])`);
    expect(surveys).toEqual([[], []]);
    await page.evaluate(`posthog.toolbar.loadToolbar({ token: "${projectKey}" })`);
    await page.waitForFunction("localStorage._postHogToolbarParams === undefined && window.ph_load_toolbar");
    expect(complaints).toEqual([]);
    await page.evaluate(`posthog.captureLog({ body: "out of stock", level: "warn" })`);
    const sent = () => requests.filter((one) => one.startsWith("POST /i/v1/logs"));
    await until(async () => complaints.length > 0);
    expect(sent().length).toBe(1);
    // A browser shows the 404 in its console; nothing is blocked, and nothing else is wrong.
    expect(complaints.filter((one) => !one.includes("404"))).toEqual([]);
  },
  300_000,
);

inBrowser(
  "features a page turns on by itself find their scripts and complain of nothing",
  async () => {
    const features = {
      capture_performance: { web_vitals: true, network_timing: true },
      capture_dead_clicks: true,
      capture_exceptions: true,
      advanced_enable_surveys: true,
      capture_heatmaps: true,
    };
    const site = openSite({ "/": bundled(projectKey, features), ...library });
    const visited = await visit(browser, `${site.url}/`);
    const { page, complaints, requests } = visited;
    await page.waitForFunction("window.posthog.__loaded");
    const wanted = [
      "web-vitals-with-attribution",
      "dead-clicks-autocapture",
      "exception-autocapture",
      "surveys",
    ];
    const asked = (name: string) => requests.some((one) => one.endsWith(`/${name}.js script`));
    await until(async () => wanted.every(asked));
    await call(visited, "reloadFeatureFlags");
    await call(visited, "captureException", new Error("out of stock").message);
    const events = await eventsOfPage(site.url, 2);
    expect(events.map(({ event }) => event)).toContain("$exception");
    await until(async () => requests.includes("POST /flags/ fetch"));
    expect(complaints).toEqual([]);
  },
  300_000,
);

inBrowser(
  "a page with a wrong key is told so: it may read the refusal, and nothing is stored",
  async () => {
    const site = openSite({ "/": shop("") });
    const { page } = await visit(browser, `${site.url}/`);
    const refusal: unknown = await page.evaluate(`(async () => {
      const body = JSON.stringify({ api_key: "phc_nobodys", event: "lost", distinct_id: "x" });
      const headers = { "content-type": "application/json", "x-any-header": "1" };
      const reply = await fetch("${server.url}/e/", { method: "POST", body, headers, credentials: "include" });
      return { status: reply.status, code: (await reply.json()).code };
    })()`);
    expect(refusal).toEqual({ status: 401, code: "invalid_api_key" });
    expect(await readEvents(server, { event: "lost" })).toEqual([]);
  },
  300_000,
);

inBrowser(
  "visitors without a cookie are different persons of a day, and none of them is identified",
  async () => {
    const site = openSite({ "/": bundled(projectKey, { cookieless_mode: "always" }), ...library });
    const agents = ["first browser", "first browser", "second browser"];
    for (const [i, agent] of agents.entries()) {
      const visited = await visit(browser, `${site.url}/`, { userAgent: `Mozilla/5.0 (${agent})` });
      await visited.page.waitForFunction("window.posthog.__loaded");
      await call(visited, "capture", "looked");
      await call(visited, "identify", "nobody@example.com");
      await call(visited, "capture", "bought");
      await eventsOfPage(site.url, (i + 1) * 3);
      expect(visited.complaints).toEqual([]);
    }
    const events = await eventsOfPage(site.url, agents.length * 3);
    const ignored = 'sluice_events_ignored_total{reason="cookieless_stateless_no_identify"}';
    expect(await metric(server, ignored)).toBe(agents.length);
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(["$pageview", "looked", "bought"]));
    expect(new Set(events.map(({ distinct_id }) => distinct_id)).size).toBe(2);
    expect(new Set(events.map(({ person_id }) => person_id)).size).toBe(2);
    expect(new Set(events.map(({ properties }) => properties["$session_id"])).size).toBe(2);
    for (const { distinct_id, properties } of events) {
      expect(distinct_id).toMatch(/^cookieless_[A-Za-z0-9+/]{22}$/);
      expect(JSON.stringify(properties)).not.toContain("Mozilla/5.0");
    }
    const reply = await get(server, "/api/projects/1/persons/?distinct_id=nobody@example.com");
    expect(((await reply.json()) as { results: unknown[] }).results).toEqual([]);
  },
  300_000,
);
