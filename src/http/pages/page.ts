// Lists, a page at a time: links to the neighbouring pages, and how many rows fit on a page.

import { bytesOf } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { withoutLast } from "../../core/trim.ts";
import type { Counted } from "../../storage/postgres/rows.ts";
import { httpLimits } from "../limits.ts";
import { streamedReply } from "./sliced.ts";

export interface Page {
  /** Rows on the page, from 1 to `httpLimits.pageMax`. */
  limit: number;
  /** Rows to skip. */
  offset: number;
}

interface PageLinks {
  next: string | null;
  previous: string | null;
}

/** The site's URL, for requests of which reachedAt() was told. */
const sites = new WeakMap<Request, string>();

/** Links in this request's answer begin with `site`, e.g. https://sluice.example, whatever it says of its host. */
export function reachedAt(request: Request, site: string): void {
  sites.set(request, site);
}

/**
 * The URL of a request as its client sees it, without the key it may carry, since links are passed on. Where no site is
 * set, its Host counts; a proxy that ends TLS says so in X-Forwarded-Proto. X-Forwarded-Host is not believed, since
 * anybody can send it.
 */
export function requestUrl(request: Request): URL {
  const url = new URL(request.url);
  if (url.searchParams.has("personal_api_key")) url.searchParams.delete("personal_api_key");
  const site = sites.get(request);
  if (site !== undefined) return new URL(`${withoutLast(site, "/")}${url.pathname}${url.search}`);
  const protocol = request.headers.get("x-forwarded-proto");
  if (protocol === "https" || protocol === "http") url.protocol = `${protocol}:`;
  return url;
}

/** Absolute links that keep every other query key, sorted. */
export function pageLinks(url: URL, { limit, offset }: Page, count: number): PageLinks {
  const next = offset + limit < count ? pageUrl(url, limit, offset + limit) : null;
  const previous = offset > 0 ? pageUrl(url, limit, offset - limit) : null;
  return { next, previous };
}

export function pageReply<Row>(
  url: URL,
  page: Page,
  { count, rows }: Counted<Row>,
): PageLinks & { count: number; results: Row[] } {
  return { count, ...pageLinks(url, page, count), results: rows };
}

/** A page sent while it is read, for results that come as JSON in pieces, each with a comma before it. */
export async function streamedPage(
  url: URL,
  page: Page,
  count: number,
  results: AsyncGenerator<Uint8Array, void>,
): Promise<Response> {
  const head = JSON.stringify({ count, ...pageLinks(url, page, count) });
  return await streamedReply(
    bytesOf(`${head.slice(0, -1)},"results":[`),
    withoutComma(results),
    bytesOf("]}"),
  );
}

/** Results that come in pieces, without the comma that stands before the first. */
async function* withoutComma(pieces: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  let isFirst = true;
  for await (const piece of pieces) {
    if (piece.length > 0) yield isFirst ? piece.subarray(1) : piece;
    isFirst &&= piece.length === 0;
  }
}

function pageUrl(url: URL, limit: number, offset: number): string {
  const link = new URL(url);
  link.searchParams.set("limit", String(limit));
  if (offset > 0) link.searchParams.set("offset", String(offset));
  else link.searchParams.delete("offset");
  link.searchParams.sort();
  return link.href;
}

/**
 * @param sizes bytes of each row of the page, in its order.
 * @throws Fault with `limit` as its attr, naming how many rows fit, when all of them are longer than a page may be. One
 *   row always fits.
 */
export function checkFits(sizes: readonly number[]): void {
  const bytesMax = httpLimits.pageBytesMax;
  const fits = fitting(sizes, bytesMax);
  if (fits === undefined) return;
  const detail = `These rows are longer than the ${bytesMax} bytes of a page. Use limit=${fits}.`;
  throw new Fault("max_value", detail, { attr: "limit" });
}

/** How many of the first of these fit into `bytesMax`, at least one; undefined when all do. */
export function fitting(sizes: readonly number[], bytesMax: number): number | undefined {
  let bytes = 0;
  for (const [i, size] of sizes.entries()) {
    bytes += size;
    if (bytes > bytesMax && sizes.length > 1) return Math.max(1, i);
  }
  return undefined;
}

/** The list cut into blocks of at most httpLimits.pageBlockBytes, or of a single element that is longer. */
export function blocksOf<One>(list: readonly One[], sizeOf: (one: One) => number): One[][] {
  const blocks: One[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const one of list) {
    const size = sizeOf(one);
    if (bytes + size > httpLimits.pageBlockBytes) {
      blocks.push([]);
      bytes = 0;
    }
    blocks.at(-1)!.push(one);
    bytes += size;
  }
  return blocks;
}
