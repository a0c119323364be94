// What is sound of a damaged segment. Never changes the damaged file itself: it is kept as it was found.

import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** Makes a damaged segment anew from its sound frames; the whole file stays beside it, as it was found. */
export function keepSound(path: string, aside: string, sound: [number, number][]): void {
  const bytes = readFileSync(path);
  copyFileSync(path, aside);
  writeFileSync(`${path}.part`, Buffer.concat(sound.map(([from, to]) => bytes.subarray(from, to))), {
    flush: true,
  });
  renameSync(`${path}.part`, path);
}
