// The console's scripts and styles, bundled on the first request for one of them and kept in memory. Before that none
// of their code is loaded.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Log, toReason } from "../core/log.ts";
import { builtFile } from "../core/version.ts";
import { wordsIn } from "../core/words.ts";
import { type Asset, assetHeaders, sendAsset, textAsset } from "../http/asset.ts";
import { sqlWords } from "../query/sql/words.ts";

interface Bundled {
  asset: Asset;
  etag: string;
}

/** Entries of the bundles; each becomes one file of the same name. */
const entries = ["main.tsx", "style.css", "player.tsx", "player.css", "shared.tsx"];

export function openPages(log: Log) {
  let built: Promise<Map<string, Bundled>> | undefined;
  const bundled = async (): Promise<Map<string, Bundled>> => {
    built ??= bundle().catch((thrown: unknown) => {
      built = undefined;
      log.error("the console could not be bundled", { reason: toReason(thrown) });
      throw thrown;
    });
    return await built;
  };
  return {
    /** A script, style or icon by its file name; undefined for an unknown name. */
    answer: async (name: string, request: Request) => {
      if (!names.has(name) && !partName.test(name)) return undefined;
      const file = (await bundled()).get(name);
      return file && (await sendAsset(file.asset, request, { ...assetHeaders, etag: file.etag }));
    },
  };
}

const names = new Set<string>(wordsIn("main.js style.css player.js player.css shared.js icon.svg sql.json"));

/** Parts of several scripts, and pages that are loaded when they are opened; the name is a hash of the content. */
const partName = /^part-[0-9a-z]{8}\.js$/;

async function bundle(): Promise<Map<string, Bundled>> {
  const files = new Map<string, Bundled>([
    ["icon.svg", toBundled(icon, "image/svg+xml")],
    // The names that the SQL editor offers: those of the language, of no project.
    ["sql.json", toBundled(JSON.stringify(sqlWords()), "application/json")],
  ]);
  const built = builtFile("console");
  for (const [name, text] of built === undefined ? await bundleConsole() : readFiles(built)) {
    const type = name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
    files.set(name, toBundled(text, type));
  }
  return files;
}

/** The scripts and styles by file name, made of their sources and packages. */
export async function bundleConsole(): Promise<[name: string, text: string][]> {
  const folder = join(import.meta.dir, "app");
  const made = await Bun.build({
    entrypoints: entries.map((name) => join(folder, name)),
    target: "browser",
    minify: true,
    splitting: true,
    naming: { entry: "[name].[ext]", chunk: "part-[hash].[ext]" },
  });
  return await Promise.all(
    made.outputs.map(async (output) => [basename(output.path), await output.text()] as [string, string]),
  );
}

function readFiles(folder: string): [name: string, text: string][] {
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]);
}

function toBundled(text: string, type: string): Bundled {
  return { asset: textAsset(type, text), etag: `"${Bun.hash(text).toString(36)}"` };
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#2563eb"/>
<path d="M7 21v-5M13 21V9M19 21v-8M25 21V6" stroke="#fff" stroke-width="3" stroke-linecap="round"/>
<path d="M6 26c4-3 6 2 10 0s6 1 10-1" stroke="#93c5fd" stroke-width="2" fill="none" stroke-linecap="round"/>
</svg>`;
