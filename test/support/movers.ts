// The table of src/docs/moving_from.md of programs that were written for PostHog: each row has a test that is named after
// it and uses the version it names.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

export interface Mover {
  name: string;
  version: string;
  setting: string;
  works: string;
}

/** The rows of the page, from top to bottom. */
export function readMovers(): Mover[] {
  const page = readFileSync(join(root, "src/docs/moving_from.md"), "utf8");
  const [, table = ""] = /\n\| program +\|.*\n\|[-| ]+\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  return table
    .trim()
    .split("\n")
    .map((row) => {
      const [, name = "", version = "", setting = "", works = ""] = row.split("|").map((cell) => cell.trim());
      return { name, version, setting, works };
    });
}

/**
 * The name of a row's test.
 * @param pinned a file of test/clients that names the version, or all of several.
 * @throws when the page has no such row, or names another version.
 */
export function moverTest(name: string, pinned: string): string {
  const mover = readMovers().find((one) => one.name === name);
  if (!mover) throw new Error(`moving_from.md has no row ${name}`);
  const text = readFileSync(join(root, "test/clients", pinned), "utf8");
  for (const version of mover.version.split(", ")) {
    if (!text.includes(version)) throw new Error(`${pinned} has not the version ${version} of ${name}`);
  }
  return `${name} ${mover.version}: ${mover.works}`;
}
