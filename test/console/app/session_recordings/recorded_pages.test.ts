import { expect, test } from "bun:test";
import {
  canvasPicture,
  externalIn,
  isPicture,
  removeRequests,
} from "../../../../src/console/app/session_recordings/recorded_pages.ts";
import type { RecordedEvent } from "../../../../src/console/app/session_recordings/snapshots.ts";
import { event } from "../../../support/recordings.ts";

test("images and style sheets of hosts are counted, in whole pages and in changes", () => {
  const image = (src: string) => ({ type: 2, tagName: "img", attributes: { src }, childNodes: [] });
  const sheet = { tagName: "link", attributes: { rel: "stylesheet", href: "https://cdn.example/a.css" } };
  const kept = { tagName: "link", attributes: { rel: "stylesheet", _cssText: "a { color: red }" } };
  const events = [
    event.page(1, "https://shop.example/tea/"),
    {
      type: 2,
      timestamp: 2,
      data: { node: { childNodes: [image("a.png"), sheet, kept, image("data:image/png;base64,AA==")] } },
    },
    { type: 3, timestamp: 3, data: { source: 0, adds: [{ node: image("//cdn.example/b.png") }, null] } },
    { type: 3, timestamp: 4, data: { source: 0, adds: "hostile" } },
  ];
  expect(externalIn(events)).toEqual([
    { host: "cdn.example", images: 1, styles: 1, fonts: 0 },
    { host: "shop.example", images: 1, styles: 0, fonts: 0 },
  ]);
});

test("images that come later or stand in styles, imported sheets and fonts are counted, each address once", () => {
  const font = "@font-face { src: url(https://fonts.example/a.woff2), url(https://fonts.example/a.woff) }";
  const css = `@import "https://cdn.example/b.css"; ${font} a { background: url('https://cdn.example/a.png') }`;
  const lazy = { type: 2, id: 5, tagName: "img", attributes: {}, childNodes: [] };
  const text = {
    type: 3,
    id: 6,
    textContent: "b { background: url(https://cdn.example/b.png) }",
    isStyle: true,
  };
  const page = {
    childNodes: [
      lazy,
      text,
      { tagName: "style", attributes: { _cssText: css } },
      { tagName: "div", attributes: { style: "background: url(https://cdn.example/c.png)" } },
      { tagName: "a", attributes: { href: "https://shop.example/" } },
      { type: 3, textContent: "url(https://shop.example/no.png)" },
    ],
  };
  const changed = [
    { id: 5, attributes: { src: "https://cdn.example/lazy.png" } },
    { id: 7, attributes: { src: "https://shop.example/script.js" } },
    { id: 7, attributes: { style: { "background-image": "url(https://cdn.example/d.png)" } } },
    null,
  ];
  const whole = (timestamp: number) => ({ type: 2, timestamp, data: { node: page } });
  const events = [
    event.page(1, "https://shop.example/"),
    whole(2),
    { type: 3, timestamp: 3, data: { source: 0, attributes: changed } },
    // rrweb takes the whole page again from time to time.
    whole(4),
  ];
  const [fonts, cdn] = [
    { host: "fonts.example", images: 0, styles: 0, fonts: 1 },
    { host: "cdn.example", images: 5, styles: 1, fonts: 0 },
  ];
  expect(externalIn(events)).toEqual([cdn, fonts]);
  expect(externalIn(events, ["cdn.example", "fonts.example"])).toEqual([fonts]);
});

test("styles that were made to be slow are read in a moment", () => {
  const styles = [
    "url(",
    "@import ",
    "@font-face{",
    `url(${" ".repeat(30)}`,
    `@import${" ".repeat(30)}`,
    "@font-face ",
  ];
  const nodes = styles.map((style) => ({
    type: 3,
    isStyle: true,
    textContent: style.repeat(1_000_000 / style.length),
  }));
  const page = { type: 2, timestamp: 1, data: { node: { childNodes: nodes } } };
  // A second of the quadratic kind would be hours.
  expect(externalIn([page])).toEqual([]);
});

test("of a canvas the last picture of an event is shown, and nothing that is no picture", () => {
  const draw = (type: string, base64: string) => ({
    property: "drawImage",
    args: [
      {
        rr_type: "ImageBitmap",
        args: [{ rr_type: "Blob", data: [{ rr_type: "ArrayBuffer", base64 }], type }],
      },
      0,
      0,
    ],
  });
  const drawn = (...commands: object[]) => ({
    type: 3,
    timestamp: 1,
    data: { source: 9, id: 4, type: 0, commands },
  });
  const clear = { property: "clearRect", args: [0, 0, 9, 9] };
  expect(canvasPicture(drawn(clear, draw("image/png", "AAAA"), draw("image/webp", "BBBB")))).toEqual({
    id: 4,
    url: "data:image/webp;base64,BBBB",
  });
  for (const odd of [
    draw("text/html", "AAAA"),
    draw("image/png", 'A") url(http://evil'),
    clear,
    { property: "drawImage" },
  ]) {
    expect(canvasPicture(drawn(odd))).toBeUndefined();
  }
  expect(isPicture("data:image/svg+xml;base64,AAAA")).toBe(false);
  expect(isPicture(7)).toBe(false);
});

test("recorded pages keep their images and style sheets, and nothing else that reaches out", () => {
  const node = (tagName: string, attributes: object, ...childNodes: object[]) => ({
    tagName,
    attributes,
    childNodes,
  });
  const page = node(
    "html",
    {},
    node("link", { rel: "preconnect", href: "https://spy.example" }),
    node("link", { rel: "stylesheet", href: "https://cdn.example/a.css", crossorigin: "use-credentials" }),
    node("meta", { name: "referrer", content: "unsafe-url" }),
    node("meta", { "http-equiv": "refresh", content: "0;url=https://spy.example" }),
    node("img", { src: "https://cdn.example/a.png", referrerPolicy: "unsafe-url" }),
  );
  const events: RecordedEvent[] = [
    { type: 2, timestamp: 1, data: { node: page } },
    {
      type: 3,
      timestamp: 2,
      data: {
        source: 0,
        adds: [{ node: node("LINK", { rel: "dns-prefetch", href: "//spy.example" }) }],
        attributes: [
          { id: 1, attributes: { rel: "preconnect", href: "//spy.example", referrerpolicy: "origin" } },
        ],
      },
    },
  ];
  removeRequests(events);
  expect(page.childNodes).toEqual([
    node("link", { href: "https://spy.example" }),
    node("link", { rel: "stylesheet", href: "https://cdn.example/a.css" }),
    node("meta", { content: "unsafe-url" }),
    node("meta", { content: "0;url=https://spy.example" }),
    node("img", { src: "https://cdn.example/a.png" }),
  ]);
  expect(events[1]!.data).toEqual({
    source: 0,
    adds: [{ node: node("LINK", { href: "//spy.example" }) }],
    attributes: [{ id: 1, attributes: { href: "//spy.example" } }],
  });
});
