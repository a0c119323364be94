// The API's description: OpenAPI for programs, a page for people. Routes with `hide` are left out.

import { join } from "node:path";
import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import { Fault } from "../../core/fault.ts";
import { readVersion, servedFolder } from "../../core/version.ts";
import { type Asset, assetHeaders, fileAsset, pagePolicy, sendAsset, textAsset } from "../asset.ts";
import { type ApiDocument, completeDocument } from "./document.ts";

/** A route as the application lists it; Elysia's own list has this shape. */
export interface DescribedRoute {
  method: string;
  path: string;
  /** Hooks with the scopes that the gate requires, e.g. `[{ personal_api_key: ["project:read"] }]`. */
  hooks: { detail?: { hide?: boolean; security?: Record<string, string[]>[] } };
}

/** @param routes called on the first request for the description, when every room has mounted its routes. */
export function docsRoutes({ routes }: { routes: () => readonly DescribedRoute[] }) {
  const hidden = { detail: { hide: true } };
  const assets = openAssets();
  let described: Promise<Asset> | undefined;
  const describeOnce = async () => textAsset("application/json", JSON.stringify(await describe(routes())));
  return new Elysia({ name: "docs" })
    .get("/docs", ({ request }) => assets.page(request), hidden)
    .get(
      "/docs/json",
      async ({ request }) => await sendAsset(await (described ??= describeOnce()), request, jsonHeaders),
      hidden,
    )
    .get("/docs/assets/:name", ({ request, params }) => assets.answer(params.name, request), hidden);
}

/** Any page may read the description: client generators run in browsers too, and nothing in it is secret. */
const jsonHeaders = { "cache-control": "no-cache", "access-control-allow-origin": "*" };

export async function describe(routes: readonly DescribedRoute[]): Promise<ApiDocument> {
  const version = readVersion();
  // The plugin also mounts a page that loads scripts from a CDN, so it gets a copy of the routes that is not served.
  const copy = new Elysia().use(
    swagger({ path: "/docs", documentation: { info: { title: "Sluice", version } } }),
  );
  for (const { method, path, hooks } of routes) {
    const { detail } = hooks;
    if (detail?.hide !== true) copy.route(method, path, () => "", detail === undefined ? {} : { detail });
  }
  const reply = await copy.handle(new Request("http://localhost/docs/json"));
  return completeDocument((await reply.json()) as ApiDocument);
}

export const uiFiles = ["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"] as const;

function openAssets() {
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
  const headers = {
    ...assetHeaders,
    etag: `"${readVersion(folder)}-${Bun.hash(html + script).toString(36)}"`,
  };
  return {
    page: (request: Request) => sendAsset(page, request, { ...headers, "content-security-policy": policy }),
    /** A file of the page. @throws Fault not_found for an unknown name. */
    answer: async (name: string, request: Request) => {
      const asset = assets.get(name);
      if (!asset) throw new Fault("not_found", "The API page has no such file.");
      return await sendAsset(asset, request, headers);
    },
  };
}

/** Swagger UI sets styles on elements and loads its icons from data: URLs. */
const policy = pagePolicy(["style-src 'self' 'unsafe-inline'", "img-src 'self' data:"]);

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
