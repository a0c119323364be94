// The arguments of `sluice import`, read and checked.

import type { Config } from "../../config.ts";
import type { Clock } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import { withoutLast } from "../../core/trim.ts";
import { readArguments } from "../args.ts";
import type { BodyLimits } from "./body.ts";
import { type Format, formats } from "./formats/detect.ts";
import type { TimeRules } from "./formats/timestamp.ts";
import { importLimits } from "./limits.ts";
import { standardInput } from "./reading/source.ts";

export type ImportOptions = ReturnType<typeof readImportOptions>;

/** What an import uses from outside; tests replace it. */
export interface ImportParts {
  clock: Clock;
  signal: AbortSignal;
  terminal: boolean;
  printError(line: string): void;
  /** Writes to the terminal without a newline. */
  draw(text: string): void;
  /** Resolves after `ms`, or as soon as the signal fires. */
  pause(ms: number, stop: AbortSignal): Promise<void>;
  /** In [0, 1). */
  random(): number;
  input(): ReadableStream<Uint8Array>;
  bodyLimits: BodyLimits;
}

/** @throws UserError with exit code 2. */
export function readImportOptions(args: string[], config: Config) {
  const { positionals: files, values } = readArguments(
    args,
    ["host", "api-key", "format", "dates", "concurrency", "state"],
    ["dry-run", "no-wait", "json"],
  );
  const textOf = (name: string): string | undefined => values[name] as string | undefined;
  if (files.length === 0) throw wrong("name at least one FILE, or - for standard input");
  const twice = files.find((path, index) => files.indexOf(path) !== index);
  if (twice !== undefined) throw wrong(`${twice} is named twice; its events would be imported twice`);
  const dryRun = values["dry-run"] === true;
  const apiKey = textOf("api-key") ?? config.bootstrapProjectApiKey ?? "";
  if (apiKey === "" && !dryRun)
    throw wrong("set the project's key with --api-key or BOOTSTRAP_PROJECT_API_KEY");
  const state = textOf("state") ?? (files[0] === standardInput ? undefined : `${files[0]}.sluice-import`);
  if (state !== undefined && files.includes(state))
    throw wrong("--state names a file that is to be imported");
  return {
    files,
    /** Without a slash at its end. */
    host: readHost(textOf("host") ?? `http://127.0.0.1:${config.port}`),
    /** Empty only in a dry run. */
    apiKey,
    format: readFormat(textOf("format") ?? "auto"),
    dates: readDates(textOf("dates")),
    concurrency: readConcurrency(textOf("concurrency") ?? "4"),
    /** The checkpoint's file; undefined: none. */
    state,
    dryRun,
    /** Whether to wait until the events can be read. */
    wait: values["no-wait"] !== true,
    json: values["json"] === true,
  };
}

function readHost(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw wrong("--host: expected an http:// or https:// URL");
  if (url.search !== "" || url.hash !== "") throw wrong("--host: expected a URL without ? and #");
  return withoutLast(url.href, "/");
}

function readFormat(text: string): Format {
  const found = formats.find((format) => format === text);
  if (found === undefined) throw wrong(`--format: expected one of ${formats.join(", ")}, got "${text}"`);
  return found;
}

function readDates(text: string | undefined): TimeRules["dates"] {
  if (text === undefined) return "refused";
  if (text === "day-first" || text === "month-first") return text;
  throw wrong(`--dates: expected day-first or month-first, got "${text}"`);
}

function readConcurrency(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= importLimits.concurrencyMax) return value;
  throw wrong(
    `--concurrency: expected a whole number from 1 to ${importLimits.concurrencyMax}, got "${text}"`,
  );
}

function wrong(message: string): UserError {
  return new UserError(message, 2);
}
