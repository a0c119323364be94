// A recording made against whoever plays it: nothing of it runs, leaves the player, or asks another host.

import { beforeAll, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import type { Browser } from "playwright-core";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import { givePassword } from "../support/people.ts";
import { bodyOf } from "../support/recordings.ts";
import { personalKey, post, rested, type Server, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 600_000;
const right = "correct horse battery";

let server: Server;
let browser: Browser;
let owner: string;

beforeAll(async () => {
  if (noBrowser) return;
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  browser = await openBrowser();
  owner = await givePassword(server, personalKey, right);
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
}, msMax);

let ids = 10;
const text = (textContent: string, isStyle = false) => ({ type: 3, id: ++ids, textContent, isStyle });
const node = (tagName: string, attributes: object = {}, childNodes: object[] = []) => ({
  type: 2,
  id: ++ids,
  tagName,
  attributes,
  childNodes,
});

/** Elements that would send a request to `host`, or run `ran()`, in a page without protection. */
function hostileNodes(host: string) {
  const run = `parent.ran = top.ran = window.ran = 1; fetch("${host}/script"); alert(1)`;
  const page = `<script>${run}</script><img src="${host}/inner.png">`;
  return [
    node("script", { src: `${host}/a.js` }),
    node("script", {}, [text(run)]),
    node("NOSCRIPT", {}, [node("img", { src: `${host}/noscript.png`, onerror: run })]),
    node("img", { src: `${host}/a.png`, srcset: `${host}/set.png 1x`, onerror: run, onload: run }),
    node("img", { src: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>" }),
    node("img", { rr_dataURL: `${host}/canvas.png`, src: "x:", onerror: run }),
    node("canvas", { rr_dataURL: `${host}/canvas2.png` }),
    node("iframe", { src: `${host}/frame` }),
    node("iframe", { src: `javascript:${run}` }),
    node("iframe", { src: `data:text/html,${encodeURIComponent(page)}` }),
    node("iframe", { srcdoc: page, sandbox: "allow-scripts allow-same-origin allow-top-navigation" }),
    node("frame", { src: `${host}/frame2` }),
    node("object", { data: `${host}/object`, type: "text/html" }),
    node("embed", { src: `${host}/embed`, type: "text/html" }),
    node("link", { rel: "stylesheet", href: `${host}/a.css` }),
    node("link", { rel: "preconnect", href: host }),
    node("link", { REL: "preconnect", href: host }),
    node("LINK", { rel: "stylesheet", Rel: "preconnect", href: host }),
    node("IFRAME", { SRC: `${host}/frame3` }),
    node("iframe", { srcdoc: `<link rel="preconnect" href="${host}"><iframe src="${host}/inner"></iframe>` }),
    node("link", { rel: "dns-prefetch", href: host }),
    node("link", { rel: "modulepreload", href: `${host}/module.js` }),
    node("link", { rel: "prefetch", href: `${host}/prefetch` }),
    node("link", { rel: "manifest", href: `${host}/manifest` }),
    node("link", { rel: "icon", href: `${host}/icon.png` }),
    node("link", {
      _cssText: `@import "${host}/css-text.css"; body { background: url(${host}/css-text.png) }`,
    }),
    node("meta", { "http-equiv": "refresh", content: `0;url=${host}/refresh` }),
    node("meta", { "http-equiv": "Content-Security-Policy", content: "default-src * 'unsafe-inline'" }),
    node("base", { href: `${host}/`, target: "_top" }),
    node("style", {}, [
      text(`@import url(${host}/import.css); @font-face { font-family: f; src: url(${host}/f.woff) }`, true),
    ]),
    node("style", {
      _cssText: `* { background: image-set("${host}/set.png" 1x); cursor: url(${host}/cursor.cur), auto }`,
    }),
    node("p", { style: `background:url(${host}/style.png);font-family:f`, onclick: run, autofocus: "" }, [
      text("words"),
    ]),
    node("video", { src: `${host}/a.mp4`, poster: `${host}/poster.png`, autoplay: "" }),
    node("audio", { src: `${host}/a.mp3`, autoplay: "" }, [node("source", { src: `${host}/b.mp3` })]),
    node("form", { action: `${host}/form`, target: "_top" }, [
      node("button", { formaction: `javascript:${run}` }),
    ]),
    node("a", { href: `javascript:${run}`, ping: `${host}/ping`, target: "_top" }, [text("a link")]),
    node("svg", { onload: run }, [
      node("image", { href: `${host}/svg.png`, "xlink:href": `${host}/xlink.png` }),
      node("use", { href: `${host}/sprite.svg#a` }),
      node("script", { href: `${host}/svg.js` }, [text(run)]),
      node("foreignObject", {}, [node("iframe", { srcdoc: page })]),
    ]),
    node("template", { shadowrootmode: "open" }, [node("script", {}, [text(run)])]),
    node("x-y", { is: "script", background: `${host}/background.png` }),
    node("td", { background: `${host}/td.png` }),
    node("input", { type: "image", src: `${host}/input.png` }),
    node("details", { ontoggle: run, open: "" }),
  ];
}

/** Other hosts, one for each vector, and what connected to them: an address or the first line of a request. */
async function openForeign() {
  const asked: string[] = [];
  const host = createServer((socket) => {
    const i = asked.push(String(socket.localAddress)) - 1;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      asked[i] = bytes.toString("latin1").split("\r\n", 1)[0]!;
      socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => host.listen(0, "0.0.0.0", resolve));
  later(() => host.close());
  const { port } = host.address() as AddressInfo;
  return { urlOf: (vector: number) => `http://127.0.1.${vector}:${port}`, asked };
}

inBrowser(
  "a hostile recording runs no script, asks no other host and opens nothing; numbers beyond measure stop nothing",
  async () => {
    const site = await openForeign();
    const url = site.urlOf(250);
    const linked = `<link rel="preconnect" href="${url}">`;
    const vectors = hostileNodes("").map((_, i) => hostileNodes(site.urlOf(i + 1))[i]!);
    const at = Date.now();
    const document = (more: object[]) => ({
      type: 0,
      id: 1,
      childNodes: [
        node("html", { onclick: "top.ran = 1" }, [
          node("head", {}, []),
          node("body", { onload: "top.ran = 1" }, more),
        ]),
      ],
    });
    const huge = 1e308;
    const change = (data: object) => ({ type: 3, timestamp: at + 200, data });
    const events = [
      { type: 4, timestamp: at, data: { href: `javascript:top.ran=1`, width: huge, height: -huge } },
      {
        type: 2,
        timestamp: at + 10,
        data: { node: document(vectors), initialOffset: { left: huge, top: -huge } },
      },
      change({
        source: 0,
        adds: [{ parentId: 1e300, nextId: null, node: node("script", {}, [text("top.ran = 1")]) }],
        removes: [{ id: huge, parentId: -1 }],
        texts: [{ id: 1, value: "x" }],
        attributes: [
          {
            id: 12,
            attributes: {
              src: `${url}/later.png`,
              onerror: "top.ran=1",
              style: { background: `url(${url}/later-style.png)` },
            },
          },
        ],
      }),
      change({
        source: 0,
        adds: [],
        removes: [],
        texts: [],
        attributes: vectors.map(({ id }) => ({
          id,
          attributes: { src: `${url}/s`, srcdoc: linked, Rel: "preconnect" },
        })),
      }),
      change({ source: 1, positions: [{ x: huge, y: huge, id: 1e300, timeOffset: -huge }] }),
      change({ source: 3, id: 1, x: huge, y: -huge }),
      change({ source: 4, width: huge, height: huge }),
      change({
        source: 8,
        id: 12,
        adds: [{ rule: `* { background: url(${url}/rule.png) }`, index: huge }],
      }),
      change({
        source: 9,
        id: 12,
        type: 0,
        property: "constructor",
        args: [`top.ran = 1`],
        commands: [{ property: "__proto__", args: [] }],
      }),
      change({ source: 10, family: "f", buffer: false, fontSource: `url(${url}/font.woff)` }),
      change({
        source: 15,
        id: 12,
        styles: [{ styleId: 1, rules: [{ rule: `@import "${url}/adopted.css"` }] }],
        styleIds: [1, huge],
      }),
      {
        type: 6,
        timestamp: at + 300,
        data: {
          plugin: "rrweb/console@1",
          payload: { level: "__proto__", trace: [], payload: ['"<img src=x onerror=top.ran=1>"'] },
        },
      },
      {
        type: 6,
        timestamp: at + 300,
        data: {
          plugin: "rrweb/network@1",
          payload: {
            requests: [
              { name: `javascript:top.ran=1`, method: "<b>", status: huge, duration: -huge, timestamp: huge },
            ],
          },
        },
      },
      {
        type: 5,
        timestamp: at + 300,
        data: { tag: "<script>top.ran=1</script>", payload: { __proto__: null } },
      },
      { type: 1e300, timestamp: at + 400, data: null },
      change({ source: 2, type: 2, id: 12, x: huge, y: huge }),
      { type: 3, timestamp: at + 3000, data: { source: 2, type: 2, id: 12, x: 1, y: 1 } },
    ];
    const send = async (session: string, piece: object[]) => {
      const pieces = bodyOf({ session, events: piece });
      await until(async () => (await (await post(server, "/s/", pieces)).text()) === '{"status":"Ok"}');
    };
    await send("s-hostile", events);
    await send("s-endless", [
      ...events.slice(0, 2),
      { type: 3, timestamp: 1e15, data: { source: 2, type: 2, id: 1 } },
    ]);
    await rested(server);
    const { page, context } = await visit(browser, `${server.url}/`);
    const opened: string[] = [];
    context.on("page", (other) => void opened.push(other.url()));
    page.on("dialog", (dialog) => {
      opened.push(dialog.message());
      void dialog.dismiss();
    });
    await page.getByLabel("E-mail address").fill(owner);
    await page.getByLabel("Password").fill(right);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages of the console" }).waitFor();
    for (const session of ["s-hostile", "s-endless"]) {
      await page.goto(`${server.url}/#/1/recordings/${session}`);
      const player = page.frameLocator("iframe");
      await player.getByRole("button", { name: "Play" }).click();
      // It plays: to its end, or beyond the first seconds of one without an end.
      await player.getByText(session === "s-hostile" ? "3 s of 3 s" : /^[1-9]\d* s of \d+/).waitFor();
      const picture = player.frameLocator("iframe").getByText("words");
      expect((await picture.boundingBox())?.width ?? 0).toBeGreaterThan(0);
      expect(await page.evaluate("window.ran")).toBeUndefined();
      expect([site.asked, opened]).toEqual([[], []]);
    }
    await fetch(`${url}/seen`);
    expect(site.asked).toEqual(["GET /seen HTTP/1.1"]);
    // The console still works.
    await page.getByRole("link", { name: "Insights" }).click();
    await page.getByRole("heading", { name: "Insights" }).waitFor();
  },
  msMax,
);
