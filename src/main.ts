#!/usr/bin/env bun
// The entry: runs the named command, prints a failure in one line, and ends the process.

import { projectCommand } from "./cli/accounts.ts";
import { backupCommand, restoreCommand } from "./cli/backup.ts";
import type { CliContext, Command } from "./cli/command.ts";
import { demoCommand } from "./cli/demo.ts";
import { doctorCommand } from "./cli/doctor.ts";
import { fillCommand } from "./cli/fill.ts";
import { importCommand } from "./cli/import.ts";
import { completionCommand } from "./cli/info/completion.ts";
import { serverCommand } from "./cli/info/server.ts";
import { journalCommand } from "./cli/journal.ts";
import { keyCommand } from "./cli/key.ts";
import { migrateCommand } from "./cli/migrate.ts";
import { moveCommand } from "./cli/move.ts";
import { serveCommand } from "./cli/serve.ts";
import { userCommand } from "./cli/user.ts";
import { readConfig } from "./config.ts";
import { UserError } from "./core/fault.ts";
import { toReason } from "./core/log.ts";
import { readBuild } from "./core/version.ts";

const commands: Command[] = [
  serveCommand,
  migrateCommand,
  projectCommand,
  keyCommand,
  userCommand,
  importCommand,
  demoCommand,
  journalCommand,
  backupCommand,
  restoreCommand,
  moveCommand,
  fillCommand,
  doctorCommand,
  serverCommand,
];
commands.push(completionCommand([...commands]));

const help = `sluice: a product-analytics event server

usage: bun run sluice <command> [options]

${commands.map((command) => `  ${command.name.padEnd(10)} ${command.summary}`).join("\n")}

bun run sluice <command> --help explains a command, --version prints the version.
Exit codes: 0 done, 1 failed or found something wrong, 2 wrong use.
Settings come from the environment; the README lists them.`;

// Files of this process and its children, the stores among them, are their owner's alone.
process.umask(0o077);
process.exit(await main(process.argv.slice(2)));

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined) return fail(help, 2);
  if (name === "--version" || name === "-v") {
    print(`sluice ${readBuild()}`);
    return 0;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    print(help);
    return 0;
  }
  const command = commands.find((known) => known.name === name);
  if (!command) return fail(`sluice: unknown command "${name}"; bun run sluice --help lists them`, 2);
  if (args.includes("--help") || args.includes("-h")) {
    print(command.help);
    return 0;
  }
  try {
    return await command.run(args, context());
  } catch (thrown) {
    const exitCode = thrown instanceof UserError ? thrown.exitCode : 1;
    const hint = exitCode === 2 ? ` (bun run sluice ${name} --help)` : "";
    return fail(`sluice ${name}: ${toReason(thrown)}${hint}`, exitCode);
  }
}

function context(): CliContext {
  const terminal = process.stderr.isTTY === true;
  return { config: readConfig(process.env, terminal), print, printError, terminal };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(line: string, exitCode: number): number {
  printError(line);
  return exitCode;
}
