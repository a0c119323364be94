// `sluice server`: lists the servers of these stores, by their journals.

import { UserError } from "../../core/fault.ts";
import { listServers } from "../../storage/watermark.ts";
import { printRows } from "../accounts.ts";
import { readArguments } from "../args.ts";
import type { Command } from "../command.ts";

export const serverCommand: Command = {
  name: "server",
  summary: "list the servers of these stores",
  help: `usage: bun run sluice server list [--json]

Prints, of every journal: its number, when its server last reported, up to when its events are stored, and the host and
folder. A capture worker has a journal of its own.

example: bun run sluice server list`,
  run: async (args, context) => {
    const words = readArguments(args, [], ["json"]);
    if (words.positionals.join(" ") !== "list") throw new UserError(`expected "server list"`, 2);
    return await printRows(words, context, listServers, ({ id, seen_at, stored_until, location }) =>
      [id, seen_at?.toISOString() ?? "never", stored_until?.toISOString() ?? "-", location ?? "-"].join("\t"),
    );
  },
};
