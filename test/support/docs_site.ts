// Writes the operators' pages into a folder, for any web server:
//
//   bun run docs [FOLDER]    (build/docs by default)

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readSite } from "../../src/guide/site.ts";

/** How many files were written. */
export function writeSite(folder: string): number {
  const files = readSite();
  for (const [path, text] of files) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  return files.size;
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? "build/docs");
  console.log(`${writeSite(folder)} files in ${folder}`);
}
