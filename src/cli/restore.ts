// `sluice restore`: fills an empty data folder from a backup.

import { readArguments } from "./args.ts";
import { logOf, refuseRemote, targetOf, totalsText } from "./backup.ts";
import { restoreBackup } from "./backup/restore.ts";
import type { Command } from "./command.ts";

export const restoreCommand: Command = {
  name: "restore",
  summary: "fill an empty DATA_DIR from a backup",
  help: `usage: bun run sluice restore PLACE

Checks the backup in the folder PLACE, or at the address s3://bucket/prefix, file by file, and fills DATA_DIR, which
must be empty, with it. The server is started afterwards; it stores the pending events. Every start refuses an
interrupted restore: empty DATA_DIR and restore again. Exports and subscriptions repeat what they sent since the
backup.

  DATA_DIR=/var/lib/sluice bun run sluice restore /backups/monday`,
  run: async (args, { config, print }) => {
    const source = targetOf(readArguments(args, []));
    refuseRemote(config, "restore");
    const { dataDir, bucketAccess } = config;
    const manifest = await restoreBackup({ dataDir, source, bucketAccess, log: logOf(config) });
    print(`restored ${totalsText(manifest)}, as of ${manifest.begun_at}, to ${dataDir}`);
    return 0;
  },
};
