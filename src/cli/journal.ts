// `sluice journal`: lists, retries or discards events that ClickHouse refuses, beside a running server; and confirms
// stores that do not belong together.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { captureSetup } from "../capture/capture_journal.ts";
import { journalsIn } from "../capture/journal/identity/journal_identity.ts";
import { adoptJournal } from "../capture/journal/identity/ownership.ts";
import { Quarantine } from "../capture/journal/quarantine.ts";
import { leftBehind } from "../capture/workers/worker_pool.ts";
import { UserError } from "../core/fault.ts";
import { nameDatabase } from "../storage/embedded/connection.ts";
import { migrate } from "../storage/migrate.ts";
import { openStores } from "../storage/stores.ts";
import { readArguments } from "./args.ts";
import { openBackupLog } from "./backup.ts";
import type { CliContext, Command } from "./command.ts";

export const journalCommand: Command = {
  name: "journal",
  summary: "list, retry or discard events that ClickHouse refuses; confirm other stores",
  help: `usage: bun run sluice journal list [--json]
       bun run sluice journal retry ID|all
       bun run sluice journal discard ID|all
       bun run sluice journal adopt

An event that ClickHouse refuses is moved to DATA_DIR/quarantine with the reason, so that it does not block
others.
  list      prints the id, lane, partition, time and ClickHouse's reason of each
  retry     returns it to the journal; a running server stores it within seconds, a stopped one after its start
  discard   deletes it

A server does not start on stores that do not belong together, nor on a copy of a DATA_DIR whose original runs.
  adopt     confirms them: ClickHouse and the journals get the id of Postgres, and the journals new numbers. Missing
            embedded stores are made. Pending events stay: they go to the projects of their numbers, and are looked for
            in ClickHouse before they are sent; merges of persons are applied again

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
  const { config, print, printError } = context;
  const log = openBackupLog(config, printError);
  const postgres = nameDatabase(config.databaseUrl);
  const folders = [dataDir, ...leftBehind(dataDir, 1)];
  await using stores = await openStores({ ...config, dataDir, log, requireReachable: true });
  const { sql } = stores;
  const alone = config.databaseUrl === undefined;
  await migrate(stores, { log, confirmed: true, alone, ownJournals: journalsIn(folders) });
  for (const ownDir of folders) {
    const adopted = await adoptJournal({ postgres, log, sql, folder: `${ownDir}/journal` });
    if (adopted) print(`${ownDir}/journal: ${adopted.before}, now ${adopted.number}`);
  }
  print("Postgres, ClickHouse and the journals belong together now; pending events stay");
  return 0;
}

function list(quarantine: Quarantine, json: boolean, print: (line: string) => void): number {
  const rows = quarantine.list();
  for (const row of rows) {
    const { id, lane, partition, at, reason } = row;
    print(json ? JSON.stringify(row) : `${id}  ${lane.padEnd(10)} ${partition}  ${at}  ${reason}`);
  }
  if (rows.length === 0 && !json) print("nothing in quarantine");
  return 0;
}
