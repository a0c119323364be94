// Recorded pages: the external resources they use, what would send requests, and pictures of canvases.

import { type Fields, toFields, toList, toText } from "../values.ts";
import type { RecordedEvent } from "./snapshots.ts";

/** Resources of another host that the recorder did not record: how many addresses of each kind. */
interface ExternalResources {
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
    const text = toText(address);
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
  for (const event of events) {
    if (event.type === 4) page = toText(toFields(event.data)["href"]);
    const { roots, changes } = readParts(event);
    for (const { tagName, attributes, id, isStyle, textContent } of roots.flatMap(listElements)) {
      if (isImage(tagName)) elements.set(id, tagName);
      addAttributes(add, tagName, toFields(attributes));
      if (isStyle) addStyle(add, toText(textContent));
    }
    for (const { id, attributes } of changes) addAttributes(add, elements.get(id), toFields(attributes));
  }
  const sum = ({ images, styles, fonts }: ExternalResources) => images + styles + fonts;
  return [...hosts.values()].sort((left, right) => sum(right) - sum(left));
}

const isImage = (tagName: unknown) => /^(?:img|image)$/i.test(String(tagName));

function addAttributes(add: AddExternal, tagName: unknown, attributes: Fields): void {
  const { src, srcset, href, rel, poster, style, _cssText: css } = attributes;
  if (isImage(tagName)) {
    add("images", src ?? href ?? toText(srcset).trim().split(/\s/)[0]);
  }
  if (poster) add("images", poster);
  // A recorded style sheet is in `_cssText`, and has no address.
  if (/^link$/i.test(String(tagName)) && rel === "stylesheet" && href) add("styles", href);
  // A change of a style names its properties.
  for (const text of [css, style, ...Object.values(toFields(style))]) addStyle(add, toText(text));
}

/**
 * Fonts, imported sheets and images, in this order, of a style sheet or a part of one. It is untrusted: each expression
 * is bounded, and goes over a character once.
 */
function addStyle(add: AddExternal, text: string): void {
  if (!/url\(|@import/i.test(text)) return;
  const withoutFonts = text.replace(/@font-face\s{0,20}\{[^{}]{0,5000}\}/gi, (font) => {
    // Browsers load one of a font's files: the first that they can read.
    add("fonts", addressesIn(font)[0]);
    return "";
  });
  const withoutImports = withoutFonts.replace(
    /@import\s{1,20}(?:url\()?["']?([^"'()\s;@]{1,2000})[^;@]{0,300};?/gi,
    (_, address: string) => {
      add("styles", address);
      return "";
    },
  );
  for (const address of addressesIn(withoutImports)) add("images", address);
}

function addressesIn(style: string): string[] {
  const found = [...style.matchAll(/url\(([^()]{1,2000})\)/gi)];
  return found.map(([, address = ""]) => address.trim().replace(/^["']|["']$/g, ""));
}

/** Attributes that send a referrer, credentials or a message. */
const always = /^(?:referrerpolicy|crossorigin|ping)$/i;
/** Elements that are removed. A browser connects to the address of a frame before it refuses it. */
const removed: Readonly<Record<string, RegExp>> = {
  link: /^rel$/i,
  meta: /^(?:name|http-equiv)$/i,
  iframe: /^(?:src|srcdoc)$/i,
  frame: /^(?:src|srcdoc)$/i,
};
/** A change does not name its kind of element: none may become a link. */
const removedInChanges = /^(?:rel|name|http-equiv|srcdoc)$/i;

/**
 * Removes from recorded pages what would send more than a plain request for an image or a style sheet: referrers,
 * credentials, and connections to hosts of frames, and of links that are no style sheets. Changes the events.
 */
export function removeRequests(events: readonly RecordedEvent[]): void {
  const remove = (attributes: unknown, kind: RegExp | undefined) => {
    const values = toFields(attributes) as Record<string, unknown>;
    for (const name of Object.keys(values)) {
      if (always.test(name) || kind?.test(name)) delete values[name];
    }
  };
  const parts = events.map(readParts);
  const frames = new Set<unknown>();
  for (const { id, tagName, attributes } of parts.flatMap(({ roots }) => roots.flatMap(listElements))) {
    const tag = String(tagName).toLowerCase();
    if (tag.endsWith("frame")) frames.add(id);
    // A link without `rel` loads nothing, also when its address is changed later.
    const { rel } = toFields(attributes);
    remove(attributes, removed[tag]);
    const isSheet = tag === "link" && toText(rel).trim().toLowerCase() === "stylesheet";
    if (isSheet) Object.assign(toFields(attributes), { rel });
  }
  for (const { id, attributes } of parts.flatMap(({ changes }) => changes)) {
    remove(attributes, removedInChanges);
    if (frames.has(id)) remove(attributes, removed["iframe"]);
  }
  // A document that is added to anything but a frame would stop the player.
  for (const data of events.map((event) => toFields(event.data) as Record<string, unknown>)) {
    const fits = (add: Fields) => toFields(add["node"])["type"] !== 0 || frames.has(add["parentId"]);
    if (Array.isArray(data["adds"])) data["adds"] = data["adds"].map(toFields).filter(fits);
  }
}

/** The nodes that an event adds to a page, and the elements whose attributes it changes. */
function readParts({ type, data }: RecordedEvent): { roots: unknown[]; changes: Fields[] } {
  const { node, adds, attributes } = toFields(data);
  if (type === 2) return { roots: [node], changes: [] };
  if (type !== 3) return { roots: [], changes: [] };
  return {
    roots: toList(adds).map((item) => toFields(item)["node"]),
    changes: toList(attributes).map(toFields),
  };
}

/** All elements of recorded pages, however deep: without recursion, since they are untrusted. */
function listElements(root: unknown): Fields[] {
  const found = [toFields(root)];
  // The list grows while it is read.
  for (const { childNodes } of found) for (const child of toList(childNodes)) found.push(toFields(child));
  return found;
}

/** The picture of a canvas in an event of rrweb: the canvas's id and a `data:` address. */
export function canvasPicture({ type, data }: RecordedEvent): { id: number; url: string } | undefined {
  const { source, id, commands, property, args } = toFields(data);
  if (type !== 3 || source !== 9 || typeof id !== "number") return undefined;
  const all = commands === undefined ? [{ property, args }] : toList(commands).map(toFields);
  const drawn = all.findLast((item) => item["property"] === "drawImage");
  const bitmap = toFields(toList(drawn?.["args"])[0]);
  const blob = toFields(toList(bitmap["args"])[0]);
  const { base64 } = toFields(toList(blob["data"])[0]);
  const url = `data:${toText(blob["type"])};base64,${toText(base64)}`;
  return isPicture(url) ? { id, url } : undefined;
}

/** Whether an address, which is untrusted, is a picture in a `data:` address. */
export function isPicture(url: unknown): url is string {
  return typeof url === "string" && /^data:image\/(?:png|jpeg|webp);base64,[\w+/]+={0,2}$/.test(url);
}
