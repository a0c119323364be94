// The accounts' database, open for as long as a command runs. Never leaves it open.

import { UserError } from "../core/fault.ts";
import { openLog } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { attachPostgres } from "../storage/stores.ts";
import type { CliContext } from "./command.ts";

/**
 * Runs `work` on the database this configuration means: DATABASE_URL, else the embedded one under DATA_DIR.
 */
export async function withAccounts<T>(context: CliContext, work: (sql: Postgres) => Promise<T>): Promise<T> {
  const { dataDir, databaseUrl, logLevel, logFormat } = context.config;
  // A command answers with its own words; what the store has to say matters only when it is a complaint.
  const level = logLevel === "info" ? "warn" : logLevel;
  const log = openLog({ level, format: logFormat, write: (line) => context.complain(line) });
  const accounts = await attachPostgres({
    dataDir,
    existing: true,
    log,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
  });
  try {
    return await work(accounts.sql);
  } catch (reason) {
    // "undefined_table": nothing was ever started on this database.
    if (reason instanceof Error && "code" in reason && reason.code === "42P01") {
      throw new UserError(
        'the database has no tables yet: run "bun run sluice migrate" or start the server first',
      );
    }
    throw reason;
  } finally {
    await accounts.close();
  }
}
