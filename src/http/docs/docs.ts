// The API's description of itself: OpenAPI for programs, a page for people. Routes with `hide` are left out.

import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import { Fault } from "../../core/fault.ts";
import { readVersion } from "../../core/version.ts";
import { type Asset, sendAsset, textAsset } from "../asset.ts";
import { openAssets } from "./assets.ts";
import { type ApiDocument, completeDocument } from "./document.ts";

/** A route as the application lists it; Elysia's own list has this shape. */
export interface DescribedRoute {
  method: string;
  path: string;
  hooks: { detail?: RouteDetail };
}

/** What a route declares about itself, as far as the description uses it. */
interface RouteDetail {
  hide?: boolean;
  /** The scopes that the gate requires, e.g. `[{ personal_api_key: ["project:read"] }]`. */
  security?: Record<string, string[]>[];
}

/** @param routes called on the first request for the description, when every room has mounted its routes. */
export function docsRoutes({ routes }: { routes: () => readonly DescribedRoute[] }) {
  const hidden = { detail: { hide: true } };
  const assets = openAssets();
  let described: Promise<Asset> | undefined;
  return new Elysia({ name: "docs" })
    .get("/docs", ({ request }) => assets.page(request), hidden)
    .get(
      "/docs/json",
      async ({ request }) => {
        described ??= describe(routes()).then((document) =>
          textAsset("application/json", JSON.stringify(document)),
        );
        return await sendAsset(await described, request, jsonHeaders);
      },
      hidden,
    )
    .get(
      "/docs/assets/:name",
      async ({ request, params }) => {
        const found = await assets.answer(params.name, request);
        if (!found) throw new Fault("not_found", "The API page has no such file.");
        return found;
      },
      hidden,
    );
}

/** Any page may read the description: client generators run in browsers too, and nothing in it is secret. */
const jsonHeaders = {
  "cache-control": "no-cache",
  "access-control-allow-origin": "*",
};

/** The OpenAPI document of these routes. */
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
