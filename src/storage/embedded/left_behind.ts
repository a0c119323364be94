// Warns of embedded stores that a DATA_DIR still has while the settings name remote ones.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../core/log.ts";

/** Logs one line for each such store, at each start. */
export function reportLeftBehind(
  urls: { dataDir: string; databaseUrl: string | undefined; clickhouseUrl: string | undefined },
  log: Log,
): void {
  const postgres = join(urls.dataDir, "postgres");
  const clickhouse = join(urls.dataDir, "clickhouse");
  const store = join(clickhouse, "store");
  const hasEvents = existsSync(store) && readdirSync(store).length > 0;
  if (urls.databaseUrl !== undefined && existsSync(join(postgres, "PG_VERSION"))) {
    const text =
      "DATABASE_URL is set, so the accounts, keys and settings in the embedded Postgres are not used; unset it to " +
      'use them, or move them (src/docs/backup.md, "Moving to remote stores")';
    const shared = hasEvents && urls.clickhouseUrl === undefined;
    const events = "those in the embedded ClickHouse show in the projects that have the old ones' numbers";
    log.warn(text, { folder: postgres, ...(shared && { events }) });
  }
  if (urls.clickhouseUrl !== undefined && hasEvents) {
    const text =
      "CLICKHOUSE_URL is set, so the events in the embedded ClickHouse are not used; unset it to read them, or " +
      'move them (src/docs/backup.md, "Moving to remote stores")';
    log.warn(text, { folder: clickhouse });
  }
}
