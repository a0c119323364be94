// Persons, groups and recordings: what their pages say against what was sent, and the ways between them.

import { beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfLooks, seriousOf, settled, signedIn } from "../support/console.ts";
import { bodyOf, event as recorded } from "../support/recordings.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;

let server: Server;
let browser: Browser;

/** Of zoe's recording, which began an hour ago. */
const began = Date.now() - 3_600_000;
const own = Object.fromEntries(
  Array.from({ length: 20 }, (_, i) => [`trait ${String(i).padStart(2, "0")}`, i]),
);
const session = { $session_id: "s-zoe", $current_url: "https://shop.example/tea?x=1" };
const zoes = [
  { event: "$pageview", properties: { ...session, empty: null, $set: { ...own, name: "Zoe", gone: null } } },
  { event: "$autocapture", properties: { ...session, $event_type: "click", $el_text: "Buy now" } },
  { event: "bought", properties: { ...session, $groups: { company: "it’s 'acme'" } } },
];
const named = { $group_type: "company", $group_key: "it’s 'acme'", $group_set: { plan: "gold" } };
const others = ["bob", "eve", "bob"].map((distinct_id) => ({
  event: "bought",
  distinct_id,
  timestamp: new Date(began).toISOString(),
  properties: { $groups: { company: distinct_id === "bob" ? "it’s 'acme'" : "other" } },
}));

const element = (id: number, tagName: string, attributes: object, ...childNodes: object[]) => ({
  type: 2,
  id,
  tagName,
  attributes,
  childNodes,
});
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A page with a canvas and images of elsewhere, what its console said and what it requested. */
function recordingOf(at: number, href: string, seconds: number): object[] {
  const body = element(
    6,
    "body",
    {},
    element(7, "canvas", { width: 80, height: 60 }),
    element(8, "img", { src: "https://cdn.example/recorded.png" }),
    element(9, "link", { rel: "stylesheet", href: "https://cdn.example/recorded.css" }),
  );
  const html = element(3, "html", {}, element(4, "head", {}), body);
  const node = { type: 0, id: 1, childNodes: [{ type: 1, id: 2, name: "html" }, html] };
  const bitmap = {
    rr_type: "ImageBitmap",
    args: [{ rr_type: "Blob", data: [{ rr_type: "ArrayBuffer", base64: picture }], type: "image/png" }],
  };
  const requests = [
    { name: "https://shop.example/api", method: "POST", responseStatus: 503, timestamp: at + 3000 },
  ];
  const plugin = (after: number, name: string, payload: object) => ({
    type: 6,
    timestamp: at + after,
    data: { plugin: name, payload },
  });
  return [
    recorded.page(at, href),
    { type: 2, timestamp: at + 10, data: { node, initialOffset: { left: 0, top: 0 } } },
    plugin(2000, "rrweb/console@1", { level: "error", trace: [], payload: ['"out of tea"'] }),
    plugin(3000, "rrweb/network@1", { requests }),
    {
      type: 3,
      timestamp: at + 4000,
      data: { source: 9, id: 7, type: 0, commands: [{ property: "drawImage", args: [bitmap, 0, 0] }] },
    },
    recorded.click(at + seconds * 1000),
  ];
}

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  const timestamp = new Date(began).toISOString();
  const batch = [
    ...zoes.map((one) => ({ ...one, distinct_id: "zoe", timestamp })),
    ...others,
    { event: "$groupidentify", distinct_id: "bob", timestamp, properties: named },
  ];
  await post(server, "/batch/", { api_key: projectKey, batch });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const pieces = bodyOf(
    { session: "s-zoe", distinct_id: "zoe", events: recordingOf(began, "https://shop.example/tea", 120) },
    {
      session: "s-bob",
      distinct_id: "bob",
      events: recordingOf(began - 172_800_000, "https://shop.example/", 5),
    },
  );
  await until(async () => (await (await post(server, "/s/", pieces)).text()) === '{"status":"Ok"}');
  await rested(server);
}, msMax);

async function opened(address: string): Promise<Page> {
  const { page } = await signedIn(browser, server, address);
  await settled(page);
  return page;
}

async function personOf(distinct_id: string): Promise<string> {
  const { body } = await ask(server, "GET", `/api/projects/1/persons/?distinct_id=${distinct_id}`);
  return (body["results"] as { uuid: string }[])[0]!.uuid;
}

inBrowser(
  "a person's page shows what is known, and leads to sessions, recordings and back",
  async () => {
    const page = await opened(`persons/${await personOf("zoe")}`);
    const properties = page.locator("section.card", {
      has: page.getByRole("heading", { name: "Properties" }),
    });
    const names = async () => await properties.locator(".name").allInnerTexts();
    // Of 21 traits 15 are shown first; the one without a value is none.
    expect(await names()).toHaveLength(15);
    await properties.getByRole("button", { name: "6 more properties" }).press("Enter");
    expect((await names()).toSorted()).toEqual([...Object.keys(own), "name"].toSorted());
    await properties.getByRole("button", { name: "Fewer properties" }).waitFor();

    const events = page.locator(".events .event");
    await events.nth(2).waitFor();
    expect((await events.locator("> span:first-child").allInnerTexts()).toSorted()).toEqual([
      "$autocapture click on “Buy now”",
      "$pageview shop.example/tea",
      "bought",
    ]);
    const day = { year: "numeric", month: "short", day: "numeric" } as const;
    const exact = new Date(began).toLocaleDateString("en-US", day);
    expect(await events.first().locator("time").getAttribute("title")).toStartWith(exact);
    await events.filter({ hasText: "$pageview" }).click();
    await page.getByRole("link", { name: "s-zoe, recorded" }).waitFor();
    expect(await page.locator(".opened .name").allInnerTexts()).not.toContain("empty");

    const session = page.getByRole("group", { name: "Sessions" }).locator("tbody tr");
    expect((await session.locator("td").allInnerTexts()).slice(1)).toEqual([
      "https://shop.example/tea?x=1",
      "0 s",
      "1",
      "3",
    ]);
    await session.getByRole("link").click();
    await page.getByRole("heading", { name: "Recording of Zoe" }).waitFor();
    await page.getByRole("link", { name: "The person", exact: true }).click();
    await page.getByRole("heading", { name: "Zoe", exact: true }).waitFor();
    await page.getByRole("link", { name: "Recordings", exact: true }).last().click();
    await page.getByText("Recordings of one person only.").waitFor();
    await page.locator("tbody tr").first().waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.locator("tbody tr").nth(1).waitFor();
  },
  msMax,
);

inBrowser(
  "a group's page has its properties, its events, and everybody in it",
  async () => {
    const page = await opened("groups");
    await page.getByRole("link", { name: "it’s 'acme'" }).click();
    await page.getByRole("heading", { name: "it’s 'acme'" }).waitFor();
    await page.locator(".events .event").first().waitFor();
    expect(await page.locator(".leaf").allInnerTexts()).toEqual(["plan gold"]);
    expect(await page.locator(".events .event").count()).toBe(4);
    await page.getByRole("link", { name: "The persons in this group" }).click();
    await page.getByText("2 persons", { exact: true }).waitFor();
    expect((await page.locator("tbody td:first-child").allInnerTexts()).toSorted()).toEqual(["Zoe", "bob"]);
  },
  msMax,
);

inBrowser(
  "a list that a busy server refuses is asked for again by its page",
  async () => {
    const page = await opened("start");
    let refused = 0;
    await page.route(/session_recordings\//, async (route) => {
      if (refused++ > 1) return await route.continue();
      const json = { type: "server_error", code: "unavailable", detail: "Busy. Please retry.", attr: null };
      await route.fulfill({ status: 503, json });
    });
    await page.getByRole("link", { name: "Recordings", exact: true }).click();
    await page.getByText("Busy. Please retry.").waitFor();
    await page.locator("tbody tr").nth(1).waitFor();
    expect(await page.getByText("Busy. Please retry.").count()).toBe(0);
  },
  msMax,
);

inBrowser(
  "a list that a busy server refuses for long has a button that asks now, and says meanwhile that it waits",
  async () => {
    const page = await opened("start");
    const { promise, resolve } = Promise.withResolvers<void>();
    let isBusy = true;
    await page.route(/session_recordings\//, async (route) => {
      if (!isBusy) {
        await promise;
        return await route.continue();
      }
      const json = { type: "server_error", code: "unavailable", detail: "Busy. Please retry.", attr: null };
      await route.fulfill({ status: 503, json, headers: { "retry-after": "3600" } });
    });
    await page.getByRole("link", { name: "Recordings", exact: true }).click();
    const again = page.getByRole("button", { name: "Ask again now" });
    await again.waitFor();
    isBusy = false;
    await again.click();
    await page.getByText("Waiting for its turn").waitFor();
    resolve();
    await page.locator("tbody tr").nth(1).waitFor();
    expect(await again.count()).toBe(0);
  },
  msMax,
);

inBrowser(
  "recordings are found by person, length, page, event and day, and the address keeps what was asked",
  async () => {
    const page = await opened("recordings");
    const found = async () => await page.locator("tbody td:nth-child(2)").allInnerTexts();
    await page.locator("tbody tr").nth(1).waitFor();
    expect(await found()).toEqual(["Zoe", "bob"]);
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    for (const [label, value] of [
      ["Person’s name or e-mail address", "zo"],
      ["A page’s address contains", "/tea"],
      ["With the event", "$autocapture"],
      ["From the day", day(began - 86_400_000)],
    ]) {
      const field = page.getByLabel(label!, { exact: true });
      if (!(await field.isVisible())) await page.getByText("More filters").click();
      await field.fill(value!);
      await page.getByRole("button", { name: "Show" }).click();
      await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
      expect([label, await found()]).toEqual([label, ["Zoe"]]);
      await page.reload();
      await page.locator("tbody tr").first().waitFor();
      expect([label, await found()]).toEqual([label, ["Zoe"]]);
      expect(await page.getByLabel(label!, { exact: true }).inputValue()).toBe(value!);
      await page.goBack();
      await page.locator("tbody tr").nth(1).waitFor();
      expect(await page.getByLabel(label!, { exact: true }).inputValue()).toBe("");
    }
    await page.getByLabel("Length").selectOption("60");
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    expect(await found()).toEqual(["Zoe"]);
    await page.goto(`${server.url}/#/1/recordings?to=${day(began - 172_800_000)}`);
    await page.getByText("bob").waitFor();
    expect(await found()).toEqual(["bob"]);
  },
  msMax,
);

inBrowser(
  "a recording begins at the time of its link, obeys keys, and shows console, requests, canvas and what is missing",
  async () => {
    const { page, complaints } = await signedIn(browser, server, "recordings/s-zoe?t=60");
    await settled(page);
    const player = page.frameLocator("iframe.player");
    await player.getByText("1 min 0 s of 2 min 0 s").waitFor();
    await player.getByText("1 image and 1 style sheet of cdn.example.").waitFor();
    const canvas = player.frameLocator("iframe").locator("canvas");
    expect(await canvas.getAttribute("style")).toContain(picture);
    expect((await canvas.boundingBox())!.width).toBeGreaterThan(10);

    await page.getByRole("button", { name: "Console (1)" }).click();
    await page.getByRole("button", { name: /error out of tea/ }).click();
    await player.getByText("2 s of 2 min 0 s").waitFor();
    await page.waitForURL(/\?t=2$/);
    await page.getByRole("button", { name: "Network (1)" }).click();
    await page.getByRole("button", { name: "POST 503 https://shop.example/api" }).waitFor();

    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("ArrowRight");
    await player.getByText("7 s of 2 min 0 s").waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(/\?t=2$/);
    await page.keyboard.press(" ");
    await player.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press(" ");
    await player.getByRole("button", { name: "Play" }).waitFor();
    expect(seriousOf(complaints)).toEqual([]);
  },
  msMax,
);

inBrowser(
  "hosts that the project names are loaded, without credentials and referrer, and no others",
  async () => {
    const hosts = async (names: string[]) =>
      await ask(server, "PATCH", "/api/projects/1/", { session_recording_load_hosts: names });
    expect((await hosts(["127.0.0.1"])).body).toMatchObject({ attr: "session_recording_load_hosts__0" });
    expect((await hosts(["cdn.example"])).status).toBe(200);
    const { page, context } = await signedIn(browser, server, "projects");
    await settled(page);
    const field = page.getByLabel("Hosts that recordings load images and styles from");
    expect(await field.inputValue()).toBe("cdn.example");
    // Names that end in `.example` are nowhere: requests are made, and find nobody.
    const made: Promise<[string, string | undefined]>[] = [];
    context.on("requestfailed", (request) => {
      made.push(request.headerValue("referer").then((referrer) => [request.url(), referrer || undefined]));
    });
    await page.goto(`${server.url}/#/1/recordings/s-zoe`);
    const player = page.frameLocator("iframe.player");
    await player.frameLocator("iframe").locator("img").waitFor({ state: "attached" });
    await until(async () => made.length >= 2);
    expect(new Map(await Promise.all(made))).toEqual(
      new Map([
        ["https://cdn.example/recorded.png", undefined],
        ["https://cdn.example/recorded.css", undefined],
      ]),
    );
    const asked = "load=cdn.example&load=10.0.0.1&load=a.example%3B%20script-src%20*";
    const { headers } = await fetch(`${server.url}/console/player?${asked}`);
    expect(headers.get("cross-origin-embedder-policy")).toBe("credentialless");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    const policy = headers.get("content-security-policy")!.split("; ");
    expect(policy.filter((one) => one.includes("https://"))).toEqual([
      "style-src 'self' 'unsafe-inline' https://cdn.example",
      "img-src 'self' data: blob: https://cdn.example",
    ]);
    expect(policy).toContain("script-src 'self'");
    expect(await player.getByText("Not loaded from elsewhere").count()).toBe(0);
    await hosts([]);
  },
  msMax,
);

inBrowser(
  "the pages of a person, a group, recordings and one recording look right",
  async () => {
    const faults: string[] = [];
    for (const [name, address, wanted] of [
      ["person", `persons/${await personOf("zoe")}`, "more properties"],
      ["group", `groups/company/${encodeURIComponent("it’s 'acme'")}`, "The persons in this group"],
      ["recordings", "recordings", "Zoe"],
      ["recording", "recordings/s-zoe", "Console (1)"],
    ] as const) {
      const ready = async (page: Page) => {
        await page.getByText(wanted).first().waitFor();
        if (name === "recording") await page.getByText(wanted).click();
      };
      faults.push(...(await faultsOfLooks(browser, server, name, address, ready)));
    }
    expect(faults).toEqual([]);
  },
  msMax,
);
