// A recording of one visit to the made-up shop, as posthog-js sends it: a page, a pointer that moves, clicks.

import type { RecordedVisit } from "./shop.ts";

/** Kinds of rrweb's nodes. */
const kind = { document: 0, element: 2, text: 3 } as const;

interface PageNode {
  id: number;
  type: number;
  tagName?: string;
  attributes?: Record<string, string>;
  textContent?: string;
  childNodes?: PageNode[];
}

const bodyStyle =
  "font: 18px/1.5 sans-serif; color: #2b2118; background: #faf6f0; margin: 0; padding: 24px 48px; min-height: 650px";
const buttonStyle =
  "padding: 12px 24px; border: 0; border-radius: 8px; background: #a4552a; color: #fff; font: inherit";

/** The page of a product: the document, and the nodes that the visit touches. */
function makePage(product: string) {
  let last = 0;
  const text = (textContent: string): PageNode => ({ id: ++last, type: kind.text, textContent });
  const element = (tagName: string, style: string, ...childNodes: PageNode[]): PageNode => ({
    id: ++last,
    type: kind.element,
    tagName,
    attributes: style === "" ? {} : { style },
    childNodes,
  });
  const button = element("button", buttonStyle, text("Add to cart"));
  const cart = text("Cart (0)");
  const body = element(
    "body",
    bodyStyle,
    element("p", "text-align: right", cart),
    element("h1", "", text(product.replaceAll("-", " "))),
    element("p", "", text("Made by hand, sent within two days.")),
    button,
  );
  const html = element("html", "", element("head", ""), body);
  const page: PageNode = { id: ++last, type: kind.document, childNodes: [html] };
  return { page, body, button, cart };
}

/** @returns the body of a request to /s/. */
export function makeRecording(
  { distinctId, sessionId, begun, product }: RecordedVisit,
  token: string,
): object[] {
  const { page, body, button, cart } = makePage(product);
  const href = `https://shop.example.com/products/${product}`;
  const change = (at: number, data: object) => ({ type: 3, data, timestamp: begun + at });
  const move = (i: number) => {
    const point = { x: 700 - i * 24, y: 56 + i * 8 + Math.round(20 * Math.sin(i / 3)) };
    return change(1000 + i * 250, { source: 1, positions: [{ ...point, id: body.id, timeOffset: 0 }] });
  };
  const click = (type: number, at: number) => change(at, { source: 2, type, id: button.id, x: 124, y: 240 });
  const texts = [{ id: cart.id, value: "Cart (1)" }];
  const events = [
    { type: 4, data: { href, width: 1200, height: 700 }, timestamp: begun },
    { type: 2, data: { node: page, initialOffset: { left: 0, top: 0 } }, timestamp: begun + 20 },
    ...Array.from({ length: 24 }, (_, i) => move(i)),
    // Pressed, released, clicked.
    click(1, 7500),
    click(0, 7600),
    click(2, 7610),
    change(7700, { source: 0, texts, attributes: [], removes: [], adds: [] }),
    click(2, 12_000),
  ];
  const properties = {
    token,
    distinct_id: distinctId,
    $session_id: sessionId,
    $window_id: sessionId,
    $snapshot_bytes: JSON.stringify(events).length,
    $snapshot_data: events,
    $lib: "web",
  };
  return [{ event: "$snapshot", properties }];
}
