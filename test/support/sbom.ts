// The packages that the program is installed with, as a CycloneDX document, from bun.lock: of every platform.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../../package.json";

const root = resolve(import.meta.dir, "../..");

interface Needs {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalPeers?: string[];
}

/** By path below node_modules: name and version, where it is from, what it needs, and its hash. */
type Packages = Record<string, [spec: string, origin: string, needs: Needs, integrity: string]>;

/** @param carried packages of which files are in build/. */
export function sbomOf(carried: readonly string[]): object {
  const text = readFileSync(join(root, "bun.lock"), "utf8");
  const { packages } = Bun.JSONC.parse(text) as { packages: Packages };
  const found = new Set(carried);
  const visit = (from: string, needs: Needs): void => {
    const { dependencies, optionalDependencies, peerDependencies = {}, optionalPeers = [] } = needs;
    const peers = Object.keys(peerDependencies).filter((name) => !optionalPeers.includes(name));
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const path = find(packages, from, name);
      // Of a platform for which the registry had none when the lock was made.
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      visit(path, packages[path]![2]);
    }
  };
  const { name, version, license, dependencies, optionalDependencies } = manifest;
  visit("", { dependencies, optionalDependencies });
  const components = [...found].toSorted().map((path) => component(path, packages[path]!));
  const application = { type: "application", name, version, licenses: [{ expression: license }] };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: application },
    components,
  };
}

function component(path: string, [spec, , , integrity]: Packages[string]): object {
  const at = spec.lastIndexOf("@");
  const [name, version] = [spec.slice(0, at), spec.slice(at + 1)];
  const content = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  return {
    type: "library",
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hashes: [{ alg: "SHA-512", content }],
    ...licensed(join(root, "node_modules", namesIn(path).join("/node_modules/"))),
  };
}

/** Known where the package is installed. */
function licensed(folder: string): object {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return {};
  const { license } = JSON.parse(readFileSync(file, "utf8")) as { license?: unknown };
  return typeof license === "string" ? { licenses: [{ expression: license }] } : {};
}

/** The names of packages, each below the one before it. */
function namesIn(path: string): string[] {
  return path.match(/(?:@[^/]+\/)?[^/]+/g) ?? [];
}

/** Where a package finds another: below itself, or below one around it. */
function find(packages: Packages, from: string, name: string): string | undefined {
  for (let around = from; ; around = namesIn(around).slice(0, -1).join("/")) {
    const path = around === "" ? name : `${around}/${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (around === "") return undefined;
  }
}
