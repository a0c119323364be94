// `sluice move`: copies everything of the embedded stores to empty remote ones.

import { UserError } from "../core/fault.ts";
import { checkPositionals, readArguments } from "./args.ts";
import { logOf } from "./backup.ts";
import { moveStores } from "./backup/move.ts";
import type { Command } from "./command.ts";

export const moveCommand: Command = {
  name: "move",
  summary: "copy everything of the embedded stores to your own Postgres and ClickHouse",
  help: `usage: bun run sluice move

Copies everything from the embedded stores under DATA_DIR to the stores that DATABASE_URL and CLICKHOUSE_URL name,
which must be empty. The server must be stopped. Pending events stay in the journal: the next start, with
the same DATA_DIR and URLs, stores them in the new ClickHouse. The embedded stores are left as they are;
repeat an interrupted move with an empty ClickHouse database.

  DATABASE_URL=postgres://… CLICKHOUSE_URL=http://… SECRET_KEY="$(cat data/secret.key)" bun run sluice move`,
  run: async (args, { config, print }) => {
    checkPositionals(readArguments(args, []), 0);
    const { dataDir, databaseUrl, clickhouseUrl, clickhouseCluster } = config;
    if (databaseUrl === undefined || clickhouseUrl === undefined) {
      throw new UserError("set DATABASE_URL and CLICKHOUSE_URL to the stores to move to");
    }
    const log = logOf(config);
    const rows = await moveStores({ dataDir, databaseUrl, clickhouseUrl, clickhouseCluster, log });
    print(`moved ${rows.toLocaleString("en")} rows of ClickHouse, and all of Postgres`);
    return 0;
  },
};
