// The arguments of `sluice import`, read and checked; and the wait until its events can be read.

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

/** Parts that an import uses from outside; tests replace it. */
export interface ImportParts {
  clock: Clock;
  signal: AbortSignal;
  terminal: boolean;
  printError(line: string): void;
  /** Writes to the terminal without a newline. */
  draw(text: string): void;
  /** Resolves after `ms`, or as soon as the signal fires. */
  pause(ms: number, stop: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
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
  const readText = (name: string): string | undefined => values[name] as string | undefined;
  if (files.length === 0) throw wrong("name at least one FILE, or - for standard input");
  const twice = files.find((path, index) => files.indexOf(path) !== index);
  if (twice !== undefined) throw wrong(`${twice} is named twice; its events would be imported twice`);
  const dryRun = values["dry-run"] === true;
  const apiKey = readText("api-key") ?? config.bootstrapProjectApiKey ?? "";
  if (apiKey === "" && !dryRun)
    throw wrong("set the project's key with --api-key or BOOTSTRAP_PROJECT_API_KEY");
  const state = readText("state") ?? (files[0] === standardInput ? undefined : `${files[0]}.sluice-import`);
  if (state !== undefined && files.includes(state))
    throw wrong("--state names a file that is to be imported");
  return {
    files,
    /** Without a slash at its end. */
    host: readHost(readText("host") ?? `http://127.0.0.1:${config.port}`),
    /** Empty only in a dry run. */
    apiKey,
    format: readFormat(readText("format") ?? "auto"),
    dates: readDates(readText("dates")),
    concurrency: readConcurrency(readText("concurrency") ?? "4"),
    /** The checkpoint's file; undefined: none. */
    state,
    dryRun,
    /** Whether to wait until the events can be read. */
    wait: values["no-wait"] !== true,
    json: values["json"] === true,
  };
}

export function readHost(text: string): string {
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

/** `unknown`: the server has no `/_stored`. `late`: no progress for importLimits.readableMsMax. */
export type Readability = "readable" | "unknown" | "late" | "interrupted";

/** Polls until everything sent before the first reply can be read, progress stops, or `stop` aborts. */
export async function waitUntilReadable(
  host: string,
  { clock, pause, printError: print }: Pick<ImportParts, "clock" | "pause" | "printError">,
  stop: AbortSignal,
): Promise<Readability> {
  // The server's time after it has answered the last body.
  let sentAt: number | undefined;
  let [furthest, movedAt, printedAt] = [Number.NEGATIVE_INFINITY, clock.elapsed(), clock.elapsed()];
  print("all is sent; waiting until it can be read (skip this with --no-wait)");
  for (;;) {
    const stored = await readStored(host);
    if (stored === "unknown") return "unknown";
    const until = stored?.until ?? Number.NEGATIVE_INFINITY;
    sentAt ??= stored?.now;
    if (sentAt !== undefined && until >= sentAt) return "readable";
    const now = clock.elapsed();
    if (until > furthest) [furthest, movedAt] = [until, now];
    if (now - movedAt > importLimits.readableMsMax) return "late";
    if (now - printedAt > printGapMs && sentAt !== undefined && Number.isFinite(until)) {
      printedAt = now;
      print(`events up to ${clockText(until)} can be read; waiting for ${clockText(sentAt)}`);
    }
    await pause(pollGapMs, stop);
    if (stop.aborted) return "interrupted";
  }
}

const pollGapMs = 250;
const printGapMs = 5000;

/** The server's times in ms since 1970; undefined when the server does not answer at the moment. */
async function readStored(host: string): Promise<{ until: number; now: number } | "unknown" | undefined> {
  try {
    const signal = AbortSignal.timeout(importLimits.storedMsMax);
    const reply = await fetch(`${host}/_stored`, { redirect: "manual", signal });
    const text = await reply.text();
    if (reply.status >= 500) return undefined;
    if (!reply.ok) return "unknown";
    const times = JSON.parse(text) as { stored_until?: unknown; now?: unknown };
    const [until, now] = [parseMoment(times.stored_until), parseMoment(times.now)];
    return Number.isFinite(until) && Number.isFinite(now) ? { until, now } : "unknown";
  } catch (thrown) {
    return thrown instanceof SyntaxError ? "unknown" : undefined;
  }
}

function parseMoment(text: unknown): number {
  return typeof text === "string" ? Date.parse(text) : Number.NaN;
}

function clockText(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}
