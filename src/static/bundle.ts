// The scripts and source maps of the posthog-js package, for pages that load posthog-js from this server.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Asset, fileAsset } from "../http/asset.ts";

export interface Scripts {
  /** Of posthog-js; undefined when the package is not installed. */
  version: string | undefined;
  /** A script or a source map by its file name, e.g. `array.js`. */
  find(name: string): Asset | undefined;
}

/** `folder`: of the posthog-js package; undefined: no scripts. */
export function openScripts(folder: string | undefined): Scripts {
  if (folder === undefined || !existsSync(join(folder, "dist"))) {
    return { version: undefined, find: () => undefined };
  }
  const names = readdirSync(join(folder, "dist")).filter((name) => /^[\w.-]+\.js(\.map)?$/.test(name));
  const scripts = new Map(names.map((name) => [name, fileAsset(join(folder, "dist", name), typeOf(name))]));
  return { version: readVersion(folder), find: (name) => scripts.get(name) };
}

/** Where posthog-js is installed, if it is. */
export function installedFolder(): string | undefined {
  try {
    return dirname(Bun.resolveSync("posthog-js/package.json", import.meta.dir));
  } catch {
    return undefined;
  }
}

function typeOf(name: string): string {
  return name.endsWith(".map") ? "application/json" : "text/javascript; charset=utf-8";
}

function readVersion(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: unknown };
  return String(version);
}
