// version.json of a DATA_DIR with embedded stores: which version upgraded it, and what a program must know to open it.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import { toMembers } from "../../core/json/dictionary.ts";
import { newerRemedy, readVersion } from "../../core/version.ts";
import { knownMigrations, lastStops, readMigrations, storeNames, type Versions } from "./files.ts";

/**
 * Names, for a DATA_DIR with embedded stores, the version that upgraded it, and the migrations that a program must know
 * to open it. It is read before anything is written, or an older program would notice only once the stores run.
 */
const fileName = "version.json";

/** With the number of the last migration of each store that older programs are not compatible with. */
type FolderVersion = Versions & { version: string };

/** Writes the file if it changed; the stores are migrated by then. */
export function writeFolderVersion(dataDir: string): void {
  const folderVersion: FolderVersion = { version: readVersion(), ...lastStops(readMigrations()) };
  const text = `${JSON.stringify(folderVersion)}\n`;
  const path = join(dataDir, fileName);
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  writeFileSync(path, text, { mode: 0o600, flush: true });
}

/** @throws UserError when a newer version has upgraded the folder so that this program cannot open it. */
export function refuseNewerFolder(dataDir: string): void {
  const path = join(dataDir, fileName);
  if (!existsSync(path)) return;
  const { version, ...needs } = readFolderVersion(path);
  const newest = knownMigrations();
  if (storeNames.every((store) => needs[store] <= newest[store])) return;
  throw new UserError(
    `DATA_DIR ${dataDir} was upgraded by version ${version}, newer than this program (${readVersion()}); ` +
      newerRemedy,
  );
}

/** An unreadable file is ignored: the stores have the same facts in their tables. */
function readFolderVersion(path: string): FolderVersion {
  try {
    const { version, postgres, clickhouse } = toMembers(JSON.parse(readFileSync(path, "utf8")));
    return { version: String(version), postgres: Number(postgres) || 0, clickhouse: Number(clickhouse) || 0 };
  } catch {
    return { version: "", postgres: 0, clickhouse: 0 };
  }
}
