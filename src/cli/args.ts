// The words after a command's name, read strictly. Never guesses at an option nobody defined.

import { parseArgs, type ParseArgsConfig } from "node:util";
import { UserError } from "../core/fault.ts";

export interface Arguments {
  positionals: string[];
  /** Options by name: text, or true for flags. Absent when not given. */
  values: Record<string, string | boolean | undefined>;
}

/**
 * @param texts names of options that take a value; `flags`: of those that take none.
 * @throws UserError (exit 2) for an unknown option or a missing value.
 */
export function readWords(
  args: string[],
  texts: readonly string[],
  flags: readonly string[] = [],
): Arguments {
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const name of texts) options[name] = { type: "string" };
  for (const name of flags) options[name] = { type: "boolean" };
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true });
    return { values: values as Arguments["values"], positionals };
  } catch (reason) {
    const [sentence = "wrong options"] = (reason instanceof Error ? reason.message : "").split(". ");
    throw new UserError(sentence, 2);
  }
}

/**
 * A text option, trimmed; undefined when it is absent. @throws UserError (exit 2) when it is given and blank.
 */
export function textOption(words: Arguments, name: string): string | undefined {
  const value = words.values[name];
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (text === "") throw new UserError(`--${name} must not be empty`, 2);
  return text;
}

/** @throws UserError (exit 2) when the option is absent. */
export function requiredTextOf(words: Arguments, name: string): string {
  const text = textOption(words, name);
  if (text === undefined) throw new UserError(`--${name} is missing`, 2);
  return text;
}

/** @throws UserError (exit 2) naming the first word that is one too many. */
export function endOfWords(words: Arguments, allowed: number): void {
  const extra = words.positionals[allowed];
  if (extra !== undefined) throw new UserError(`unexpected word "${extra}"`, 2);
}
