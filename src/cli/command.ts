// The type of a command and its context. A command returns its exit code; only main ends the process.

import type { Config } from "../config.ts";

export interface CliContext {
  config: Config;
  print(line: string): void;
  printError(line: string): void;
  /** Whether standard error is a terminal, which can show a progress bar. */
  terminal: boolean;
}

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The text of `--help`: usage, every option, one example. */
  help: string;
  /**
   * `args`: the arguments after the command's name; main handles `--help`. Resolves to the exit code: 0 done,
   * 1 failed, 2 wrong arguments.
   * @throws UserError, which main prints as one line.
   */
  run(args: string[], context: CliContext): Promise<number>;
}
