// Makes build/, which a package and an image have of a checkout in place of packages that nothing imports: the commit,
// the console's scripts, files that are served or read as they are, and the list of all packages (CycloneDX). `npm pack`
// runs it first and removes build/ after.
//
//   bun test/support/prepack.ts [what stands for the commit where there is no git]

import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { bundleConsole } from "../../src/console/bundle.ts";
import { gitCommit } from "../../src/core/version.ts";
import { uiFiles } from "../../src/http/docs/docs.ts";
import { sbomOf } from "./sbom.ts";

const root = resolve(import.meta.dir, "../..");
const build = join(root, "build");

/** The files of each package that are carried, beside its package.json and its licence. */
const carried: Record<string, (file: string) => boolean> = {
  "posthog-js": (file) => /^dist\/[\w.-]+\.js$/.test(file),
  "swagger-ui-dist": (file) => (uiFiles as readonly string[]).includes(file),
  "dejavu-fonts-ttf": (file) => file === "ttf/DejaVuSans.ttf",
  // In the console's scripts.
  preact: () => false,
  rrweb: () => false,
  uplot: () => false,
};

const tagged = readdirSync(join(root, "node_modules/postgres")).some((name) => name.startsWith(".bun-tag"));
if (!tagged) throw new Error("node_modules/postgres lacks its patch; run bun install");
rmSync(build, { recursive: true, force: true });
write("sbom.cdx.json", `${JSON.stringify(sbomOf(Object.keys(carried)), null, 1)}\n`);
write("commit", gitCommit() || (process.argv[2] ?? ""));
for (const [name, text] of await bundleConsole()) write(`console/${name}`, text);
for (const [name, isCarried] of Object.entries(carried)) {
  const folder = join(root, "node_modules", name);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const kept = files.filter(
    (file) => file === "package.json" || /^licen[cs]e/i.test(file) || isCarried(file),
  );
  for (const file of kept) cpSync(join(folder, file), join(build, name, file));
}

function write(name: string, text: string): void {
  const path = join(build, name);
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
