// The files of posthog-js: the script that pages load, and the parts that it fetches when a feature is on.

import { Elysia } from "elysia";
import { Fault } from "../core/fault.ts";
import { sendAsset } from "../http/asset.ts";
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

/** Newer posthog-js asks for /static/<its version>/… first: served while the major version is the same. */
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
  const fits = asked.version === undefined || isSameMajor(asked.version, scripts.version);
  const script = fits ? scripts.find(asked.script) : undefined;
  if (!script) return problemResponse(new Fault("not_found", missing(scripts, asked)));
  return await sendAsset(script, `W/"${scripts.version}"`, request, cached);
}

const cached = { "cache-control": "public, max-age=3600" };

/**
 * The toolbar is an application of PostHog, not a part of posthog-js. posthog-js remembers in local storage that the
 * toolbar was asked for, so a 404 would put an error into the console of every later page.
 */
const noToolbar = `// This server has no toolbar.
window.ph_load_toolbar = function () {
  try {
    localStorage.removeItem("_postHogToolbarParams");
  } catch (_) {}
};
`;
const toolbarHeaders = { ...cached, "content-type": "text/javascript; charset=utf-8" };

function isSameMajor(asked: string, installed: string | undefined): boolean {
  return installed !== undefined && asked.split(".")[0] === installed.split(".")[0];
}

function missing({ version }: Scripts, asked: Asked): string {
  if (version === undefined) return "posthog-js is not installed beside this server.";
  if (asked.version !== undefined) return `The scripts here are those of posthog-js ${version}.`;
  return `posthog-js ${version} has no script named ${asked.script.slice(0, 100)}.`;
}
