// sluice journal: looks at events that ClickHouse refuses, hands them back or throws them away. Works beside
// a running server.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Quarantine } from "../capture/journal/quarantine.ts";
import { UserError } from "../core/fault.ts";
import { reasonOf } from "../core/log.ts";
import type { CliContext, Command } from "./command.ts";

export const journalCommand: Command = {
  name: "journal",
  summary: "list, retry or discard events that ClickHouse refuses",
  help: `usage: bun run sluice journal list [--json]
       bun run sluice journal retry ID|all
       bun run sluice journal discard ID|all

An event that ClickHouse refuses for good rests under DATA_DIR/quarantine with the reason, and blocks
nothing else.
  list      shows each: its id, lane, partition, when, and ClickHouse's reason
  retry     hands it back; a running server takes it within seconds, another at its next start
  discard   removes it for good

  bun run sluice journal retry all`,
  run: (args, context) => Promise.resolve(run(args, context)),
};

function run(args: string[], { config, print }: CliContext): number {
  const { positionals, values } = parse(args);
  const [verb, id, ...rest] = positionals;
  const dataDir = resolve(config.dataDir);
  if (!existsSync(dataDir)) throw new UserError(`DATA_DIR ${dataDir} does not exist`);
  const quarantine = new Quarantine(dataDir);
  if (verb === "list" && id === undefined) return list(quarantine, values.json === true, print);
  if ((verb !== "retry" && verb !== "discard") || id === undefined || rest.length > 0) {
    throw new UserError("expected list, retry ID|all or discard ID|all; bun run sluice journal --help", 2);
  }
  const count = verb === "retry" ? quarantine.retry(id) : quarantine.discard(id);
  if (count === 0 && id !== "all") throw new UserError(`nothing in quarantine has the id ${id}`);
  print(`${verb === "retry" ? "handed back" : "discarded"} ${count} ${count === 1 ? "event" : "events"}`);
  return 0;
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  } catch (thrown) {
    throw new UserError(`${reasonOf(thrown)}; bun run sluice journal --help`, 2);
  }
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
