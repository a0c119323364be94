// The destinations there are and what each is told: its fields, which of them are secret, and what holds where
// nothing is said. Checks nothing itself.

import { secretsInUrl } from "../../core/foreign_text.ts";

export const destinationTypes = ["S3", "AzureBlob", "Postgres", "HTTP", "File", "NoOp"] as const;
export type DestinationType = (typeof destinationTypes)[number];

export const fileFormats = ["Parquet", "JSONLines", "CSV"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** What each format can be compressed with, named as people choose it. */
export const compressions = {
  Parquet: ["zstd", "lz4", "snappy", "gzip", "brotli"],
  JSONLines: ["gzip", "brotli"],
  CSV: ["gzip", "brotli"],
} as const satisfies Record<FileFormat, readonly string[]>;
export type Compression = (typeof compressions)[FileFormat][number];

/** Which events, by their exact names; an empty list filters nothing. */
export interface EventChoice {
  include_events: string[];
  exclude_events: string[];
}

/** What all files share. */
export interface FileChoice extends EventChoice {
  file_format: FileFormat;
  compression: Compression | null;
  /** Files are split at about this size, in megabytes; null: one file for one run. */
  max_file_size_mb: number | null;
  /** In CSV, cells that spreadsheets would take for formulas begin with an apostrophe. */
  escape_formulas: boolean;
}

export interface S3Config extends FileChoice {
  bucket_name: string;
  region: string;
  /** May hold {year}, {month}, … of the interval. */
  prefix: string;
  /** Both or neither: without them requests are not signed. */
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
  /** A folder below EXPORT_FILE_DIR; never leaves it. */
  path: string;
  prefix: string;
}

export interface NoOpConfig {
  arg: string;
}

/** A destination with all it needs, secrets too. */
export type Destination =
  | { type: "S3"; config: S3Config }
  | { type: "AzureBlob"; config: AzureBlobConfig }
  | { type: "Postgres"; config: PostgresConfig }
  | { type: "HTTP"; config: HttpConfig }
  | { type: "File"; config: FileConfig }
  | { type: "NoOp"; config: NoOpConfig };

/** What a destination is told, as a request gives it: by the fields' names. */
export type Settings = Record<string, unknown>;

export interface Field {
  kind: "str" | "int" | "bool" | "list";
  required?: true;
  /** Sealed at rest, and in no reply. */
  secret?: true;
  /** What holds where nothing is said; null where it may be absent. */
  otherwise?: unknown;
  /** Where data goes: when it changes, secrets are asked for again, so that nobody sends them elsewhere. */
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
  // Named as other writers of CSV name it. Off: it alters what is exported.
  escape_formulas: { kind: "bool", otherwise: false },
};
const prefix: Field = { kind: "str", otherwise: "" };

export const destinationFields: Readonly<Record<DestinationType, Readonly<Record<string, Field>>>> = {
  S3: {
    bucket_name: { kind: "str", required: true },
    // Where a bucket rests elsewhere, S3 says so and is asked again there.
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

/** What a destination is sent, and must not be shown when it is answered. */
export function destinationSecrets({ type, config }: Destination): string[] {
  const values = Object.entries(config as unknown as Settings);
  return values.flatMap(([name, value]) => {
    if (typeof value !== "string") return [];
    if (destinationFields[type][name]?.secret) return [value];
    return name === "url" || name === "endpoint_url" ? secretsInUrl(value) : [];
  });
}

/** A stored destination, which was checked when it came in: with its secrets, and what was not said filled in. */
export function fullDestination(type: DestinationType, shown: Settings, secrets: Settings): Destination {
  const config: Settings = {};
  for (const [name, { secret, otherwise }] of Object.entries(destinationFields[type])) {
    config[name] = (secret ? secrets[name] : shown[name]) ?? structuredClone(otherwise);
  }
  return { type, config } as unknown as Destination;
}
