// Static files, with an ETag, and compressed once for clients that accept gzip.

import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { toBytes } from "../core/bytes.ts";

/** The policy of a page whose scripts are files of this server. @param more further directives. */
export function pagePolicy(more: readonly string[], frameAncestors = "'none'"): string {
  const sources = ["default-src 'none'", "script-src 'self'", "connect-src 'self'"];
  const closed = ["base-uri 'none'", "form-action 'none'", `frame-ancestors ${frameAncestors}`];
  return [...sources, ...more, ...closed].join("; ");
}

export interface Asset {
  type: string;
  plain(): Promise<Uint8Array>;
  /** Compressed on first use, then kept in memory. */
  gzipped(): Promise<Uint8Array>;
}

const compress = promisify(gzip);

/** `no-cache`: clients revalidate every time, so that an upgrade takes effect at once; a 304 is cheap. */
export const assetHeaders = {
  "cache-control": "no-cache",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

/** The file at `path`, read on each request without gzip. */
export const fileAsset = (path: string, type: string) => makeAsset(type, () => readFile(path));

export const textAsset = (type: string, text: string) =>
  makeAsset(type, () => Promise.resolve(toBytes(text)));

/** `plain` is called for each reply without gzip. */
export function makeAsset(type: string, plain: () => Promise<Uint8Array>): Asset {
  let compressed: Promise<Uint8Array> | undefined;
  return { type, plain, gzipped: () => (compressed ??= plain().then((bytes) => compress(bytes))) };
}

/** Answers with the asset, or with 304 when the client has it. `extra`: headers of every answer, an ETag too. */
export async function sendAsset(asset: Asset, request: Request, extra: Readonly<Record<string, string>>) {
  const headers: Record<string, string> = { vary: "accept-encoding", ...extra };
  const etag = headers["etag"];
  if (etag !== undefined && request.headers.get("if-none-match")?.includes(etag)) {
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = asset.type;
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(await asset.plain(), { headers });
  }
  headers["content-encoding"] = "gzip";
  return new Response(await asset.gzipped(), { headers });
}
