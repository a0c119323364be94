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
      async ({ request, params }) =>
        withCors(request, await answer(scripts, request, readScriptRequest(params["*"]))),
      hidden,
    )
    .options("/static/*", ({ request }) => preflight(request), hidden);
}

/** Newer posthog-js requests /static/<its version>/… first: served while the major version is the same. */
type ScriptRequest = ReturnType<typeof readScriptRequest>;

function readScriptRequest(path: string) {
  const slash = path.lastIndexOf("/");
  return { version: slash < 0 ? undefined : path.slice(0, slash), script: path.slice(slash + 1) };
}

async function answer(scripts: Scripts, request: Request, wanted: ScriptRequest): Promise<Response> {
  if (wanted.script === "toolbar.js") return new Response(noToolbar, { headers: toolbarHeaders });
  const fits =
    wanted.version === undefined || wanted.version.split(".")[0] === scripts.version?.split(".")[0];
  const script = fits ? scripts.find(wanted.script) : undefined;
  if (!script) return problemResponse(new Fault("not_found", missing(scripts, wanted)));
  return await sendAsset(script, request, { ...cached, etag: `W/"${scripts.version}"` });
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

function missing({ version }: Scripts, wanted: ScriptRequest): string {
  if (version === undefined) return "posthog-js is not installed with this server.";
  if (wanted.version !== undefined) return `The scripts here are those of posthog-js ${version}.`;
  return `posthog-js ${version} has no script named ${wanted.script.slice(0, 100)}.`;
}

export interface Scripts {
  /** Of posthog-js; undefined when the package is not installed. */
  version: string | undefined;
  /** A script or a source map by its file name, e.g. `array.js`. */
  find(name: string): Asset | undefined;
}

/** `folder`: of the posthog-js package, by default the installed one; undefined where there is none. */
export function openScripts(folder: string | undefined = servedFolder("posthog-js")): Scripts {
  if (folder === undefined || !existsSync(join(folder, "dist"))) {
    return { version: undefined, find: () => undefined };
  }
  const names = readdirSync(join(folder, "dist")).filter((name) => /^[\w.-]+\.js(\.map)?$/.test(name));
  const chooseType = (name: string) => (name.endsWith(".map") ? "application/json" : scriptType);
  const scripts = new Map(
    names.map((name) => [name, fileAsset(join(folder, "dist", name), chooseType(name))]),
  );
  return { version: readVersion(folder), find: (name) => scripts.get(name) };
}
