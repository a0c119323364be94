// Writes what a release has beside its package: the list of packages (CycloneDX), where the package is from (in-toto,
// SLSA 1), and the checksums of all three, which a maintainer signs. It has no time in it: made again it is the same.
//
//   npm pack && bun test/support/release_files.ts BUILDER     a URI of who builds, e.g. of a CI's workflow

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../../package.json";

const root = resolve(import.meta.dir, "../..");
const packed = `${manifest.name}-${manifest.version}`;
const sha256 = (bytes: string | Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const git = async (...args: string[]) => (await Bun.$`git -C ${root} ${args}`.text()).trim();

const [builder] = process.argv.slice(2);
if (!builder || !URL.canParse(builder)) throw new Error("expected one argument: a URI of who builds");
if ((await git("status", "--porcelain", "--untracked-files=no")) !== "")
  throw new Error("the checkout has changes that are in no commit");

const tarball = readFileSync(join(root, `${packed}.tgz`));
const read = (name: string) => Bun.$`tar -xzOf - package/build/${name} < ${tarball}`.text();
const commit = await git("rev-parse", "HEAD");
if (!commit.startsWith((await read("commit")).split(" ")[0]!))
  throw new Error(`${packed}.tgz was made of another commit`);

const provenance = {
  _type: "https://in-toto.io/Statement/v1",
  subject: [{ name: `${packed}.tgz`, digest: { sha256: sha256(tarball) } }],
  predicateType: "https://slsa.dev/provenance/v1",
  predicate: {
    buildDefinition: {
      buildType: "urn:sluice:npm-pack",
      externalParameters: { command: "npm pack" },
      resolvedDependencies: [
        { name: "source", digest: { gitCommit: commit } },
        { name: "bun.lock", digest: { sha256: sha256(readFileSync(join(root, "bun.lock"))) } },
      ],
    },
    runDetails: { builder: { id: builder } },
  },
};
const files = {
  [`${packed}.cdx.json`]: await read("sbom.cdx.json"),
  [`${packed}.intoto.json`]: `${JSON.stringify(provenance, null, 1)}\n`,
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
const sums = Object.entries({ [`${packed}.tgz`]: tarball, ...files }).map(
  ([name, content]) => `${sha256(content)}  ${name}\n`,
);
writeFileSync(join(root, "SHA256SUMS"), sums.join(""));
