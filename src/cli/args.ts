// The arguments after a command's name. Options that are not defined are refused.

import { parseArgs, type ParseArgsConfig } from "node:util";
import { UserError } from "../core/fault.ts";

export interface Arguments {
  positionals: string[];
  /** Options by name: a text, or true for flags; undefined when absent. */
  values: Record<string, string | boolean | undefined>;
}

/**
 * @param texts names of the options with a value.
 * @param flags names of the options without one.
 * @throws UserError (exit 2) for an unknown option or a missing value.
 */
export function readArguments(
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

/** A text option, trimmed; undefined when it is absent. @throws UserError (exit 2) when it is blank. */
export function optionalText(words: Arguments, name: string): string | undefined {
  const value = words.values[name];
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (text === "") throw new UserError(`--${name} must not be empty`, 2);
  return text;
}

/** A text option, trimmed. @throws UserError (exit 2) when it is absent or blank. */
export function requiredText(words: Arguments, name: string): string {
  const text = optionalText(words, name);
  if (text === undefined) throw new UserError(`--${name} is missing`, 2);
  return text;
}

/** @throws UserError (exit 2) when there are more than `countMax` positional arguments. */
export function checkPositionals(words: Arguments, countMax: number): void {
  const extra = words.positionals[countMax];
  if (extra !== undefined) throw new UserError(`unexpected argument "${extra}"`, 2);
}
