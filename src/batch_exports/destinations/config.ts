// The types of destinations and their fields: types of values, rules, secrets, defaults, and which say where data goes.

import { secretsInUrl } from "../../core/foreign_text.ts";
import type { FileFormat } from "./objects/object_key.ts";
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
   * Whether it says where data goes: when it changes, the secrets must be given again, so that nobody sends them
   * elsewhere.
   */
  place?: true;
  /** What a value of the right type must be. */
  rule?: rules.ValueRule;
}

const required = { kind: "str", required: true } as const;
const optional = { kind: "str", otherwise: null } as const;
/** Events by their exact names; an empty list filters nothing. */
const events = {
  exclude_events: { kind: "list", otherwise: [] },
  include_events: { kind: "list", otherwise: [] },
} as const;
const files = {
  ...events,
  file_format: { kind: "str", otherwise: "JSONLines" },
  compression: optional,
  /** Files are split at about this size, in megabytes; null: one file for each run. */
  max_file_size_mb: { kind: "int", otherwise: null, rule: rules.fileMegabytes },
  // The name is that of other CSV writers. Off by default, since it alters the data.
  /** In CSV, an apostrophe is put before cells that spreadsheets would take for formulas. */
  escape_formulas: { kind: "bool", otherwise: false },
} as const;
/** May contain {year}, {month}, … of the interval. */
const prefix = { kind: "str", otherwise: "", rule: rules.keyPrefix } as const;
const endpoint = { ...optional, place: true, rule: rules.webAddress(true) } as const;

const fields = {
  S3: {
    bucket_name: { ...required, rule: rules.bucketName },
    // For a bucket in another region S3 names it, and ClickHouse asks there.
    region: { kind: "str", otherwise: "us-east-1", rule: rules.regionName },
    prefix,
    /** Both or neither; without them requests are not signed. */
    aws_access_key_id: { ...optional, secret: true, rule: rules.visible },
    aws_secret_access_key: { ...optional, secret: true, rule: rules.visible },
    /** http(s)://host[:port][/path]; null: Amazon's own. */
    endpoint_url: endpoint,
    encryption: { ...optional, rule: rules.encryption },
    kms_key_id: { ...optional, rule: rules.visible },
    use_virtual_style_addressing: { kind: "bool", otherwise: false },
    ...files,
  },
  AzureBlob: {
    account_name: { ...required, place: true, rule: rules.accountName },
    account_key: { ...required, secret: true, rule: rules.base64 },
    container_name: { ...required, rule: rules.containerName },
    prefix: { ...prefix, rule: rules.containerPrefix },
    /** null: https://<account_name>.blob.core.windows.net */
    endpoint_url: endpoint,
    ...files,
  },
  Postgres: {
    user: { ...required, secret: true, rule: rules.filled },
    password: { ...required, secret: true },
    host: { ...required, place: true, rule: rules.filled },
    database: { ...required, rule: rules.name },
    port: { kind: "int", otherwise: 5432, place: true, rule: rules.portNumber },
    schema: { kind: "str", otherwise: "public", rule: rules.name },
    table_name: { kind: "str", otherwise: "events", rule: rules.name },
    has_self_signed_cert: { kind: "bool", otherwise: false },
    ...events,
  },
  HTTP: {
    url: { ...required, place: true, rule: rules.webAddress(false) },
    token: { ...required, secret: true, rule: rules.ascii },
    ...events,
  },
  File: {
    /** A folder below EXPORT_FILE_DIR. */
    path: { kind: "str", otherwise: "", rule: rules.folderPath },
    prefix: { ...prefix, rule: rules.folderPrefix },
    ...files,
  },
  NoOp: { arg: { kind: "str", otherwise: "" } },
} as const satisfies Record<string, Record<string, Field>>;

export type DestinationType = keyof typeof fields;
export const destinationTypes = Object.keys(fields) as DestinationType[];
export const destinationFields: Readonly<Record<DestinationType, Readonly<Record<string, Field>>>> = fields;

type ValueOf<F extends Field> = Kinds[F["kind"]] | (F extends { otherwise: null } ? null : never);
type ValuesOf<Fields extends Record<string, Field>> = {
  [Name in keyof Fields]: Name extends "file_format" ? FileFormat : ValueOf<Fields[Name]>;
};
type ConfigOf<Type extends DestinationType> = ValuesOf<(typeof fields)[Type]>;

export type EventChoice = ValuesOf<typeof events>;
export type FileChoice = ValuesOf<typeof files>;
export type S3Config = ConfigOf<"S3">;
export type AzureBlobConfig = ConfigOf<"AzureBlob">;
export type PostgresConfig = ConfigOf<"Postgres">;
export type HttpConfig = ConfigOf<"HTTP">;
export type FileConfig = ConfigOf<"File">;

/** A destination with all its fields, the secrets too. */
export type Destination = {
  [Type in DestinationType]: { type: Type; config: ConfigOf<Type> };
}[DestinationType];

/** The fields in a request. */
export type Settings = Record<string, unknown>;

/** Values that a destination is sent and that must not be shown when its answer repeats them. */
export function destinationSecrets({ type, config }: Destination): string[] {
  const values = Object.entries(config as unknown as Settings);
  return values.flatMap(([name, value]) => {
    if (typeof value !== "string") return [];
    if (destinationFields[type][name]?.secret) return [value];
    return name === "url" || name === "endpoint_url" ? secretsInUrl(value) : [];
  });
}

/** A stored destination with its secrets and defaults. It was checked when it was stored. */
export function fullDestination(type: DestinationType, shown: Settings, secrets: Settings): Destination {
  const config: Settings = {};
  for (const [name, { secret, otherwise }] of Object.entries(destinationFields[type])) {
    config[name] = (secret ? secrets[name] : shown[name]) ?? structuredClone(otherwise);
  }
  return { type, config } as unknown as Destination;
}

/** The field that says where a destination's data goes, and its host; undefined where there is none. */
export function hostOf(
  type: DestinationType,
  settings: Settings,
): { field: string; host: string } | undefined {
  if (type === "Postgres") return { field: "host", host: String(settings["host"]) };
  const field = type === "HTTP" ? "url" : "endpoint_url";
  const url = settings[field];
  return typeof url === "string" ? { field, host: new URL(url).hostname } : undefined;
}
