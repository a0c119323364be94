// Loads the server's journal and flush onto the simulated machine: what they import of files and of the event loop is
// replaced as they are loaded, and a bug may be planted in their text. To be imported before them.

import { plugin } from "bun";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { machine, takeGlobals } from "./machine.ts";
import { type Plant, plants } from "./plants.ts";

const src = resolve(import.meta.dir, "../../../src");
const simulatedFs = join(import.meta.dir, "node_fs.ts");
const simulatedClock = join(import.meta.dir, "clock.ts");

/** Files that reach the disk, and those that a bug may be planted in. */
const taken = /\/src\/(?:capture\/(?:journal|flush|store)|core\/(?:clock|machine))[\w/]*\.ts$/;

/** The ledger is rewritten after so few bytes that a seed sees it. */
const scaled: Plant = {
  file: "capture/journal/ledger.ts",
  text: "const ledgerBytesMax = 1024 * 1024;",
  instead: "const ledgerBytesMax = 1024;",
};

export function loadSimulated(plantName: string | undefined): void {
  const planted = plantName === undefined ? [] : plants[plantName]?.changes;
  if (!planted) throw new Error(`no bug is called ${plantName}: ${Object.keys(plants).join(", ")}`);
  const changes = [scaled, ...planted];
  plugin({
    name: "simulated",
    setup: (build) => {
      build.onLoad({ filter: taken }, ({ path }) => ({ contents: textOf(path, changes), loader: "ts" }));
    },
  });
  takeGlobals();
  const file = (path: string) => ({ size: machine().disk.find(path)?.size ?? 0 });
  Object.assign(Bun, { file });
}

function textOf(path: string, changes: readonly Plant[]): string {
  if (path === `${src}/core/clock.ts`) return `export * from ${JSON.stringify(simulatedClock)};`;
  let text = readFileSync(path, "utf8");
  for (const change of changes.filter(({ file }) => path === `${src}/${file}`)) {
    if (text.split(change.text).length !== 2) throw new Error(`${path} does not say once: ${change.text}`);
    text = text.replace(change.text, () => change.instead);
  }
  return text.replaceAll(/"node:fs(?:\/promises)?"/g, JSON.stringify(simulatedFs));
}
