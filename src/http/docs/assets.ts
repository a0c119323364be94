// The files behind the API page, as the package of Swagger UI holds them, and the page that loads them. Never
// opens a file that is not in its list.

import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

export interface Assets {
  page(request: Request): Promise<Response>;
  /** One of the page's files; undefined when it has none of this name. */
  answer(name: string, request: Request): Promise<Response | undefined>;
}

const compress = promisify(gzip);

/** `folder`: of the swagger-ui-dist package. */
export function openAssets(folder: string): Assets {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const shelf = new Map<string, Asset>([
    ["swagger-ui.css", fileOf(folder, "swagger-ui.css", "text/css; charset=utf-8")],
    ["swagger-ui-bundle.js", fileOf(folder, "swagger-ui-bundle.js", "text/javascript; charset=utf-8")],
    ["favicon-32x32.png", fileOf(folder, "favicon-32x32.png", "image/png")],
    ["page.js", textOf(script, "text/javascript; charset=utf-8")],
  ]);
  const page = textOf(html, "text/html; charset=utf-8");
  // Changes with what the package holds and with what stands below.
  const etag = `"${version}-${Bun.hash(html + script).toString(36)}"`;
  return {
    page: (request) => send(page, etag, request, { "content-security-policy": policy, ...guards }),
    answer: async (name, request) => {
      const asset = shelf.get(name);
      return asset && (await send(asset, etag, request, guards));
    },
  };
}

/** Where Swagger UI is installed. */
export function installedAssets(): string {
  return dirname(Bun.resolveSync("swagger-ui-dist/package.json", import.meta.dir));
}

interface Asset {
  type: string;
  plain(): Promise<Uint8Array>;
  /** Compressed once, then kept. */
  gzipped(): Promise<Uint8Array>;
}

function fileOf(folder: string, name: string, type: string): Asset {
  return assetOf(type, () => readFile(join(folder, name)));
}

function textOf(text: string, type: string): Asset {
  const bytes = new TextEncoder().encode(text);
  return assetOf(type, () => Promise.resolve(bytes));
}

function assetOf(type: string, plain: () => Promise<Uint8Array>): Asset {
  let compressed: Promise<Uint8Array> | undefined;
  return { type, plain, gzipped: () => (compressed ??= plain().then((bytes) => compress(bytes))) };
}

async function send(
  asset: Asset,
  etag: string,
  request: Request,
  extra: Record<string, string>,
): Promise<Response> {
  // Always asked again: an upgrade shows at once, and a 304 costs nothing.
  const headers: Record<string, string> = {
    etag,
    "cache-control": "no-cache",
    vary: "accept-encoding",
    ...extra,
  };
  if (request.headers.get("if-none-match")?.includes(etag)) {
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = asset.type;
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(await asset.plain(), { headers });
  }
  headers["content-encoding"] = "gzip";
  return new Response(await asset.gzipped(), { headers });
}

const guards = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

/** Swagger UI sets styles of elements and draws its signs from data: URLs; nothing else is needed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice API</title>
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript; <a href="/docs/json">the description itself</a> does not.</noscript>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/page.js"></script>
</body>
</html>
`;

/** `validatorUrl: null`: the page must not ask anybody else whether the description is valid. */
const script = `SwaggerUIBundle({
  url: "/docs/json",
  dom_id: "#page",
  validatorUrl: null,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  filter: true,
  tryItOutEnabled: true,
});
`;
