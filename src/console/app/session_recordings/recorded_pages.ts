// Recorded pages: the external resources they use, what would send requests, and pictures of canvases.

import { type Fields, fieldsOf, listOf, textOf } from "../values.ts";
import type { RecordedEvent } from "./snapshots.ts";

/** Resources of another host that the recorder did not record: how many addresses of each kind. */
export interface ExternalResources {
  host: string;
  images: number;
  styles: number;
  fonts: number;
}

/** Adds the resource at an address. */
type AddExternal = (kind: "images" | "styles" | "fonts", address: unknown) => void;

/**
 * Images, style sheets and fonts that a recording's pages load from other hosts; hosts with most come first.
 * @param loaded hosts whose images and style sheets are left out.
 */
export function externalIn(
  events: readonly RecordedEvent[],
  loaded: readonly string[] = [],
): ExternalResources[] {
  const hosts = new Map<string, ExternalResources>();
  const added = new Set<string>();
  let page = "";
  const add: AddExternal = (kind, address) => {
    const text = textOf(address);
    const url = text !== "" && URL.canParse(text, page) ? new URL(text, page) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || added.has(`${kind} ${url.href}`)) return;
    added.add(`${kind} ${url.href}`);
    if (kind !== "fonts" && url.protocol === "https:" && loaded.includes(url.host)) return;
    const found = hosts.get(url.host) ?? { host: url.host, images: 0, styles: 0, fonts: 0 };
    found[kind]++;
    hosts.set(url.host, found);
  };
  /** Elements whose address may change later, such as an image that loads when it comes into view. */
  const elements = new Map<unknown, unknown>();
  const visit = (...roots: unknown[]) => {
    for (const { tagName, attributes, id, isStyle, textContent } of elementsOf(roots)) {
      if (/^(?:img|image)$/i.test(String(tagName))) elements.set(id, tagName);
      addAttributes(add, tagName, fieldsOf(attributes));
      if (isStyle) addStyle(add, textOf(textContent));
    }
  };
  for (const { type, data } of events) {
    const fields = fieldsOf(data);
    if (type === 4) page = textOf(fields["href"]);
    if (type === 2) visit(fields["node"]);
    if (type !== 3) continue;
    for (const { node } of listOf(fields["adds"]).map(fieldsOf)) visit(node);
    for (const { id, attributes } of listOf(fields["attributes"]).map(fieldsOf)) {
      addAttributes(add, elements.get(id), fieldsOf(attributes));
    }
  }
  const sum = ({ images, styles, fonts }: ExternalResources) => images + styles + fonts;
  return [...hosts.values()].sort((one, other) => sum(other) - sum(one));
}

function addAttributes(add: AddExternal, tagName: unknown, attributes: Fields): void {
  const { src, srcset, href, rel, poster, style, _cssText: css } = attributes;
  if (/^(?:img|image)$/i.test(String(tagName))) {
    add("images", src ?? href ?? textOf(srcset).trim().split(/\s/)[0]);
  }
  if (poster) add("images", poster);
  // A recorded style sheet is in `_cssText`, and has no address.
  if (/^link$/i.test(String(tagName)) && rel === "stylesheet" && href) add("styles", href);
  // A change of a style names its properties.
  for (const text of [css, style, ...Object.values(fieldsOf(style))]) addStyle(add, textOf(text));
}

/**
 * Fonts, imported sheets and images, in this order, of a style sheet or a part of one. It is untrusted: each expression
 * is bounded, and goes over a character once.
 */
function addStyle(add: AddExternal, text: string): void {
  if (!/url\(|@import/i.test(text)) return;
  const rest = text.replace(/@font-face\s{0,20}\{[^{}]{0,5000}\}/gi, (font) => {
    // Browsers load one of a font's files: the first that they can read.
    add("fonts", addressesIn(font)[0]);
    return "";
  });
  const others = rest.replace(
    /@import\s{1,20}(?:url\()?["']?([^"'()\s;@]{1,2000})[^;@]{0,300};?/gi,
    (_, address: string) => {
      add("styles", address);
      return "";
    },
  );
  for (const address of addressesIn(others)) add("images", address);
}

function addressesIn(style: string): string[] {
  const found = [...style.matchAll(/url\(([^()]{1,2000})\)/gi)];
  return found.map(([, address = ""]) => address.trim().replace(/^["']|["']$/g, ""));
}

/**
 * Removes from recorded pages what would send more than a plain request for an image or a style sheet: referrers,
 * credentials, and connections to hosts of links that are no style sheets. Changes the events.
 */
export function removeRequests(events: readonly RecordedEvent[]): void {
  const clean = (tagName: unknown, attributes: Record<string, unknown>) => {
    for (const name of Object.keys(attributes)) {
      if (/^(?:referrerpolicy|crossorigin|ping)$/i.test(name)) delete attributes[name];
    }
    // A link without `rel` loads nothing, also when its address is changed later.
    const isSheet = String(attributes["rel"]).trim().toLowerCase() === "stylesheet";
    if (/^link$/i.test(String(tagName)) && !isSheet) delete attributes["rel"];
    if (/^meta$/i.test(String(tagName))) {
      delete attributes["name"];
      delete attributes["http-equiv"];
    }
  };
  for (const { type, data } of events) {
    const fields = fieldsOf(data);
    const roots =
      type === 2
        ? [fields["node"]]
        : type === 3
          ? listOf(fields["adds"]).map((one) => fieldsOf(one)["node"])
          : [];
    for (const { tagName, attributes } of elementsOf(roots)) {
      clean(tagName, fieldsOf(attributes) as Record<string, unknown>);
    }
    // A change does not name its kind of element: none may become a link.
    for (const one of type === 3 ? listOf(fields["attributes"]).map(fieldsOf) : []) {
      const changed = fieldsOf(one["attributes"]) as Record<string, unknown>;
      clean("", changed);
      for (const name of ["rel", "name", "http-equiv"]) delete changed[name];
    }
  }
}

/** All elements of recorded pages, however deep: without recursion, since they are untrusted. */
function* elementsOf(roots: readonly unknown[]): Generator<Fields> {
  const waiting = [...roots];
  for (let node = waiting.pop(); waiting.length > 0 || node !== undefined; node = waiting.pop()) {
    const fields = fieldsOf(node);
    yield fields;
    for (const child of listOf(fields["childNodes"])) waiting.push(child);
  }
}

/** The picture of a canvas in an event of rrweb: the canvas's id and a `data:` address. */
export function canvasPicture({ type, data }: RecordedEvent): { id: number; url: string } | undefined {
  const { source, id, commands, property, args } = fieldsOf(data);
  if (type !== 3 || source !== 9 || typeof id !== "number") return undefined;
  const all = commands === undefined ? [{ property, args }] : listOf(commands).map(fieldsOf);
  const drawn = all.findLast((one) => one["property"] === "drawImage");
  const bitmap = fieldsOf(listOf(drawn?.["args"])[0]);
  const blob = fieldsOf(listOf(bitmap["args"])[0]);
  const { base64 } = fieldsOf(listOf(blob["data"])[0]);
  const url = `data:${textOf(blob["type"])};base64,${textOf(base64)}`;
  return isPicture(url) ? { id, url } : undefined;
}

/** Whether an address, which is untrusted, is a picture in a `data:` address. */
export function isPicture(url: unknown): url is string {
  return typeof url === "string" && /^data:image\/(?:png|jpeg|webp);base64,[\w+/]+={0,2}$/.test(url);
}
