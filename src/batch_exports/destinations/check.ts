// Checks a destination in a request against the fields of its type.

import { refuseInput } from "../../core/fault.ts";
import { excerpt, nameType } from "../../http/fields/field_fault.ts";
import { exportLimits } from "../limits.ts";
import type { DestinationFields, DestinationKind } from "./destination.ts";
import { destinations, type DestinationType, destinationTypes } from "./destinations.ts";
import { type Field, missing, type Settings, wrong, wrongValue } from "./fields.ts";

/** A destination without its secrets, which are stored encrypted. */
export interface SplitDestination {
  type: DestinationType;
  config: Settings;
  secrets: Settings;
}

/**
 * The destination to be stored. `stored`: the present one; if the type is the same, absent fields keep their values,
 * and null clears a field.
 * @throws Fault with PostHog's words for a wrong field, and `required` for a secret that must be given again because
 *   the data would go elsewhere.
 */
export function readDestination(input: { type?: string; config?: Settings }, stored?: SplitDestination) {
  const type = input.type === undefined && stored ? stored.type : checkType(input.type);
  const present = stored?.type === type ? stored : undefined;
  const kind: DestinationKind = destinations[type];
  const { fields } = kind;
  const inputConfig = input.config ?? {};
  const inputSettings = checkSent(fields, kind.read?.(inputConfig) ?? inputConfig);
  const merged = { ...present?.config, ...present?.secrets, ...inputSettings };
  for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name];
  const absent = Object.keys(fields).find((name) => fields[name]?.required && !(name in merged));
  if (absent !== undefined) throw missing(absent);
  if (present) requireSecretsAgain(fields, present, inputSettings, merged);
  checkValues(kind, merged);
  const config: Settings = {};
  const secrets: Settings = {};
  for (const [name, value] of Object.entries(merged)) (fields[name]?.secret ? secrets : config)[name] = value;
  return { type, config, secrets };
}

function checkType(type: unknown): DestinationType {
  const known = destinationTypes.find((name) => name === type);
  if (known) return known;
  const types = destinationTypes.map((name) => `"${name}"`).join(", ");
  return refuseChoice(type, "destination__type", ` This server exports to ${types}.`);
}

/** @throws Fault */
export function refuseChoice(value: unknown, attr: string, more = ""): never {
  return refuseInput(`"${excerpt(value)}" is not a valid choice.${more}`, attr, "invalid_choice");
}

function checkSent(fields: DestinationFields, settings: Settings): Settings {
  const unknown = Object.keys(settings).filter((name) => !Object.hasOwn(fields, name));
  if (unknown.length > 0) {
    const names = unknown.toSorted().map((name) => `'${excerpt(name)}'`);
    throw wrong(`Configuration has unknown field/s: ${excerpt(names.join(", "))}`);
  }
  const checked: Settings = {};
  for (const [name, field] of Object.entries(fields))
    if (Object.hasOwn(settings, name)) checked[name] = readSetting(field, settings[name]);
  return checked;
}

function readSetting(field: Field, value: unknown): unknown {
  if (value === null && !field.required) return null;
  switch (field.kind) {
    case "str":
      if (typeof value !== "string") break;
      if (value.length <= exportLimits.settingCharsMax) return value;
      throw wrong(`Configuration has a text of more than ${exportLimits.settingCharsMax} characters`);
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
  throw wrong(`Configuration has invalid type: got '${nameType(value)}', expected '${field.kind}'`);
}

function checkNames(names: unknown[]): string[] {
  if (names.length > exportLimits.namesMax)
    throw wrong(`Configuration has a list of more than ${exportLimits.namesMax} items`);
  return names.map((name) => {
    if (typeof name === "string") return name;
    throw wrong(`Configuration has invalid type: got '${nameType(name)}', expected 'str'`);
  });
}

/** @throws Fault for the first wrong value. `settings`: all given values, without defaults. */
function checkValues({ fields, check }: DestinationKind, settings: Settings): void {
  for (const [name, { rule }] of Object.entries(fields)) {
    const value = settings[name];
    const problem = value === undefined || value === null ? undefined : rule?.(value);
    if (problem !== undefined) throw wrongValue(name, problem);
  }
  check?.(settings);
}

function requireSecretsAgain(
  fields: DestinationFields,
  stored: SplitDestination,
  inputSettings: Settings,
  merged: Settings,
): void {
  const changedTarget = Object.keys(fields).find(
    (name) =>
      fields[name]?.isTarget &&
      name in inputSettings &&
      findSetting(fields, merged, name) !== findSetting(fields, stored.config, name),
  );
  if (changedTarget === undefined) return;
  const secret = Object.keys(stored.secrets).find((name) => !(name in inputSettings));
  if (secret === undefined) return;
  const detail = `This field is required again when '${changedTarget}' changes.`;
  refuseInput(detail, `destination__config__${secret}`, "required");
}

function findSetting(fields: DestinationFields, settings: Settings, name: string): unknown {
  return settings[name] ?? fields[name]?.otherwise;
}
