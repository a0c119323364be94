// `sluice backup` copies the data of embedded stores and the journal; `sluice restore` fills an empty folder from it.

import { tmpdir } from "node:os";
import type { Config } from "../config.ts";
import { systemClock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { type Log, openLog } from "../core/log.ts";
import { type Arguments, optionalText, readArguments } from "./args.ts";
import { archiveAdder } from "./backup/archive/restore_archive.ts";
import { backupLimits } from "./backup/limits.ts";
import type { Manifest } from "./backup/manifest.ts";
import { restoreBackup } from "./backup/restore.ts";
import { openBackup, verifyBackup } from "./backup/verify_backup.ts";
import { writeBackup } from "./backup/write_backup.ts";
import type { CliContext, Command } from "./command.ts";

export const backupCommand: Command = {
  name: "backup",
  summary: "copy everything of the embedded stores into a folder or a bucket, while the server runs",
  help: `usage: bun run sluice backup PLACE [--keep N [--incremental]]
       bun run sluice backup verify PLACE [--open FOLDER]

Writes a backup of DATA_DIR: Postgres, ClickHouse, pending and quarantined events, and DATA_DIR/secret.key: protect it
like DATA_DIR. A server may run meanwhile; every event that was answered with 200 before the backup began is in it.
Remote stores are backed up with their own tools.

PLACE is a folder, or s3://bucket/prefix of an S3-compatible store with the key of AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL). It must be empty. A folder is named
PLACE.partial until the backup is complete; in a bucket the manifest is written last. Its list \`files\` can be checked
with sha256sum -c.

  --keep N  PLACE is for several backups: this one gets a folder sluice-TIME-DATABASE in it, and only
            the N newest of this database are kept
  --incremental  writes only those of ClickHouse's files that earlier incremental backups in PLACE have not
                 written. They lie beside them, in sluice-files-DATABASE, as long as a backup needs them

verify reads the backup at PLACE whole and names all that is missing, damaged or none of its files. Exit code: 0 it is
whole, 1 it is damaged or cannot be read, 2 wrong use. A folder called verify is ./verify.
  --open FOLDER  then restores it below FOLDER, which needs the backup's size (twice from a bucket), counts its
                 events, recordings and projects, and removes it again; one that is killed leaves sluice-verify-…
                 there, with the data and secret.key

  DATA_DIR=/var/lib/sluice bun run sluice backup s3://backups/sluice --keep 7`,
  run: async (args, { config, print }) => {
    const words = readArguments(args, ["keep", "open"], ["incremental"]);
    const isIncremental = words.values["incremental"] === true;
    if (words.positionals[0] === "verify") return await verify(words, config, print);
    if (words.values["open"] !== undefined) throw new UserError("only backup verify has --open", 2);
    const [target, kept] = [readTarget(words), readCount(words)];
    if (isIncremental && kept === undefined) throw new UserError("--incremental needs --keep N", 2);
    refuseRemote(config, "backup");
    const { dataDir, bucketAccess } = config;
    const { manifest, location, reusedBytes, removed } = await writeBackup({
      dataDir,
      target,
      isIncremental,
      bucketAccess,
      clock: systemClock,
      log: openBackupLog(config),
      ...(kept !== undefined && { kept }),
    });
    const written = isIncremental ? `, ${megabytes(manifest.files.bytes - reusedBytes)} of them new,` : "";
    print(`backed up ${totalsText(manifest)}${written} to ${location}`);
    if (removed > 0) print(`removed ${removed} older ${removed === 1 ? "backup" : "backups"}`);
    return 0;
  },
};

export const restoreCommand: Command = {
  name: "restore",
  summary: "fill an empty DATA_DIR from a backup",
  help: `usage: bun run sluice restore PLACE [--archive]

Checks the backup in the folder PLACE, or at the address s3://bucket/prefix, file by file, and fills DATA_DIR, which
must be empty, with it. The server is started afterwards; it stores the pending events. Every start refuses an
interrupted restore: empty DATA_DIR and restore again. Exports and subscriptions repeat what they sent since.

  --archive  adds what JOURNAL_ARCHIVE has put beside it since, and tells gaps

  DATA_DIR=/var/lib/sluice bun run sluice restore /backups/monday`,
  run: async (args, { config, print }) => {
    const words = readArguments(args, [], ["archive"]);
    const source = readTarget(words);
    refuseRemote(config, "restore");
    const added: string[] = [];
    const archived = words.values["archive"] === true && { addArchive: archiveAdder(config, source, added) };
    const manifest = await restoreBackup({ ...config, source, log: openBackupLog(config), ...archived });
    const restored = `restored ${totalsText(manifest)}, as of ${manifest.begun_at}, to ${config.dataDir}`;
    print([restored, ...added].join("\n"));
    return 0;
  },
};

async function verify(words: Arguments, config: Config, print: CliContext["print"]): Promise<number> {
  for (const name of ["keep", "incremental"]) {
    if (words.values[name] !== undefined) throw new UserError(`backup verify has no --${name}`, 2);
  }
  const source = readTarget({ ...words, positionals: words.positionals.slice(1) });
  const opened = optionalText(words, "open");
  const { bucketAccess } = config;
  const scratch = opened ?? tmpdir();
  const report = (damage: string): void => print(`damaged: ${damage}`);
  const { manifest, damaged } = await verifyBackup({ source, bucketAccess, scratch, report });
  if (damaged > 0) throw new UserError(`${source} cannot be restored: ${damaged} of its files are damaged`);
  print(`${source} is whole: ${totalsText(manifest)}, as of ${manifest.begun_at}`);
  if (opened === undefined) return 0;
  const counts = await openBackup({ source, bucketAccess, scratch, log: openBackupLog(config) });
  print(`opened it: ${counts.events} events, ${counts.recordings} recordings, ${counts.projects} projects`);
  return 0;
}

/** The only argument: a folder or an address. */
function readTarget({ positionals: [target, ...more] }: Arguments): string {
  if (target === undefined || target.trim() === "" || more.length > 0) {
    throw new UserError("expected one folder or s3://bucket/prefix", 2);
  }
  return target;
}

function readCount(words: Arguments): number | undefined {
  const text = optionalText(words, "keep");
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text) && Number(text) <= backupLimits.keptMax) return Number(text);
  throw new UserError(`--keep expects a whole number from 1 to ${backupLimits.keptMax}, got "${text}"`, 2);
}

/** @throws UserError when a store is not embedded. */
function refuseRemote({ databaseUrl, clickhouseUrl }: Config, verb: "backup" | "restore"): void {
  const names = [databaseUrl && "DATABASE_URL", clickhouseUrl && "CLICKHOUSE_URL"].filter(Boolean);
  if (names.length === 0) return;
  const set = names.join(" and ");
  throw new UserError(
    `${set} ${names.length === 1 ? "is" : "are"} set, and sluice ${verb} is for embedded stores: use pg_dump or ` +
      'ClickHouse\'s BACKUP and RESTORE for remote ones (src/docs/backup.md, "Remote stores")',
  );
}

/** The stores' notices would mix with the command's output; their warnings are printed. */
export function openBackupLog({ logLevel, logFormat }: Config, write?: (line: string) => void): Log {
  const level = logLevel === "info" ? "warn" : logLevel;
  return openLog({ level, format: logFormat, ...(write && { write }) });
}

function totalsText({ files: { files, bytes } }: Manifest): string {
  return `${files.toLocaleString("en")} files, ${megabytes(bytes)}`;
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString("en")} MB`;
}
