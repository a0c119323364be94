// The API's description of itself: OpenAPI for programs, a page for people. The one file that knows the plugin that
// reads routes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import { Fault } from "../../core/fault.ts";
import { installedAssets, openAssets } from "./assets.ts";
import { type ApiDocument, completeDocument } from "./document.ts";

/** A route of the application; elements of Elysia's own list fit. */
export interface DescribedRoute {
  method: string;
  path: string;
  hooks: { detail?: RouteDetail };
}

/** The parts of a route's detail that are used here. */
export interface RouteDetail {
  hide?: boolean;
  /** What the gate requires, for example `[{ personal_api_key: ["project:read"] }]`. */
  security?: Record<string, string[]>[];
}

export interface DocsOptions {
  /** Read at the first request for the description, when every room has mounted its routes. */
  routes: () => readonly DescribedRoute[];
}

export function docsRoutes({ routes }: DocsOptions) {
  const hidden = { detail: { hide: true } };
  const assets = openAssets(installedAssets());
  let described: Promise<string> | undefined;
  return (
    new Elysia({ name: "docs" })
      // The start of the server prints this address, which people open in a browser.
      .get("/", () => new Response(null, { status: 302, headers: { location: "/docs" } }), hidden)
      .get("/docs", ({ request }) => assets.page(request), hidden)
      .get(
        "/docs/json",
        async () => {
          described ??= describe(routes()).then((document) => JSON.stringify(document));
          return new Response(await described, { headers: jsonHeaders });
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
      )
  );
}

/** Readable by any page: client generators run in browsers, and nothing in it is secret. */
const jsonHeaders = {
  "content-type": "application/json",
  "cache-control": "no-cache",
  "access-control-allow-origin": "*",
};

/** The OpenAPI document of these routes. */
export async function describe(routes: readonly DescribedRoute[]): Promise<ApiDocument> {
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../../package.json"), "utf8")) as {
    version: string;
  };
  // The plugin adds a page that loads scripts from another host, so it gets a copy of the routes that is not served.
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
