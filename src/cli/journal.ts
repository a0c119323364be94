// `sluice journal`: lists, retries or discards events that ClickHouse refuses. It works beside a running server.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { captureSetup } from "../capture/capture_journal.ts";
import { Quarantine } from "../capture/journal/quarantine.ts";
import { UserError } from "../core/fault.ts";
import { readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

export const journalCommand: Command = {
  name: "journal",
  summary: "list, retry or discard events that ClickHouse refuses",
  help: `usage: bun run sluice journal list [--json]
       bun run sluice journal retry ID|all
       bun run sluice journal discard ID|all

An event that ClickHouse refuses is moved to DATA_DIR/quarantine with the reason, so that it does not block
others.
  list      prints the id, lane, partition, time and ClickHouse's reason of each
  retry     returns it to the journal; a running server stores it within seconds, a stopped one after its start
  discard   deletes it

  bun run sluice journal retry all`,
  run: (args, context) => Promise.resolve(run(args, context)),
};

function run(args: string[], { config, print }: CliContext): number {
  const { positionals, values } = readArguments(args, [], ["json"]);
  const [verb, id, ...rest] = positionals;
  const dataDir = resolve(config.dataDir);
  if (!existsSync(dataDir)) throw new UserError(`DATA_DIR ${dataDir} does not exist`);
  const quarantine = new Quarantine(captureSetup, dataDir);
  if (verb === "list" && id === undefined) return list(quarantine, values.json === true, print);
  if ((verb !== "retry" && verb !== "discard") || id === undefined || rest.length > 0) {
    throw new UserError("expected list, retry ID|all or discard ID|all", 2);
  }
  const count = verb === "retry" ? quarantine.retry(id) : quarantine.discard(id);
  if (count === 0 && id !== "all") throw new UserError(`nothing in quarantine has the id ${id}`);
  print(`${verb === "retry" ? "handed back" : "discarded"} ${count} ${count === 1 ? "event" : "events"}`);
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
