// `sluice fill`: writes the columns of properties for events that older versions stored.

import { resolve } from "node:path";
import { readKnownStores } from "../capture/capture_journal.ts";
import { sleep } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { openLog } from "../core/log.ts";
import {
  hasRoomToFill,
  listUnfilled,
  readFill,
  startFill,
  stopFill,
} from "../storage/migrations/fill_store.ts";
import { attachStores, type Stores } from "../storage/stores.ts";
import { checkPositionals, readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";
import { formatCount } from "./import/counts.ts";

export const fillCommand: Command = {
  name: "fill",
  summary: "make questions about old events as fast as about new ones",
  help: `usage: bun run sluice fill [--check]

Properties that are asked for most have columns of their own, which newer versions write with each event. Of events
that were stored before, queries read the text of all properties instead, which takes ten times as long. This writes
their columns, a year after the other, beside a running server: about 30 CPU-seconds a million events; deletions go
first. Ended early, it goes on in the engine; run it again to see how far it is, and for the other years.

  --check  lists the years and their events; changes nothing

  bun run sluice fill`,
  run,
};

/** Between two looks at the engine's work, in ms. */
const pollMs = 1000;
/** Looks that find no work before it begins anew: a replica may not know of it yet, or a deletion goes first. */
const idleLooksMax = 10;

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  const words = readArguments(args, [], ["check"]);
  checkPositionals(words, 0);
  const log = openLog({ level: config.logLevel, format: config.logFormat });
  const known = readKnownStores(resolve(config.dataDir));
  const opening = { ...config, known, log, requireReachable: true, existing: true };
  await using stores = await attachStores(opening);
  const unfilled = await listUnfilled(stores.clickhouse);
  if (unfilled.length === 0) print("all events have their columns");
  for (const { partition, events } of unfilled) {
    print(`${partition}: ${formatCount(events)} events`);
    if (words.values["check"] !== true) await fillPartition(stores, partition, print);
  }
  return 0;
}

/** Resolves when the partition's events have the columns. @throws UserError when the engine cannot write them. */
export async function fillPartition({ clickhouse }: Stores, partition: string, print: CliContext["print"]) {
  let [shown, idleLooks] = [0, idleLooksMax];
  for (;;) {
    // An earlier run's work goes on first.
    const { parts, failure } = await readFill(clickhouse);
    if (failure !== "") {
      await stopFill(clickhouse);
      throw new UserError(`The engine could not fill ${partition}: ${failure.replace(/\s+/g, " ")}`);
    }
    if (parts === 0) {
      const left = await listUnfilled(clickhouse);
      if (!left.some((other) => other.partition === partition)) return print(`${partition}: done`);
      if (++idleLooks > idleLooksMax) {
        if (!(await hasRoomToFill(clickhouse, partition)))
          throw new UserError(
            `There is not enough disk space to fill ${partition}: its largest part is written anew.`,
          );
        await startFill(clickhouse, partition);
        idleLooks = 0;
      }
    } else if (parts !== shown) print(`${partition}: ${formatCount(parts)} parts left`);
    shown = parts;
    await sleep(pollMs);
  }
}
