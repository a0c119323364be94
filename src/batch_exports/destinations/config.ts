// The types of destinations and their fields: which are secret, which say where data goes, and their defaults.

import { secretsInUrl } from "../../core/foreign_text.ts";

export const destinationTypes = ["S3", "AzureBlob", "Postgres", "HTTP", "File", "NoOp"] as const;
export type DestinationType = (typeof destinationTypes)[number];

export const fileFormats = ["Parquet", "JSONLines", "CSV"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** The compressions of each format, by the names in requests. */
export const compressions = {
  Parquet: ["zstd", "lz4", "snappy", "gzip", "brotli"],
  JSONLines: ["gzip", "brotli"],
  CSV: ["gzip", "brotli"],
} as const satisfies Record<FileFormat, readonly string[]>;
export type Compression = (typeof compressions)[FileFormat][number];

/** Events by their exact names; an empty list filters nothing. */
export interface EventChoice {
  include_events: string[];
  exclude_events: string[];
}

/** The fields of all file destinations. */
export interface FileChoice extends EventChoice {
  file_format: FileFormat;
  compression: Compression | null;
  /** Files are split at about this size, in megabytes; null: one file for each run. */
  max_file_size_mb: number | null;
  /** In CSV, an apostrophe is put before cells that spreadsheets would take for formulas. */
  escape_formulas: boolean;
}

export interface S3Config extends FileChoice {
  bucket_name: string;
  region: string;
  /** May contain {year}, {month}, … of the interval. */
  prefix: string;
  /** Both or neither; without them requests are not signed. */
  aws_access_key_id: string | null;
  aws_secret_access_key: string | null;
  /** http(s)://host[:port][/path]; null: Amazon's own. */
  endpoint_url: string | null;
  encryption: "AES256" | "aws:kms" | null;
  kms_key_id: string | null;
  use_virtual_style_addressing: boolean;
}

export interface AzureBlobConfig extends FileChoice {
  account_name: string;
  account_key: string;
  container_name: string;
  prefix: string;
  /** null: https://<account_name>.blob.core.windows.net */
  endpoint_url: string | null;
}

export interface PostgresConfig extends EventChoice {
  user: string;
  password: string;
  host: string;
  port: number;
  database: string;
  schema: string;
  table_name: string;
  has_self_signed_cert: boolean;
}

export interface HttpConfig extends EventChoice {
  url: string;
  token: string;
}

export interface FileConfig extends FileChoice {
  /** A folder below EXPORT_FILE_DIR. */
  path: string;
  prefix: string;
}

export interface NoOpConfig {
  arg: string;
}

/** A destination with all its fields, the secrets too. */
export type Destination =
  | { type: "S3"; config: S3Config }
  | { type: "AzureBlob"; config: AzureBlobConfig }
  | { type: "Postgres"; config: PostgresConfig }
  | { type: "HTTP"; config: HttpConfig }
  | { type: "File"; config: FileConfig }
  | { type: "NoOp"; config: NoOpConfig };

/** The fields in a request. */
export type Settings = Record<string, unknown>;

export interface Field {
  kind: "str" | "int" | "bool" | "list";
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
}

const optional: Field = { kind: "str", otherwise: null };
const events: Record<string, Field> = {
  exclude_events: { kind: "list", otherwise: [] },
  include_events: { kind: "list", otherwise: [] },
};
const files: Record<string, Field> = {
  ...events,
  file_format: { kind: "str", otherwise: "JSONLines" },
  compression: optional,
  max_file_size_mb: { kind: "int", otherwise: null },
  // The name is that of other CSV writers. Off by default, since it alters the data.
  escape_formulas: { kind: "bool", otherwise: false },
};
const prefix: Field = { kind: "str", otherwise: "" };

export const destinationFields: Readonly<Record<DestinationType, Readonly<Record<string, Field>>>> = {
  S3: {
    bucket_name: { kind: "str", required: true },
    // For a bucket in another region S3 names it, and ClickHouse asks there.
    region: { kind: "str", otherwise: "us-east-1" },
    prefix,
    aws_access_key_id: { ...optional, secret: true },
    aws_secret_access_key: { ...optional, secret: true },
    endpoint_url: { ...optional, place: true },
    encryption: optional,
    kms_key_id: optional,
    use_virtual_style_addressing: { kind: "bool", otherwise: false },
    ...files,
  },
  AzureBlob: {
    account_name: { kind: "str", required: true, place: true },
    account_key: { kind: "str", required: true, secret: true },
    container_name: { kind: "str", required: true },
    prefix,
    endpoint_url: { ...optional, place: true },
    ...files,
  },
  Postgres: {
    user: { kind: "str", required: true, secret: true },
    password: { kind: "str", required: true, secret: true },
    host: { kind: "str", required: true, place: true },
    database: { kind: "str", required: true },
    port: { kind: "int", otherwise: 5432, place: true },
    schema: { kind: "str", otherwise: "public" },
    table_name: { kind: "str", otherwise: "events" },
    has_self_signed_cert: { kind: "bool", otherwise: false },
    ...events,
  },
  HTTP: {
    url: { kind: "str", required: true, place: true },
    token: { kind: "str", required: true, secret: true },
    ...events,
  },
  File: { path: { kind: "str", otherwise: "" }, prefix, ...files },
  NoOp: { arg: { kind: "str", otherwise: "" } },
};

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
