// Which version of the program this is. Read when asked for.

import { readFileSync } from "node:fs";

/** As package.json says it, e.g. "1.2.3". */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
