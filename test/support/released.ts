// The data folders of test/fixtures/released, unpacked: what a killed server of that version or commit left.

import { chmodSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeFolder } from "./folder.ts";

export const releasedFolder = resolve(import.meta.dir, "../fixtures/released");

export async function unpackReleased(version: string): Promise<string> {
  const folder = makeFolder();
  // Files from an archive belong to whoever unpacks them; the server gives Postgres its own.
  const path = join(releasedFolder, `${version}.tar.zst`);
  await Bun.$`tar --zstd --no-same-owner -xf ${path} -C ${folder}`.quiet();
  chmodSync(folder, 0o700);
  return folder;
}
