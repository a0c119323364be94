// What a command is: its words, and how it answers the person at the terminal. Never ends the process itself.

import type { Config } from "../config.ts";

export interface CliContext {
  config: Config;
  /** One line to standard output. */
  print(line: string): void;
  /** One line to standard error. */
  complain(line: string): void;
  /** True when standard error is a terminal (progress bars). */
  terminal: boolean;
}

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** What `--help` prints: usage, every option, one example. */
  help: string;
  /** `args`: the words after the command's name. Resolves to the exit code: 0 well, 1 failed, 2 wrong use.
   *  May throw UserError, which main prints as one line. main answers `--help` itself. */
  run(args: string[], context: CliContext): Promise<number>;
}
