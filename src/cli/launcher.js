#!/usr/bin/env node
// The package's command, for machines with Node and npm alone: starts the program in the Bun that was installed with it.
// Plain JavaScript, since Node runs it.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));

// --no-install: Bun would otherwise fetch a package that is missing on purpose, such as an engine.
const child = spawn(findBun(), ["--no-install", main, ...process.argv.slice(2)], { stdio: "inherit" });

// A terminal sends its signals to both; the program counts a second one as the first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
  process.on(signal, () => child.kill(signal));

child.on("error", (error) => fail(`Bun cannot be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));

/** The path of the Bun beside this file; of the one that runs it; else the name of one on the PATH. */
function findBun() {
  if (process.versions.bun) return process.execPath;
  const arch = process.arch === "arm64" ? "aarch64" : process.arch;
  try {
    const found = createRequire(import.meta.url).resolve(
      `@oven/bun-${process.platform}-${arch}/package.json`,
    );
    return join(dirname(found), "bin", "bun");
  } catch {
    return "bun";
  }
}

function fail(text) {
  process.stderr.write(`sluice: ${text}\n`);
  process.exit(1);
}
