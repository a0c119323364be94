// The fields of destinations: types of values, rules, secrets, defaults, and which are the data's target; refusals of
// settings, in PostHog's words.

import { Fault } from "../../core/fault.ts";
import { excerpt } from "../../http/fields/field_fault.ts";
import { type FileFormat, fileFormats } from "./objects/object_key.ts";
import * as rules from "./value.ts";

interface Kinds {
  str: string;
  int: number;
  bool: boolean;
  list: string[];
}

export interface Field {
  kind: keyof Kinds;
  required?: true;
  /** Stored encrypted, and in no reply. */
  secret?: true;
  /** The default; null where the field may be absent. */
  otherwise?: unknown;
  /**
   * Whether it is the data's target: when it changes, the secrets are required again, so that nobody can send them
   * elsewhere.
   */
  isTarget?: true;
  rule?: rules.ValueRule;
}

export const required = { kind: "str", required: true } as const;
export const optional = { kind: "str", otherwise: null } as const;
/** Events by their exact names; an empty list filters nothing. */
export const events = {
  exclude_events: { kind: "list", otherwise: [] },
  include_events: { kind: "list", otherwise: [] },
} as const;
export const files = {
  ...events,
  file_format: { kind: "str", otherwise: "JSONLines" },
  compression: optional,
  /** Files are split at about this size, in megabytes; null: one file for each run. */
  max_file_size_mb: { kind: "int", otherwise: null, rule: rules.fileMegabytes },
  /** In CSV, an apostrophe precedes cells that spreadsheets would read as formulas. Off by default: it alters data. */
  escape_formulas: { kind: "bool", otherwise: false },
} as const satisfies Record<string, Field>;
/** May contain {year}, {month}, … of the interval. */
export const prefix = { kind: "str", otherwise: "", rule: rules.keyPrefix } as const;
export const endpoint = { ...optional, isTarget: true, rule: rules.webAddress(true) } as const;

type ValueOf<F extends Field> = Kinds[F["kind"]] | (F extends { otherwise: null } ? null : never);
export type ValuesOf<Fields extends Record<string, Field>> = {
  [Name in keyof Fields]: Name extends "file_format" ? FileFormat : ValueOf<Fields[Name]>;
};
export type FileChoice = ValuesOf<typeof files> & { prefix: string };

export type Settings = Record<string, unknown>;

export function readUrlHost(field: string) {
  return ({ [field]: url }: Settings) =>
    typeof url === "string" ? { field, host: new URL(url).hostname } : undefined;
}

export function wrong(detail: string, attr = "destination__non_field_errors"): Fault {
  return new Fault("invalid_input", detail, { attr });
}

export function wrongValue(name: string, problem: string): Fault {
  const detail = `Configuration has invalid value for field '${name}': ${problem}`;
  return wrong(detail, `destination__config__${name}`);
}

export function missing(name: string): Fault {
  return wrong(`Configuration missing required field: '${name}'`);
}

/** Checks that the format exists and has the compression. @throws Fault */
export function checkFileChoice(settings: Settings): void {
  const requested = settings["file_format"] ?? "JSONLines";
  const formats = Object.keys(fileFormats) as FileFormat[];
  const format = formats.find((name) => name === requested);
  if (!format) {
    const detail = `File format ${excerpt(requested)} is not supported. Supported file formats are ${listed(formats)}`;
    throw wrong(detail, "destination");
  }
  if (settings["escape_formulas"] === true && format !== "CSV")
    throw wrongValue("escape_formulas", "only CSV has cells");
  const compression = settings["compression"] ?? null;
  const { compressions } = fileFormats[format];
  if (compression === null || compressions.some((name) => name === compression)) return;
  const detail =
    `Compression ${excerpt(compression)} is not supported for file format ${format}. ` +
    `Supported compressions are ${listed(compressions)}`;
  throw wrong(detail, "destination");
}

function listed(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(", ")}]`;
}
