// posthog-js for pages that load it from here: its snippet, and the parts it fetches when a feature is turned
// on. Never reads another folder than that of the package.

import { Elysia } from "elysia";
import { Fault } from "../core/fault.ts";
import { preflight, withCors } from "../http/cors.ts";
import { problemResponse } from "../http/problem.ts";
import type { Scripts } from "./bundle.ts";

export interface StaticRoutes {
  scripts: Scripts;
}

export function staticRoutes({ scripts }: StaticRoutes) {
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: "static" })
    .get(
      "/static/*",
      async ({ request, params }) =>
        withCors(request, await answer(scripts, request, readAsked(params["*"]))),
      hidden,
    )
    .options("/static/*", ({ request }) => preflight(request), hidden);
}

/** Newer posthog-js asks below its own version first; ours serves it while the first number is the same. */
interface Asked {
  version: string | undefined;
  script: string;
}

function readAsked(path: string): Asked {
  const slash = path.lastIndexOf("/");
  return { version: slash < 0 ? undefined : path.slice(0, slash), script: path.slice(slash + 1) };
}

async function answer(scripts: Scripts, request: Request, asked: Asked): Promise<Response> {
  if (asked.script === "toolbar.js") return new Response(noToolbar, { headers: toolbarHeaders });
  const fits = asked.version === undefined || sameMajor(asked.version, scripts.version);
  const script = fits ? scripts.find(asked.script) : undefined;
  if (!script) return problemResponse(new Fault("not_found", missing(scripts, asked)));
  const etag = `W/"${scripts.version}"`;
  const headers: Record<string, string> = {
    etag,
    "cache-control": "public, max-age=3600",
    vary: "accept-encoding",
  };
  if (request.headers.get("if-none-match")?.includes(etag)) {
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = asked.script.endsWith(".map")
    ? "application/json"
    : "text/javascript; charset=utf-8";
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(await script.plain(), { headers });
  }
  headers["content-encoding"] = "gzip";
  return new Response(await script.gzipped(), { headers });
}

/**
 * The toolbar is PostHog's own application, and no part of posthog-js. A 404 would be an error in the page's console
 * on every page that follows: posthog-js keeps that it was wanted in the storage of the page's site.
 */
const noToolbar = `// This server has no toolbar.
window.ph_load_toolbar = function () {
  try {
    localStorage.removeItem("_postHogToolbarParams");
  } catch (_) {}
};
`;
const toolbarHeaders = {
  "content-type": "text/javascript; charset=utf-8",
  "cache-control": "public, max-age=3600",
};

function sameMajor(asked: string, installed: string | undefined): boolean {
  return installed !== undefined && asked.split(".")[0] === installed.split(".")[0];
}

function missing({ version }: Scripts, asked: Asked): string {
  if (version === undefined) return "posthog-js is not installed beside this server.";
  if (asked.version !== undefined) return `The scripts here are those of posthog-js ${version}.`;
  return `posthog-js ${version} has no script named ${asked.script.slice(0, 100)}.`;
}
