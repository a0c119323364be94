// A copy of `src` to which a test adds something, to run it and to say which files that took.

import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeFolder } from "./folder.ts";

const root = resolve(import.meta.dir, "../..");

interface ChangedSource {
  /** Files that were added or changed, below `src`. */
  touched: string[];
  /** A module of the changed source. */
  load<Module>(path: string): Promise<Module>;
}

/**
 * @param changes by path below `src`: the text of a new file, or pairs of a text of a file and what comes behind it.
 */
export function changedSource(
  changes: Record<string, string | [after: string, added: string][]>,
): ChangedSource {
  const folder = makeFolder();
  for (const name of ["src", "sql"]) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of ["package.json", "tsconfig.json"]) cpSync(join(root, name), join(folder, name));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [path, change] of Object.entries(changes)) {
    const file = join(folder, "src", path);
    mkdirSync(dirname(file), { recursive: true });
    if (typeof change === "string") {
      if (existsSync(file)) throw new Error(`${path} is there already`);
      writeFileSync(file, change);
      continue;
    }
    let text = readFileSync(file, "utf8");
    for (const [after, added] of change) {
      if (text.split(after).length !== 2) throw new Error(`${path} does not have once: ${after}`);
      text = text.replace(after, () => after + added);
    }
    writeFileSync(file, text);
  }
  return {
    touched: Object.keys(changes),
    load: async <Module>(path: string) => (await import(join(folder, "src", path))) as Module,
  };
}
