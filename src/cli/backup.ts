// `sluice backup`: copies the data of the embedded stores and the journal into a folder, while the server runs.

import type { Config } from "../config.ts";
import { systemClock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { openLog } from "../core/log.ts";
import { readArguments } from "./args.ts";
import type { Manifest } from "./backup/manifest.ts";
import { writeBackup } from "./backup/write_backup.ts";
import type { Command } from "./command.ts";

export const backupCommand: Command = {
  name: "backup",
  summary: "copy everything of the embedded stores into a folder, while the server runs",
  help: `usage: bun run sluice backup DIR

Writes a backup of DATA_DIR into DIR, which must be new or empty: Postgres, ClickHouse, pending and quarantined
events, and DATA_DIR/secret.key: protect it like DATA_DIR. A server may run meanwhile; every event that was answered
with 200 before the backup began is in it.
DIR appears when the backup is complete; until then it is named DIR.partial. DIR/files can be checked with
sha256sum -c. Remote stores are backed up with their own tools.

  DATA_DIR=/var/lib/sluice bun run sluice backup /backups/monday`,
  run: async (args, { config, print }) => {
    const target = folderOf(args);
    refuseRemote(config, "backup");
    const { dataDir } = config;
    const manifest = await writeBackup({ dataDir, target, clock: systemClock, log: logOf(config) });
    print(`backed up ${totalsText(manifest)} to ${target}`);
    return 0;
  },
};

/** The only argument. */
export function folderOf(args: string[]): string {
  const [folder, ...more] = readArguments(args, []).positionals;
  if (folder === undefined || folder.trim() === "" || more.length > 0) {
    throw new UserError("expected one folder", 2);
  }
  return folder;
}

/** @throws UserError when a store is not embedded. */
export function refuseRemote({ databaseUrl, clickhouseUrl }: Config, verb: "backup" | "restore"): void {
  const names = [databaseUrl && "DATABASE_URL", clickhouseUrl && "CLICKHOUSE_URL"].filter(Boolean);
  if (names.length === 0) return;
  const set = names.join(" and ");
  throw new UserError(
    `${set} ${names.length === 1 ? "is" : "are"} set, and sluice ${verb} is for embedded stores: use pg_dump or ` +
      'ClickHouse\'s BACKUP and RESTORE for remote ones (src/docs/backup.md, "Remote stores")',
  );
}

/** Notices of the stores would mix with the output of the command; their warnings are printed. */
export function logOf({ logLevel, logFormat }: Config): ReturnType<typeof openLog> {
  return openLog({ level: logLevel === "info" ? "warn" : logLevel, format: logFormat });
}

export function totalsText({ files: { files, bytes } }: Manifest): string {
  return `${files.toLocaleString("en")} files, ${Math.ceil(bytes / 1e6).toLocaleString("en")} MB`;
}
