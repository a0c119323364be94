// The settings of each destination as fields of a form, and as the API takes them.

import { ChoiceField, Field } from "../ui/forms.tsx";
import { makeInputs } from "../ui/inputs.tsx";

export type Settings = Readonly<Record<string, string | boolean>>;

interface Setting {
  label: string;
  /** A text by default; "lines" is a list, a line each. */
  kind?: "text" | "password" | "number" | "check" | "lines";
  /** The usual value; where it is empty, the setting is left out. */
  first?: string;
  required?: boolean;
  /** Shown only on request. */
  rare?: true;
  hint?: string;
  placeholder?: string;
  options?: readonly string[];
}

const required = true;
const prefix = { label: "Prefix", placeholder: "events/{year}/{month}/{day}/" };
const address = {
  label: "Address of the store",
  rare: true,
  placeholder: "https://… (the usual one)",
} as const;
const events = {
  include_events: { label: "Only these events", kind: "lines", rare: true, hint: "One each line." },
  exclude_events: { label: "All but these events", kind: "lines", rare: true, hint: "One each line." },
} as const;
const files = {
  file_format: { label: "Format", first: "Parquet", options: ["Parquet", "JSONLines", "CSV"] },
  compression: { label: "Compression", rare: true, options: ["", "gzip", "brotli", "zstd", "lz4", "snappy"] },
  max_file_size_mb: { label: "Split files at, in MB", kind: "number", rare: true },
  escape_formulas: { label: "Escape formulas in CSV", kind: "check", rare: true },
  ...events,
} as const;

/** By the API's names of destinations and of their settings. */
export const destinations: Readonly<Record<string, Readonly<Record<string, Setting>>>> = {
  S3: {
    bucket_name: { label: "Bucket", required },
    region: { label: "Region", first: "us-east-1" },
    prefix,
    aws_access_key_id: { label: "Access key" },
    aws_secret_access_key: { label: "Secret key", kind: "password" },
    endpoint_url: address,
    use_virtual_style_addressing: { label: "The bucket is part of the host", kind: "check", rare: true },
    encryption: { label: "Encryption", rare: true, options: ["", "AES256", "aws:kms"] },
    kms_key_id: { label: "Key of the encryption", rare: true },
    ...files,
  },
  AzureBlob: {
    account_name: { label: "Account", required },
    account_key: { label: "Account key", kind: "password", required },
    container_name: { label: "Container", required },
    prefix,
    endpoint_url: address,
    ...files,
  },
  Postgres: {
    host: { label: "Host", required },
    port: { label: "Port", kind: "number", first: "5432" },
    user: { label: "User", required },
    password: { label: "Password", kind: "password", required },
    database: { label: "Database", required },
    schema: { label: "Schema", first: "public" },
    table_name: { label: "Table", first: "events" },
    has_self_signed_cert: { label: "Its certificate is self-signed", kind: "check", rare: true },
    ...events,
  },
  HTTP: {
    url: { label: "URL", required },
    token: { label: "Project API key there", kind: "password", required },
    max_batch_size_mb: { label: "MB in one request", kind: "number", rare: true },
    ...events,
  },
  File: {
    path: { label: "Folder", placeholder: "below EXPORT_FILE_DIR" },
    prefix,
    ...files,
  },
};

const listSettings = (type: string) => Object.entries(destinations[type] ?? {});

/** The destination of a request: settings that are empty, or of another type, are left out. */
export function toDestination(type: string, settings: Settings) {
  const filled = listSettings(type).flatMap(([name, { kind, first = "" }]) => {
    const value = settings[name] ?? first;
    if (value === "" || value === false) return [];
    const lines = () =>
      String(value)
        .split("\n")
        .map((line) => line.trim());
    const sent = kind === "number" ? Number(value) : kind === "lines" ? lines().filter(Boolean) : value;
    return [[name, sent] as const];
  });
  return { type, config: Object.fromEntries(filled) };
}

interface SettingProps {
  type: string;
  settings: Settings;
  set: (settings: Settings) => void;
}

export function SettingFields({ type, settings, set }: SettingProps) {
  const all = listSettings(type);
  const values = Object.fromEntries(all.map(([name, { first = "" }]) => [name, settings[name] ?? first]));
  const { text, check } = makeInputs<Settings>(values, (part) => set({ ...settings, ...part } as Settings));
  const render = ([
    name,
    { label, kind = "text", options, required: isNeeded = false, hint, placeholder = "" },
  ]: (typeof all)[0]) => {
    if (kind === "check") return check(name, label);
    const write = (value: string) => set({ ...settings, [name]: value });
    if (options) {
      const words = options.map((option) => [option, option || "none"] as const);
      return <ChoiceField label={label} value={String(values[name])} set={write} options={words} />;
    }
    if (kind !== "lines") return text(name, label, { type: kind, required: isNeeded, placeholder });
    return (
      <Field label={label} hint={hint}>
        {(id) => (
          <textarea
            id={id}
            rows={3}
            value={String(values[name])}
            onInput={(event) => write(event.currentTarget.value)}
          />
        )}
      </Field>
    );
  };
  return (
    <>
      {all.filter(([, { rare }]) => !rare).map(render)}
      <details class="whole">
        <summary>Further settings</summary>
        <div class="form">{all.filter(([, { rare }]) => rare).map(render)}</div>
      </details>
    </>
  );
}
