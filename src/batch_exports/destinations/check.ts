// Checks a destination in a request against the fields of its type.

import { Fault } from "../../core/fault.ts";
import { exportLimits } from "../limits.ts";
import { typeNameOf, shown } from "../../http/fields/field_fault.ts";
import { type FileFormat, fileFormats } from "./objects/object_key.ts";
import { destinationFields, type DestinationType, destinationTypes } from "./config.ts";
import type { Field, Settings } from "./config.ts";

/** A destination without its secrets, which are stored encrypted. */
export interface SplitDestination {
  type: DestinationType;
  config: Settings;
  secrets: Settings;
}

/**
 * The destination to be stored. `stored`: the present one; while the type stays, absent fields are kept, and null
 * clears a field.
 * @throws Fault with PostHog's words for a wrong field, and `required` for a secret that must be given again because
 *   the data would go elsewhere.
 */
export function readDestination(
  input: { type?: string; config?: Settings },
  stored?: SplitDestination,
): SplitDestination {
  const type = input.type === undefined && stored ? stored.type : checkType(input.type);
  const base = stored?.type === type ? stored : undefined;
  const fields = destinationFields[type];
  const said = input.config ?? {};
  const given = checkGiven(fields, type === "AzureBlob" ? withoutConnectionString(said) : said);
  const merged = { ...base?.config, ...base?.secrets, ...given };
  for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name];
  const missing = Object.keys(fields).filter((name) => fields[name]?.required && !(name in merged));
  if (missing[0] !== undefined) throw wrong(`Configuration missing required field: '${missing[0]}'`);
  if (base) requireSecretsAgain(fields, base, given, merged);
  checkValues(type, merged);
  const config: Settings = {};
  const secrets: Settings = {};
  for (const [name, value] of Object.entries(merged)) (fields[name]?.secret ? secrets : config)[name] = value;
  return { type, config, secrets };
}

/** Azure's connection strings, as its portal shows them, are read into fields. */
const defaultSuffix = "core.windows.net";

/**
 * The configuration with the parts of `connection_string`; fields that are given as well win.
 * @throws Fault for a text without account and key.
 */
function withoutConnectionString(given: Settings): Settings {
  const { connection_string, ...rest } = given;
  if (connection_string === undefined || connection_string === null) return rest;
  if (typeof connection_string !== "string") throw wrongValue("connection_string", "not a text");
  const parts = new Map(connection_string.split(";").map(pairOf));
  const account_name = parts.get("accountname");
  const account_key = parts.get("accountkey");
  if (!account_name || !account_key)
    throw wrongValue("connection_string", "it must hold AccountName and AccountKey");
  const protocol = parts.get("defaultendpointsprotocol") ?? "https";
  const suffix = parts.get("endpointsuffix") ?? defaultSuffix;
  const usual = protocol === "https" && suffix === defaultSuffix;
  const address = usual ? null : `${protocol}://${account_name}.blob.${suffix}`;
  return { account_name, account_key, endpoint_url: parts.get("blobendpoint") ?? address, ...rest };
}

/** Keys end in equals signs of their own. */
function pairOf(part: string): [string, string] {
  const at = part.indexOf("=");
  return [part.slice(0, Math.max(0, at)).trim().toLowerCase(), part.slice(at + 1).trim()];
}

function checkType(type: unknown): DestinationType {
  const found = destinationTypes.find((one) => one === type);
  if (found) return found;
  const served = destinationTypes.map((one) => `"${one}"`).join(", ");
  const detail = `"${shown(type)}" is not a valid choice. This server exports to ${served}.`;
  throw new Fault("invalid_choice", detail, { attr: "destination__type" });
}

function checkGiven(fields: Readonly<Record<string, Field>>, given: Settings): Settings {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name));
  if (unknown.length > 0) {
    const names = unknown.toSorted().map((name) => `'${shown(name)}'`);
    throw wrong(`Configuration has unknown field/s: ${shown(names.join(", "))}`);
  }
  const checked: Settings = {};
  for (const [name, field] of Object.entries(fields)) {
    if (Object.hasOwn(given, name)) checked[name] = typed(field, given[name]);
  }
  return checked;
}

const { settingCharsMax: textCharsMax } = exportLimits;

function typed(field: Field, value: unknown): unknown {
  if (value === null && !field.required) return null;
  switch (field.kind) {
    case "str":
      if (typeof value !== "string") break;
      if (value.length <= textCharsMax) return value;
      throw wrong(`Configuration has a text of more than ${textCharsMax} characters`);
    case "int":
      if (typeof value === "number" && Number.isSafeInteger(value)) return value;
      if (typeof value === "string" && /^[+-]?\d{1,15}$/.test(value.trim())) return Number(value);
      break;
    case "bool":
      if (typeof value === "boolean") return value;
      if (typeof value === "string" && /^(true|1|false|0)$/i.test(value)) return /^(true|1)$/i.test(value);
      break;
    case "list":
      if (Array.isArray(value)) return checkNames(value);
  }
  throw wrong(`Configuration has invalid type: got '${typeNameOf(value)}', expected '${field.kind}'`);
}

function checkNames(names: unknown[]): string[] {
  if (names.length > exportLimits.namesMax) {
    throw wrong(`Configuration has a list of more than ${exportLimits.namesMax} items`);
  }
  return names.map((name) => {
    if (typeof name === "string") return name;
    throw wrong(`Configuration has invalid type: got '${typeNameOf(name)}', expected 'str'`);
  });
}

/** @throws Fault for the first wrong value. `settings`: all given values, without defaults. */
function checkValues(type: DestinationType, settings: Settings): void {
  for (const [name, { rule }] of Object.entries(destinationFields[type])) {
    const value = settings[name];
    const complaint = value === undefined || value === null ? undefined : rule?.(value);
    if (complaint !== undefined) throw wrongValue(name, complaint);
  }
  if (type === "S3" || type === "AzureBlob" || type === "File") checkFiles(settings);
  if (type === "S3") checkKeys(settings);
}

function checkFiles(settings: Settings): void {
  const asked = settings["file_format"] ?? "JSONLines";
  const formats = Object.keys(fileFormats) as FileFormat[];
  const format = formats.find((one) => one === asked);
  if (!format) {
    const detail = `File format ${shown(asked)} is not supported. Supported file formats are ${listed(formats)}`;
    throw wrong(detail, "destination");
  }
  if (settings["escape_formulas"] === true && format !== "CSV") {
    throw wrongValue("escape_formulas", "only CSV has cells");
  }
  const compression = settings["compression"] ?? null;
  const { compressions } = fileFormats[format];
  if (compression === null || compressions.some((one) => one === compression)) return;
  const detail =
    `Compression ${shown(compression)} is not supported for file format ${format}. ` +
    `Supported compressions are ${listed(compressions)}`;
  throw wrong(detail, "destination");
}

function listed(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(", ")}]`;
}

/** Both keys are needed, or neither. */
function checkKeys(settings: Settings): void {
  const names = ["aws_access_key_id", "aws_secret_access_key"] as const;
  const given = names.filter((name) => name in settings);
  if (given.length !== 1) return;
  const missing = names.find((name) => !(name in settings));
  throw wrong(`Configuration missing required field: '${missing}'`);
}

function requireSecretsAgain(
  fields: Readonly<Record<string, Field>>,
  stored: SplitDestination,
  given: Settings,
  merged: Settings,
): void {
  const moved = Object.keys(fields).find(
    (name) =>
      fields[name]?.place &&
      name in given &&
      valueOf(fields, merged, name) !== valueOf(fields, stored.config, name),
  );
  if (moved === undefined) return;
  const kept = Object.keys(stored.secrets).find((name) => !(name in given));
  if (kept === undefined) return;
  const detail = `This field must be given again when '${moved}' changes.`;
  throw new Fault("required", detail, { attr: `destination__config__${kept}` });
}

/** The given values with the defaults of the others. */
function valueOf(fields: Readonly<Record<string, Field>>, settings: Settings, name: string): unknown {
  return settings[name] ?? fields[name]?.otherwise;
}

function wrong(detail: string, attr = "destination__non_field_errors"): Fault {
  return new Fault("invalid_input", detail, { attr });
}

function wrongValue(name: string, complaint: string): Fault {
  const detail = `Configuration has invalid value for field '${name}': ${complaint}`;
  return wrong(detail, `destination__config__${name}`);
}
