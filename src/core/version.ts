// The versions of the program and of the packages whose files it serves.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The version in the package.json of this folder, by default the program's: e.g. "1.2.3". */
export function readVersion(folder = fileURLToPath(new URL("../..", import.meta.url))): string {
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as { version: string };
  return version;
}
