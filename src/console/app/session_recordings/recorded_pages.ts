// What is in recorded pages: images and style sheets of other hosts, what would reach out, pictures of canvases.

import { type Fields, fieldsOf, listOf, textOf } from "./fields.ts";
import type { RecordedEvent } from "./snapshots.ts";

/** Elements of pages that their recorder left at other hosts: the hosts, and how many of each kind. */
export interface Foreign {
  host: string;
  images: number;
  styles: number;
}

/**
 * Images and style sheets that the pages of a recording have from hosts, those with most first.
 * @param loaded hosts that are left out.
 */
export function foreignIn(events: readonly RecordedEvent[], loaded: readonly string[] = []): Foreign[] {
  const hosts = new Map<string, Foreign>();
  let page = "";
  const add = (address: unknown, kind: "images" | "styles") => {
    const url =
      typeof address === "string" && URL.canParse(address, page) ? new URL(address, page) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) return;
    if (url.protocol === "https:" && loaded.includes(url.host)) return;
    const known = hosts.get(url.host) ?? { host: url.host, images: 0, styles: 0 };
    known[kind]++;
    hosts.set(url.host, known);
  };
  const visit = (...roots: unknown[]) => {
    for (const { tagName, attributes } of elementsOf(roots)) {
      const { src, srcset, href, rel, poster } = fieldsOf(attributes);
      if (tagName === "img" || tagName === "image") {
        add(src ?? href ?? textOf(srcset).trim().split(/\s/)[0], "images");
      }
      if (poster) add(poster, "images");
      // A style sheet that was recorded stands in `_cssText`, without an address.
      if (tagName === "link" && rel === "stylesheet" && href) add(href, "styles");
    }
  };
  for (const { type, data } of events) {
    const fields = fieldsOf(data);
    if (type === 4) page = textOf(fields["href"]);
    if (type === 2) visit(fields["node"]);
    if (type === 3) for (const { node } of listOf(fields["adds"]).map(fieldsOf)) visit(node);
  }
  return [...hosts.values()].sort((one, other) => other.images + other.styles - one.images - one.styles);
}

/**
 * Takes out of recorded pages what would send more than a plain request for an image or a style sheet: who asks from
 * where, credentials, and connections to hosts of links that are no style sheets. Changes the events.
 */
export function withoutReach(events: readonly RecordedEvent[]): void {
  const clean = (tagName: unknown, attributes: Record<string, unknown>) => {
    for (const name of Object.keys(attributes)) {
      if (/^(?:referrerpolicy|crossorigin|ping)$/i.test(name)) delete attributes[name];
    }
    // A link without `rel` is none, also when its address is changed later.
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
    // A change does not say of which element it is: none becomes a link.
    for (const one of type === 3 ? listOf(fields["attributes"]).map(fieldsOf) : []) {
      const changed = fieldsOf(one["attributes"]) as Record<string, unknown>;
      clean("", changed);
      for (const name of ["rel", "name", "http-equiv"]) delete changed[name];
    }
  }
}

/** All elements of recorded pages, however deep: without recursion, since they come from whoever recorded. */
function* elementsOf(roots: readonly unknown[]): Generator<Fields> {
  const waiting = [...roots];
  for (let node = waiting.pop(); waiting.length > 0 || node !== undefined; node = waiting.pop()) {
    const fields = fieldsOf(node);
    yield fields;
    for (const child of listOf(fields["childNodes"])) waiting.push(child);
  }
}

/** The picture of a canvas that an event of rrweb brings: the canvas's id and a `data:` address. */
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

/** Whether an address is a picture by itself, and nothing else: it comes from whoever recorded. */
export function isPicture(url: unknown): url is string {
  return typeof url === "string" && /^data:image\/(?:png|jpeg|webp);base64,[\w+/]+={0,2}$/.test(url);
}
