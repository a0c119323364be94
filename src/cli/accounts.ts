// The database of accounts, open while a command runs.

import { UserError } from "../core/fault.ts";
import { codeOf } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { attachPostgres } from "../storage/stores.ts";
import type { Arguments } from "./args.ts";
import { logOf } from "./backup.ts";
import type { CliContext } from "./command.ts";

/**
 * Runs `work` on DATABASE_URL, else on the embedded database under DATA_DIR, and closes it afterwards.
 * @throws UserError when the database cannot be reached or has no tables yet.
 */
export async function withAccounts<T>(context: CliContext, work: (sql: Postgres) => Promise<T>): Promise<T> {
  const log = logOf(context.config, (line) => context.printError(line));
  await using accounts = await attachPostgres({ ...context.config, existing: true, log });
  try {
    return await work(accounts.sql);
  } catch (reason) {
    // undefined_table: no server has started on this database.
    if (codeOf(reason) === "42P01") {
      throw new UserError(
        'the database has no tables yet: run "bun run sluice migrate" or start the server first',
      );
    }
    throw reason;
  }
}

export async function printRows<Row>(
  words: Arguments,
  context: CliContext,
  list: (sql: Postgres) => Promise<readonly Row[]>,
  lineOf: (row: Row) => string,
): Promise<number> {
  refuseOptions(words);
  const rows = await withAccounts(context, list);
  const lines = words.values["json"] ? [JSON.stringify(rows)] : rows.map(lineOf);
  for (const line of lines) context.print(line);
  return 0;
}

/** @throws UserError (exit 2) for an option that another of the command's verbs has. */
export function refuseOptions({ positionals: [verb], values }: Arguments): void {
  const name = Object.keys(values).find((option) => option !== "json");
  if (name !== undefined) throw new UserError(`${verb} has no --${name}`, 2);
}
