// The files of posthog-js: the script that pages load, and the parts that it fetches when a feature is on.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Elysia } from "elysia";
import { Fault } from "../core/fault.ts";
import { readVersion, servedFolder } from "../core/version.ts";
import { type Asset, fileAsset, sendAsset } from "../http/asset.ts";
import { preflight, withCors } from "../http/cors.ts";
import { problemResponse } from "../http/problem.ts";

export function staticRoutes({ scripts }: { scripts: Scripts }) {
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: "static" })
    .get(
      "/static/*",
      async ({ request, params }) => withCors(request, await answer(scripts, request, params["*"])),
      hidden,
    )
    .options("/static/*", ({ request }) => preflight(request), hidden);
}

async function answer(scripts: Scripts, request: Request, path: string): Promise<Response> {
  // Newer posthog-js requests /static/<its version>/… first: served while the major version is the same.
  const slash = path.lastIndexOf("/");
  const version = slash < 0 ? undefined : path.slice(0, slash);
  const name = path.slice(slash + 1);
  if (name === "toolbar.js") return new Response(noToolbar, { headers: toolbarHeaders });
  const fits = version === undefined || version.split(".")[0] === scripts.version?.split(".")[0];
  const script = fits ? scripts.find(name) : undefined;
  if (script) return await sendAsset(script, request, { ...cached, etag: `W/"${scripts.version}"` });
  const installed = `posthog-js ${scripts.version}`;
  const missing =
    scripts.version === undefined
      ? "posthog-js is not installed with this server."
      : version === undefined
        ? `${installed} has no script named ${name.slice(0, 100)}.`
        : `The scripts here are those of ${installed}.`;
  return problemResponse(new Fault("not_found", missing));
}

const cached = { "cache-control": "public, max-age=3600" };

/**
 * The toolbar is an application of PostHog, not a part of posthog-js. posthog-js remembers in local storage that the
 * toolbar was requested, so a 404 would put an error into the console of every later page.
 */
const noToolbar = `// This server has no toolbar.
window.ph_load_toolbar = function () {
  try {
    localStorage.removeItem("_postHogToolbarParams");
  } catch (_) {}
};
`;
const scriptType = "text/javascript; charset=utf-8";
const toolbarHeaders = { ...cached, "content-type": scriptType };

type Scripts = ReturnType<typeof openScripts>;

/**
 * The version of posthog-js, undefined when the package is not installed, and its scripts and source maps by name.
 * @param folder of the package, by default the installed one; undefined where there is none.
 */
export function openScripts(folder: string | undefined = servedFolder("posthog-js")) {
  const scripts = new Map<string, Asset>();
  const find = (name: string) => scripts.get(name);
  if (folder === undefined || !existsSync(join(folder, "dist"))) return { version: undefined, find };
  for (const name of readdirSync(join(folder, "dist"))) {
    const type = name.endsWith(".map") ? "application/json" : scriptType;
    if (/^[\w.-]+\.js(\.map)?$/.test(name)) scripts.set(name, fileAsset(join(folder, "dist", name), type));
  }
  return { version: readVersion(folder), find };
}
