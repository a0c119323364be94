// Where a journal is: which folder on which machine. A copied folder is recognized by its inodes.

import { existsSync, realpathSync, statSync } from "node:fs";
import { hostname } from "node:os";
import type { Log } from "../../../core/log.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";

/** As it is written beside the journal. */
export interface Home {
  host: string;
  /** The real path of the folder that contains the journal's. */
  path: string;
  /** Inodes of the journal's folder and of the lock beside it: a copy has others. Devices change with every boot. */
  inodes: string;
}

export function homeOf(ownDir: string): Home {
  return { host: hostname(), path: realpathSync(ownDir), inodes: inodesOf(ownDir) };
}

/** Whether `now` is another folder than `before` was, or a copy in its place. */
export function isElsewhere(before: Home, now: Home): boolean {
  return before.inodes !== now.inodes;
}

/** Whether that folder is still where it was, on this machine. */
export function isStillThere(home: Home): boolean {
  return home.host === hostname() && inodesOf(home.path) === home.inodes;
}

/** Logs that a folder was copied or moved since its last start. */
export function logCopy(
  from: (Home & { stillThere: boolean }) | undefined,
  { dataDir, postgres, log }: { dataDir: string; postgres: string; log: Log },
): void {
  if (!from) return;
  const text =
    postgres === embeddedAddress
      ? "DATA_DIR is a copy, or was moved: its embedded stores hold what the copy caught and share nothing with the " +
        "original; copied while a server ran, they may be damaged"
      : "DATA_DIR is a copy, or was moved: its journal goes on when no other process uses it, else under a new number";
  log.warn(text, { data_dir: dataDir, from: from.path, host: from.host, still_there: from.stillThere });
}

function inodesOf(ownDir: string): string {
  const paths = [`${ownDir}/journal`, `${ownDir}/lock`];
  return paths.map((path) => (existsSync(path) ? statSync(path, { bigint: true }).ino : 0n)).join(" ");
}
