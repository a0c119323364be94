// The version of the program.

import { readFileSync } from "node:fs";

/** The version in package.json, e.g. "1.2.3". */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
