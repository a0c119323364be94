#!/usr/bin/env bun
// The door: picks a command, prints what it cannot do in one line, and is the only one to end the process.

import type { CliContext, Command } from "./cli/command.ts";
import { importCommand } from "./cli/import.ts";
import { journalCommand } from "./cli/journal.ts";
import { keyCommand } from "./cli/key.ts";
import { migrateCommand } from "./cli/migrate.ts";
import { projectCommand } from "./cli/project.ts";
import { serveCommand } from "./cli/serve.ts";
import { readConfig } from "./config.ts";
import { UserError } from "./core/fault.ts";
import { reasonOf } from "./core/log.ts";
import { readVersion } from "./core/version.ts";

const commands: Command[] = [
  serveCommand,
  migrateCommand,
  projectCommand,
  keyCommand,
  importCommand,
  journalCommand,
];

const help = `sluice: a product-analytics event server

usage: bun run sluice <command> [options]

${commands.map((command) => `  ${command.name.padEnd(9)} ${command.summary}`).join("\n")}

bun run sluice <command> --help tells more, --version prints the version.
Settings come from the environment; the README lists them.`;

process.exit(await main(process.argv.slice(2)));

async function main(words: string[]): Promise<number> {
  const [name, ...args] = words;
  if (name === undefined) return complain(help, 2);
  if (name === "--version" || name === "-v") {
    print(`sluice ${readVersion()}`);
    return 0;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    print(help);
    return 0;
  }
  const command = commands.find((known) => known.name === name);
  if (!command) return complain(`sluice: unknown command "${name}"; bun run sluice --help lists them`, 2);
  if (args.includes("--help") || args.includes("-h")) {
    print(command.help);
    return 0;
  }
  try {
    return await command.run(args, context());
  } catch (thrown) {
    if (thrown instanceof UserError) return complain(`sluice ${name}: ${thrown.message}`, thrown.exitCode);
    return complain(`sluice ${name}: ${reasonOf(thrown)}`, 1);
  }
}

function context(): CliContext {
  const terminal = process.stderr.isTTY === true;
  const config = readConfig(process.env, terminal);
  return { config, print, complain: (line) => void complain(line, 0), terminal };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function complain(line: string, exitCode: number): number {
  process.stderr.write(`${line}\n`);
  return exitCode;
}
