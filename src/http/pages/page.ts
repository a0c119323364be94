// Lists, a page at a time: links to the neighbouring pages, and how many rows fit on a page.

import { toBytes } from "../../core/bytes.ts";
import { refuseInput } from "../../core/fault.ts";
import { withoutLast } from "../../core/trim.ts";
import { cutPortions } from "../../storage/portions.ts";
import type { Counted } from "../../storage/postgres/rows.ts";
import { integerParameter, numberParameter, pageParameters } from "../fields/query.ts";
import { httpLimits } from "../limits.ts";
import { streamedReply } from "./sliced.ts";

export interface Page {
  /** Rows on the page, from 1 to `httpLimits.pageMax`. */
  limit: number;
  offset: number;
}

/** The site's URL, of requests for which reachedAt() was called. */
const sites = new WeakMap<Request, string>();

/** Links in this request's answer begin with `site`, e.g. https://sluice.example, whatever its Host header is. */
export function reachedAt(request: Request, site: string): void {
  sites.set(request, site);
}

/**
 * The URL of a request as its client sees it, without the key that it may contain, since links are passed on. Where no
 * site is set, the Host header counts; a proxy that ends TLS sends X-Forwarded-Proto. X-Forwarded-Host is not trusted,
 * since anybody can send it.
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
export function pageLinks(url: URL, { limit, offset }: Page, count: number) {
  const next = offset + limit < count ? pageUrl(url, limit, offset + limit) : null;
  const previous = offset > 0 ? pageUrl(url, limit, offset - limit) : null;
  return { next, previous };
}

export function pageReply<Row>(url: URL, page: Page, { count, rows }: Counted<Row>) {
  return { count, ...pageLinks(url, page, count), results: rows };
}

/** A page that is sent while it is read: its results come as JSON in chunks, and a comma precedes each result. */
export async function streamedPage(
  url: URL,
  page: Page,
  count: number,
  results: AsyncGenerator<Uint8Array, void>,
): Promise<Response> {
  const head = JSON.stringify({ count, ...pageLinks(url, page, count) }).slice(0, -1);
  return await streamedReply(toBytes(`${head},"results":[`), withoutComma(results), toBytes("]}"));
}

async function* withoutComma(chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  let isFirst = true;
  for await (const chunk of chunks) {
    if (chunk.length > 0) yield isFirst ? chunk.subarray(1) : chunk;
    isFirst &&= chunk.length === 0;
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
 * @param sizes bytes of each row of the page, in order.
 * @throws Fault with `limit` as its attr and the number of rows that fit, when all rows together exceed a page. A
 *   single row always fits.
 */
export function checkFits(sizes: readonly number[]): void {
  const bytesMax = httpLimits.pageBytesMax;
  const limit = fitting(sizes, bytesMax);
  if (limit === undefined) return;
  refuseInput(
    `These rows are longer than the ${bytesMax} bytes of a page. Use limit=${limit}.`,
    "limit",
    "max_value",
  );
}

/** How many of the first sizes fit into `bytesMax`, at least one; undefined when all do. */
export function fitting(sizes: readonly number[], bytesMax: number): number | undefined {
  let bytes = 0;
  for (const [i, size] of sizes.entries()) {
    bytes += size;
    if (bytes > bytesMax && sizes.length > 1) return Math.max(1, i);
  }
  return undefined;
}

/** The list in blocks of at most httpLimits.pageBlockBytes, or of a single longer element. */
export function cutBlocks<Item>(list: readonly Item[], measure: (item: Item) => number): Item[][] {
  return cutPortions(list, measure, httpLimits.pageBlockBytes);
}

export function numberedPageParameters(rows: string) {
  const bounds = { minimum: 1, maximum: httpLimits.pageOffsetMax, default: 1 };
  return {
    ...pageParameters(rows),
    page_size: integerParameter("The same as `limit`, as PostHog's log has it.", {
      minimum: 1,
      maximum: httpLimits.pageMax,
    }),
    page: numberParameter("Which page, from 1 on; instead of `offset`.", bounds),
  };
}

/** @throws Fault when both are set. */
export function numberedPage(query: Page & { page: number; page_size: number | undefined }): Page {
  const { offset, page } = query;
  const limit = query.page_size ?? query.limit;
  if (page > 1 && offset > 0) refuseInput("Give either page or offset, not both.", "page");
  return { limit, offset: Math.max(offset, (page - 1) * limit) };
}

export function numberedReply<Row>(url: URL, at: Page, counted: Counted<Row>) {
  const link = new URL(url);
  for (const name of ["page", "page_size"]) link.searchParams.delete(name);
  return { ...pageReply(link, at, counted), total_count: counted.count };
}
