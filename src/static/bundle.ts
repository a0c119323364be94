// The scripts of posthog-js as its package holds them: what a page loads that does not bring its own. Never
// serves a file that was not there when it opened.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

export interface Scripts {
  /** Of posthog-js; undefined when the package is not installed. */
  version: string | undefined;
  /** A script or a source map by its file name, e.g. `array.js`. */
  find(name: string): Script | undefined;
}

export interface Script {
  plain(): Promise<Uint8Array>;
  /** Compressed once, then kept: a page load must not cost more than copying bytes. */
  gzipped(): Promise<Uint8Array>;
}

/** `folder`: of the posthog-js package; undefined opens an empty shelf. */
export function openScripts(folder: string | undefined): Scripts {
  if (folder === undefined || !existsSync(join(folder, "dist"))) {
    return { version: undefined, find: () => undefined };
  }
  const names = readdirSync(join(folder, "dist")).filter((name) => /^[\w.-]+\.js(\.map)?$/.test(name));
  const scripts = new Map(names.map((name) => [name, openScript(join(folder, "dist", name))]));
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

const compress = promisify(gzip);

function openScript(path: string): Script {
  let compressed: Promise<Uint8Array> | undefined;
  const plain = () => readFile(path);
  return { plain, gzipped: () => (compressed ??= plain().then((bytes) => compress(bytes))) };
}

function readVersion(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: unknown };
  return String(version);
}
