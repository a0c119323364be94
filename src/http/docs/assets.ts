// The page that shows the API, and the files of Swagger UI that it loads.

import { join } from "node:path";
import { servedFolder, readVersion } from "../../core/version.ts";
import { type Asset, fileAsset, sendAsset, textAsset } from "../asset.ts";

interface Assets {
  page(request: Request): Promise<Response>;
  /** A file of the page; undefined for an unknown name. */
  answer(name: string, request: Request): Promise<Response | undefined>;
}

/** The files of Swagger UI that the page loads. */
export const uiFiles = ["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"] as const;

export function openAssets(): Assets {
  const folder = servedFolder("swagger-ui-dist");
  if (folder === undefined) throw new Error("swagger-ui-dist is not installed");
  const file = (name: string, type: string): [string, Asset] => [name, fileAsset(join(folder, name), type)];
  const assets = new Map<string, Asset>([
    file(uiFiles[0], "text/css; charset=utf-8"),
    file(uiFiles[1], "text/javascript; charset=utf-8"),
    file(uiFiles[2], "image/png"),
    ["page.js", textAsset("text/javascript; charset=utf-8", script)],
  ]);
  const page = textAsset("text/html; charset=utf-8", html);
  // Changes with the package and with the texts below.
  const headers = { ...guards, etag: `"${readVersion(folder)}-${Bun.hash(html + script).toString(36)}"` };
  return {
    page: (request) => sendAsset(page, request, { ...headers, "content-security-policy": policy }),
    answer: async (name, request) => {
      const asset = assets.get(name);
      return asset && (await sendAsset(asset, request, headers));
    },
  };
}

/** `no-cache`: clients ask every time, so that an upgrade shows at once; a 304 is cheap. */
const guards = {
  "cache-control": "no-cache",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** Swagger UI sets styles on elements and loads its icons from data: URLs. */
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

/** `validatorUrl: null`: without it the page sends the description to an external validator. */
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
