// Tells what runs: the version of the program, its commit, and the files of packages that it serves as they are.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The version in the package.json of this folder, by default the program's: e.g. "1.2.3". */
export function readVersion(folder = root): string {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  return version;
}

/**
 * A file of build/, which `npm pack` and the image make of a checkout (test/support/prepack.ts); undefined in a
 * checkout, where what was left there is older than the sources.
 */
export function builtFile(name: string): string | undefined {
  const path = join(root, "build", name);
  return existsSync(path) && !existsSync(join(root, "bun.lock")) ? path : undefined;
}

/** The folder of a package of which files are served or read: those in build/, or the installed package; or none. */
export function servedFolder(name: string): string | undefined {
  const built = builtFile(name);
  if (built !== undefined) return built;
  try {
    return dirname(Bun.resolveSync(`${name}/package.json`, import.meta.dir));
  } catch {
    return undefined;
  }
}

/** The remedy for data of a version from before commit c3da0212. */
export const olderRemedy = "commit 0fcdcc62 opens it; there, then here: bun run sluice migrate";

/** The remedy for data that a newer version has upgraded. */
export const newerRemedy =
  "run that one, or restore a backup from before: DATA_DIR=NEW bun run sluice restore BACKUP";

/** Version, commit and its date, as far as they are known: "0.1.0 (1a2b3c4 of 2026-11-23)". */
export function readBuild(): string {
  const built = builtFile("commit");
  const commit = built === undefined ? gitCommit() : readFileSync(built, "utf8").trim();
  return commit === "" ? readVersion() : `${readVersion()} (${commit})`;
}

/** Reads the commit of the checkout: empty without git, and in a folder of another repository. */
export function gitCommit(): string {
  if (!existsSync(join(root, ".git"))) return "";
  const git = ["git", "-C", root, "log", "-1", "--format=%h of %cs"];
  return Bun.which("git") === null ? "" : Bun.spawnSync(git).stdout.toString().trim();
}
