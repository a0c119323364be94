// Recordings in a real browser: of apps, as PostHog's mobile recorders send them (PostHog/posthog#13269,
// PostHog/posthog-flutter#168, #144), and what public threads say trips players. Inputs are our own.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ask } from "../support/ask.ts";
import { allFindings } from "../support/axe.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { signedIn } from "../support/console.ts";
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

async function share(session: string): Promise<string> {
  const path = `/api/projects/1/session_recordings/${session}/sharing/`;
  return String((await ask(server, "PATCH", path, { enabled: true })).body["access_token"]);
}

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
      const page = await (await browser.newContext()).newPage();
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      await page.goto(`${server.url}/shared/${await share(session)}/`);
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
    expect([await allFindings(page), await allFindings(blank.page)]).toEqual([[], []]);
    for (const [session, notice] of [
      ["app", "Recorded by an app"],
      ["blank", "The page itself was not recorded"],
    ] as const) {
      const visited = await signedIn(browser, server, `recordings/${session}`);
      const player = visited.page.frameLocator("iframe.player");
      await player.getByText(notice).waitFor();
      await player.getByRole("button", { name: "Play" }).click();
      expect([session, await allFindings(visited.page)]).toEqual([session, []]);
    }
  },
  300_000,
);

// PostHog/posthog#63270, #90545, #14064: a page of nine megabytes was blank without a word, and pieces came out of order.
inBrowser(
  "what a player does not get is said, and pieces are played in their order",
  async () => {
    const at = Date.now() - 20_000;
    const page = (text: string) => {
      const body = {
        type: 2,
        id: 3,
        tagName: "body",
        attributes: {},
        childNodes: [{ type: 3, id: 4, textContent: text }],
      };
      const html = { type: 2, id: 2, tagName: "html", attributes: {}, childNodes: [body] };
      return { node: { type: 0, id: 1, childNodes: [html] }, initialOffset: { left: 0, top: 0 } };
    };
    const first = [event.page(at, "https://x.example/"), { type: 2, timestamp: at + 1, data: page("Order") }];
    const send = async (session: string, ...pieces: object[][]) => {
      for (const events of pieces)
        expect((await post(server, "/s/", JSON.stringify(bodyOf({ session, events })))).status).toBe(200);
      await rested(server);
    };
    await send("turned", [event.click(at + 3000)], [event.move(at + 1500)], first);
    await send("huge", [
      event.page(at, "https://x.example/"),
      { type: 2, timestamp: at + 1, data: page("x".repeat(9 * 2 ** 20)) },
      event.click(at + 9000),
    ]);
    for (const [session, text] of [
      ["turned", "Order"],
      ["huge", ""],
    ] as const) {
      const visited = await signedIn(browser, server, `recordings/${session}`);
      const player = visited.page.frameLocator("iframe.player");
      await player.getByRole("button", { name: "Play" }).click();
      if (text === "") await player.getByText("9.4 MB are left out").waitFor();
      else await player.frameLocator(".stage iframe").getByText(text).waitFor({ state: "attached" });
      expect([session, await allFindings(visited.page)]).toEqual([session, []]);
    }
    // A page that is still open goes on to send: nobody sees it.
    expect((await ask(server, "DELETE", "/api/projects/1/session_recordings/turned/")).status).toBe(204);
    await send("turned", [event.click(at + 5000)]);
    const late = await ask(
      server,
      "GET",
      "/api/projects/1/session_recordings/turned/snapshots/?source=blob_v2",
    );
    expect(late.status).toBe(404);
    const gone = await signedIn(browser, server, "recordings/turned");
    await gone.page.getByText("Recording not found").first().waitFor();
  },
  300_000,
);

const node = (id: number, tagName: string, attributes: object = {}, childNodes: object[] = []) => ({
  type: 2,
  id,
  tagName,
  attributes,
  childNodes,
});
const text = (id: number, textContent: string) => ({ type: 3, id, textContent });
const whole = (timestamp: number, body: object[] = []) => {
  const html = node(2, "html", {}, [node(3, "head"), node(4, "body", {}, body)]);
  const data = { node: { type: 0, id: 1, childNodes: [html] }, initialOffset: { left: 0, top: 0 } };
  return { type: 2, timestamp, data };
};
const change = (timestamp: number, data: object) => ({ type: 3, timestamp, data });
const mutate = (timestamp: number, { adds = [], removes = [], attributes = [] }: Record<string, object[]>) =>
  change(timestamp, { source: 0, texts: [], attributes, removes, adds });
const append = (timestamp: number, parentId: number, added: object) =>
  mutate(timestamp, { adds: [{ parentId, nextId: null, node: added }] });
const custom = (timestamp: number, tag: string, payload: object = {}) => ({
  type: 5,
  timestamp,
  data: { tag, payload },
});

/** Events between the beginning and the end of a recording, from `at` on; with `begins`, also those that begin it. */
const cases: [source: string, make: (at: number) => object[], begins?: true][] = [
  ["PostHog/posthog#88616", (at) => [{ type: 6, timestamp: at, data: { plugin: "rrweb/console@1" } }]],
  [
    "PostHog/posthog-js#4509",
    (at) => [append(at, 900, node(901, "p")), mutate(at, { removes: [{ id: 902, parentId: 900 }] })],
  ],
  [
    "rrweb-io/rrweb#1414",
    (at) => [append(at, 3, node(20, "meta")), append(at, 20, { type: 0, id: 21, childNodes: [] })],
  ],
  [
    "rrweb-io/rrweb#1410",
    (at) => [
      append(at, 4, { ...node(20, "ul", {}, [{ ...node(21, "li"), isShadow: true }]), isShadowHost: true }),
    ],
  ],
  [
    "PostHog/posthog-js#4435",
    (at) => [
      change(at, {
        source: 15,
        id: 20,
        styles: [{ styleId: 1, rules: [{ rule: "p { color: red }" }] }],
        styleIds: [1],
      }),
    ],
  ],
  [
    "rrweb-io/rrweb#1720",
    (at) => [
      append(at, 4, node(20, "iframe")),
      mutate(at + 1, {
        adds: [{ parentId: 20, nextId: null, node: { type: 0, id: 21, childNodes: [node(22, "html")] } }],
      }),
      whole(at + 50),
    ],
  ],
  [
    "PostHog/posthog#100193",
    (at) => [
      append(at, 4, node(20, "canvas", { width: 9, height: 9 })),
      change(at + 1, {
        source: 9,
        id: 20,
        type: 0,
        commands: [
          { property: "fillRect", args: [0, 0, 5, 5] },
          { property: "gone", args: [] },
        ],
      }),
    ],
  ],
  [
    "rrweb-io/rrweb#190",
    (at) => [append(at - 90, 4, node(20, "p")), event.page(at - 50, "https://x.example/"), whole(at - 49)],
    true,
  ],
  [
    "rrweb-io/rrweb#1316",
    (at) => [
      append(at, 4, node(20, "video", { src: "https://x.example/a.mp4" })),
      change(at + 1, { source: 7, id: 20, type: 0, currentTime: 3 }),
      change(at + 2, { source: 7, id: 20, type: 2, currentTime: 900 }),
    ],
  ],
  [
    "rrweb-io/rrweb#525",
    (at) => [
      append(at, 3, node(20, "style", {}, [text(21, "")])),
      change(at + 1, { source: 8, id: 20, adds: [{ rule: "p { color: red }", index: 7 }, { rule: "}{" }] }),
      change(at + 2, { source: 8, id: 900, removes: [{ index: 3 }] }),
    ],
  ],
  [
    "rrweb-io/rrweb#365",
    (at) => [
      append(at, 4, node(20, "p", { "@click": "go", "{{x}}": "", "<": "1" })),
      mutate(at + 1, { attributes: [{ id: 20, attributes: { "@x": "1", class: null } }] }),
    ],
  ],
  [
    "PostHog/posthog-js#4588",
    (at) => [
      custom(at - 97 * 60_000, "sessionIdle"),
      event.page(at - 50, "https://x.example/"),
      whole(at - 49),
    ],
    true,
  ],
];

inBrowser(
  "what trips other players is played to its end",
  async () => {
    const at = Date.now() - 10_000;
    const sessions = cases.map(() => Bun.randomUUIDv7("hex", at - 60));
    const pieces = cases.map(([, make, begins], i) => {
      const first = begins ? [] : [event.page(at - 50, "https://x.example/"), whole(at - 49)];
      const end = [node(950, "p"), text(951, "the end")].map((added, nth) => ({
        parentId: nth === 0 ? 4 : 950,
        nextId: null,
        node: added,
      }));
      const last = [mutate(at + 400, { adds: end }), event.move(at + 450)];
      return { session: sessions[i]!, events: [...first, ...make(at), ...last] };
    });
    expect((await post(server, "/s/", JSON.stringify(bodyOf(...pieces)))).status).toBe(200);
    const context = await browser.newContext();
    const play = async ([source]: (typeof cases)[number], i: number) => {
      const page = await context.newPage();
      const errors: string[] = [];
      // A recorded video is never loaded.
      const isKnown = (message: string) => message.includes("no supported source");
      page.on("pageerror", ({ message }) => void (isKnown(message) || errors.push(message)));
      await page.goto(`${server.url}/shared/${await share(sessions[i]!)}/`);
      await page.click("text=Play");
      const end = page.frameLocator(".stage iframe").locator("text=the end");
      await end.waitFor({ timeout: 30_000, state: "attached" }).catch(() => errors.push("does not end"));
      const length = await page
        .locator("p.quiet")
        .last()
        .textContent({ timeout: 2000 })
        .catch(() => "");
      await page.close();
      return [source, errors, length?.includes(" of 1 s ")];
    };
    const found = await Promise.all(cases.map(play));
    expect(found).toEqual(cases.map(([source]) => [source, [], true]));
  },
  300_000,
);
