// The words behind `sluice import`, read and checked. Never opens anything.

import { parseArgs } from "node:util";
import { UserError } from "../../core/fault.ts";
import { importLimits } from "./limits.ts";
import { reasonOf } from "../../core/log.ts";
import { withoutLast } from "../../core/trim.ts";
import type { Config } from "../../config.ts";
import { type Format, formats } from "./formats/detect.ts";
import { standardInput } from "./reading/source.ts";

export interface ImportOptions {
  files: string[];
  /** Without a slash at its end. */
  host: string;
  /** Empty only in a dry run. */
  apiKey: string;
  format: Format;
  concurrency: number;
  /** Where the checkpoint rests; undefined: nowhere. */
  state: string | undefined;
  dryRun: boolean;
  /** Whether it ends only when what was sent can be read. */
  wait: boolean;
  json: boolean;
}

/** @throws UserError with exit code 2. */
export function readImportOptions(args: string[], config: Config): ImportOptions {
  const { values, positionals: files } = parseWords(args);
  if (files.length === 0) throw wrong("name at least one FILE, or - for standard input");
  const twice = files.find((path, place) => files.indexOf(path) !== place);
  if (twice !== undefined) throw wrong(`${twice} is named twice; its events would be imported twice`);
  const dryRun = values["dry-run"] ?? false;
  const apiKey = values["api-key"] ?? config.bootstrapProjectApiKey ?? "";
  if (apiKey === "" && !dryRun)
    throw wrong("give the project's key with --api-key, or set BOOTSTRAP_PROJECT_API_KEY");
  const state = values.state ?? (files[0] === standardInput ? undefined : `${files[0]}.sluice-import`);
  if (state !== undefined && files.includes(state))
    throw wrong("--state names a file that is to be imported");
  return {
    files,
    host: readHost(values.host ?? `http://127.0.0.1:${config.port}`),
    apiKey,
    format: readFormat(values.format ?? "auto"),
    concurrency: readConcurrency(values.concurrency ?? "4"),
    state,
    dryRun,
    wait: !(values["no-wait"] ?? false),
    json: values.json ?? false,
  };
}

interface Words {
  values: {
    host?: string;
    "api-key"?: string;
    format?: string;
    concurrency?: string;
    state?: string;
    "dry-run"?: boolean;
    "no-wait"?: boolean;
    json?: boolean;
  };
  positionals: string[];
}

function parseWords(args: string[]): Words {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        host: { type: "string" },
        "api-key": { type: "string" },
        format: { type: "string" },
        concurrency: { type: "string" },
        state: { type: "string" },
        "dry-run": { type: "boolean" },
        "no-wait": { type: "boolean" },
        json: { type: "boolean" },
      },
    });
  } catch (thrown) {
    throw wrong(reasonOf(thrown).split(". ", 1)[0]!);
  }
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

function readConcurrency(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= importLimits.importConcurrencyMax) return value;
  throw wrong(
    `--concurrency: expected a whole number from 1 to ${importLimits.importConcurrencyMax}, got "${text}"`,
  );
}

function wrong(message: string): UserError {
  return new UserError(`${message} (bun run sluice import --help)`, 2);
}
