// Structured log lines. error = data lost or action needed now; warn = unexpected, nothing lost; info = life cycle.

import { type Clock, systemClock } from "./clock.ts";
import { storableText } from "./foreign_text.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFormat = "pretty" | "json";
export type LogFields = Record<string, unknown>;

export type Log = Record<Exclude<LogLevel, "silent">, (message: string, fields?: LogFields) => void>;

export function openLog(options: {
  level: LogLevel;
  format: LogFormat;
  /** Writes one line, which has no newline; standard error by default. */
  write?: (line: string) => void;
  clock?: Clock;
}): Log {
  const write = options.write ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const clock = options.clock ?? systemClock;
  const threshold = logLevels.indexOf(options.level);
  const render = options.format === "json" ? renderJson : renderPretty;
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (logLevels.indexOf(level) < threshold) return;
      write(render(new Date(clock.now()).toISOString(), level, message, fields));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

export const silentLog: Log = openLog({ level: "silent", format: "json", write: () => {} });

/** The message of any thrown value, without its stack. */
export function toReason(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return toReason(thrown.errors[0]);
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return String(thrown);
}

/** The code of an error of the system or of a store, such as ENOENT; "" without one. */
export function toCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}

function renderJson(time: string, level: LogLevel, message: string, fields: LogFields): string {
  return JSON.stringify({ time, level, message, ...plainFields(fields) });
}

function renderPretty(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const tail = Object.entries(plainFields(fields))
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
  return `${time.slice(11, 23)} ${level.padEnd(5)} ${message}${tail ? `  ${tail}` : ""}`;
}

function plainFields(fields: LogFields): LogFields {
  const plain: LogFields = {};
  for (const [key, value] of Object.entries(fields)) {
    const plainValue =
      value instanceof Error ? toReason(value) : typeof value === "bigint" ? String(value) : value;
    // The text may be foreign: it must stay on one line and contain no control characters of terminals.
    plain[key] = typeof plainValue === "string" ? storableText(plainValue, fieldCharsMax) : plainValue;
  }
  return plain;
}

/** Characters of one field: enough for a long error. */
const fieldCharsMax = 8192;
