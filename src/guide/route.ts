// Routes of the operators' pages, under `/docs/guide/`.

import { Elysia } from "elysia";
import { Fault } from "../core/fault.ts";
import { type Asset, assetHeaders, pagePolicy, sendAsset, textAsset } from "../http/asset.ts";
import { readSite } from "./site.ts";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
};

/** Pages load nothing of other hosts, and are shown in no frame. */
const policy = pagePolicy(["style-src 'self'"]);

export function guideRoutes() {
  let files: Map<string, { asset: Asset; etag: string }> | undefined;
  const opened = () =>
    (files ??= new Map(
      [...readSite("/docs")].map(([path, text]) => {
        const type = types[path.slice(path.lastIndexOf(".") + 1)] ?? "text/plain; charset=utf-8";
        return [path, { asset: textAsset(type, text), etag: `"${Bun.hash(text).toString(36)}"` }];
      }),
    ));
  const answer = async (path: string, request: Request) => {
    const found = opened().get(path);
    if (!found) throw new Fault("not_found", "The guide has no such page.");
    return await sendAsset(found.asset, request, {
      ...assetHeaders,
      "content-security-policy": policy,
      etag: found.etag,
    });
  };
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: "guide" })
    .get(
      "/docs/guide",
      ({ request }) =>
        // Relative links of the pages need the slash.
        new URL(request.url).pathname.endsWith("/")
          ? answer(opened().has("index.html") ? "index.html" : "getting_started.html", request)
          : new Response(null, { status: 302, headers: { location: "/docs/guide/" } }),
      hidden,
    )
    .get("/docs/guide/*", ({ request, params }) => answer(params["*"], request), hidden);
}
