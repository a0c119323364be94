// The data folders of test/fixtures/released: what a killed server of that version or commit left.

import { chmodSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeFolder } from "./folder.ts";

export const releasedFolder = resolve(import.meta.dir, "../fixtures/released");

/** The folder by which the others are shortened: most of each is what Postgres makes for itself. */
const reference = "c3da0212";
const window = "--long=27";

const archive = (version: string) => join(releasedFolder, `${version}.tar.zst`);

async function unpackReference(): Promise<string> {
  const tar = `${makeFolder()}/tar`;
  await Bun.$`zstd -qd ${archive(reference)} -o ${tar}`.quiet();
  return tar;
}

export async function packReleased(version: string, dataDir: string): Promise<void> {
  const [tar, common] = [`${makeFolder()}/tar`, await unpackReference()];
  await Bun.$`tar -cf ${tar} -C ${dataDir} .`.quiet();
  await Bun.$`zstd -q -f --ultra -22 ${window} --patch-from=${common} ${tar} -o ${archive(version)}`.quiet();
}

export async function unpackReleased(version: string): Promise<string> {
  const [folder, common, whole] = [makeFolder(), await unpackReference(), `${makeFolder()}/tar`];
  const patch = ["-qd", window, `--patch-from=${common}`, archive(version), "-o", whole];
  if (version !== reference) await Bun.$`zstd ${patch}`.quiet();
  // Files from an archive belong to whoever unpacks them; the server gives Postgres its own.
  await Bun.$`tar --no-same-owner -xf ${version === reference ? common : whole} -C ${folder}`.quiet();
  chmodSync(folder, 0o700);
  return folder;
}
