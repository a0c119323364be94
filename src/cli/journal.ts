// `sluice journal`: lists, retries or discards events that ClickHouse refuses, beside a running server; and adopts the
// journals of a copied DATA_DIR.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { captureSetup } from "../capture/capture_journal.ts";
import { adoptJournal } from "../capture/journal/identity/registration.ts";
import { Quarantine } from "../capture/journal/quarantine.ts";
import { leftBehind } from "../capture/workers/worker_pool.ts";
import { UserError } from "../core/fault.ts";
import { openLog } from "../core/log.ts";
import { databaseOf } from "../storage/embedded/connection.ts";
import { ownDataDir } from "../storage/lock.ts";
import { withAccounts } from "./accounts.ts";
import { readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

export const journalCommand: Command = {
  name: "journal",
  summary: "list, retry or discard events that ClickHouse refuses; adopt a copied journal",
  help: `usage: bun run sluice journal list [--json]
       bun run sluice journal retry ID|all
       bun run sluice journal discard ID|all
       bun run sluice journal adopt

An event that ClickHouse refuses is moved to DATA_DIR/quarantine with the reason, so that it does not block
others.
  list      prints the id, lane, partition, time and ClickHouse's reason of each
  retry     returns it to the journal; a running server stores it within seconds, a stopped one after its start
  discard   deletes it

A copy of a DATA_DIR does not start while the server it was copied from runs on the same Postgres.
  adopt     gives the journals of the copy numbers of their own; pending events stay, and are looked for in
            ClickHouse before they are sent; merges of persons are applied again

  bun run sluice journal retry all`,
  run,
};

async function run(args: string[], context: CliContext): Promise<number> {
  const { config, print } = context;
  const { positionals, values } = readArguments(args, [], ["json"]);
  const [verb, id, ...rest] = positionals;
  const dataDir = resolve(config.dataDir);
  if (!existsSync(dataDir)) throw new UserError(`DATA_DIR ${dataDir} does not exist`);
  if (verb === "adopt" && id === undefined) return await adopt(dataDir, context);
  const quarantine = new Quarantine(captureSetup, dataDir);
  if (verb === "list" && id === undefined) return list(quarantine, values.json === true, print);
  if ((verb !== "retry" && verb !== "discard") || id === undefined || rest.length > 0) {
    throw new UserError("expected list, retry ID|all, discard ID|all or adopt", 2);
  }
  const count = verb === "retry" ? quarantine.retry(id) : quarantine.discard(id);
  if (count === 0 && id !== "all") throw new UserError(`nothing in quarantine has the id ${id}`);
  print(`${verb === "retry" ? "returned" : "discarded"} ${count} ${count === 1 ? "event" : "events"}`);
  return 0;
}

async function adopt(dataDir: string, context: CliContext): Promise<number> {
  const { databaseUrl, logLevel: level, logFormat: format } = context.config;
  if (databaseUrl === undefined) {
    throw new UserError(
      "embedded stores are copied with their DATA_DIR: its journal needs no number of its own",
    );
  }
  const log = openLog({ level, format, write: (line) => context.printError(line) });
  const shared = { postgres: databaseOf(databaseUrl), log };
  using _ = ownDataDir(dataDir);
  context.print(
    "journals get new numbers; pending events stay, and are looked for in ClickHouse before they are sent; " +
      "merges of persons are applied again",
  );
  await withAccounts(context, async (sql) => {
    for (const ownDir of [dataDir, ...leftBehind(dataDir, 1)]) {
      const adopted = await adoptJournal({ ...shared, sql, folder: `${ownDir}/journal` });
      if (adopted) context.print(`${ownDir}/journal: ${adopted.before}, now ${adopted.number}`);
    }
  });
  return 0;
}

function list(quarantine: Quarantine, json: boolean, print: (line: string) => void): number {
  const rows = quarantine.list();
  if (json) for (const row of rows) print(JSON.stringify(row));
  else if (rows.length === 0) print("nothing in quarantine");
  else
    for (const row of rows)
      print(`${row.id}  ${row.lane.padEnd(10)} ${row.partition}  ${row.at}  ${row.reason}`);
  return 0;
}
