// Checks the values of a destination's configuration once they have their types. No value may change the meaning of an
// address, a path or a pattern.

import { Fault } from "../../core/fault.ts";
import { destinationLimits } from "./limits.ts";
import { shown } from "../../http/fields/field_fault.ts";
import { type Compression, compressions, fileFormats } from "./config.ts";
import type { DestinationType, Settings } from "./config.ts";
import { prefixFault, readsAsPattern } from "./objects/object_key.ts";

type Rule = (value: unknown) => string | undefined;

/** @throws Fault for the first wrong value. `settings`: all given values, without defaults. */
export function checkValues(type: DestinationType, settings: Settings): void {
  for (const [name, rule] of Object.entries({ ...shared, ...rules[type] })) {
    const value = settings[name];
    const complaint = value === undefined || value === null ? undefined : rule(value);
    if (complaint !== undefined) {
      const detail = `Configuration has invalid value for field '${name}': ${complaint}`;
      throw new Fault("invalid_input", detail, { attr: `destination__config__${name}` });
    }
  }
  if (type === "S3" || type === "AzureBlob" || type === "File") checkFiles(settings);
  if (type === "S3") checkKeys(settings);
}

function checkFiles(settings: Settings): void {
  const asked = settings["file_format"] ?? "JSONLines";
  const format = fileFormats.find((one) => one === asked);
  if (!format) {
    const detail = `File format ${shown(asked)} is not supported. Supported file formats are ${listed(fileFormats)}`;
    throw new Fault("invalid_input", detail, { attr: "destination" });
  }
  if (settings["escape_formulas"] === true && format !== "CSV") {
    const detail = "Configuration has invalid value for field 'escape_formulas': only CSV has cells";
    throw new Fault("invalid_input", detail, { attr: "destination__config__escape_formulas" });
  }
  const compression = settings["compression"] ?? null;
  if (compression === null || compressions[format].some((one: Compression) => one === compression)) return;
  const detail =
    `Compression ${shown(compression)} is not supported for file format ${format}. ` +
    `Supported compressions are ${listed(compressions[format])}`;
  throw new Fault("invalid_input", detail, { attr: "destination" });
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
  const detail = `Configuration missing required field: '${missing}'`;
  throw new Fault("invalid_input", detail, { attr: "destination__non_field_errors" });
}

function shape(pattern: RegExp, expected: string): Rule {
  return (value) => (pattern.test(String(value)) ? undefined : expected);
}

const filled: Rule = (value) => (value === "" ? "may not be blank" : undefined);
// oxlint-disable-next-line no-control-regex
const plain = /^[^\x00-\x1f\x7f]*$/;
const name = shape(/^.{1,63}$/su, "1 to 63 characters");

function between(min: number, max: number): Rule {
  return (value) =>
    typeof value === "number" && value >= min && value <= max
      ? undefined
      : `a whole number from ${min} to ${max}`;
}

function webAddress(plainOnly: boolean): Rule {
  return (value) => {
    const text = String(value);
    if (!URL.canParse(text) || !plain.test(text) || /\s/.test(text)) return "not a URL";
    const url = new URL(text);
    if (url.protocol !== "http:" && url.protocol !== "https:") return "must begin with http:// or https://";
    if (url.username || url.password) return "must not hold a user or a password";
    if (plainOnly && (url.search || url.hash)) return "must not hold a query or a fragment";
    return undefined;
  };
}

const relativePath: Rule = (value) => {
  const text = String(value);
  if (text.length > destinationLimits.exportPathCharsMax)
    return `at most ${destinationLimits.exportPathCharsMax} characters`;
  if (!plain.test(text)) return "must not hold control characters";
  if (text.startsWith("/") || text.includes("\\")) return "must be a relative path";
  if (text.split("/").some((step) => step === ".." || step === ".")) return "must not step out of its folder";
  return undefined;
};

const keyPrefix: Rule = (value) =>
  plain.test(String(value)) ? prefixFault(String(value)) : "must not hold control characters";

/** URLs are normalized, so such steps would lead out of the container. */
const containerPrefix: Rule = (value) => {
  const steps = String(value).split("/");
  if (steps.some((step) => step === "." || step === "..")) return 'must not hold "." or ".." as a step';
  return keyPrefix(value);
};

const folderPrefix: Rule = (value) =>
  relativePath(value) ?? prefixFault(String(value), destinationLimits.exportFolderBytesMax);

/** Paths have no placeholders. */
const folderPath: Rule = (value) => {
  const text = String(value);
  if (readsAsPattern(text)) return "must not contain * ? { }; placeholders belong in prefix";
  const long = text
    .split("/")
    .some((name) => Buffer.byteLength(name) > destinationLimits.exportFolderBytesMax);
  if (long) return `names a folder of more than ${destinationLimits.exportFolderBytesMax} bytes`;
  return relativePath(value);
};

/** Fields of the same name mean the same for every destination. */
const shared: Record<string, Rule> = {
  max_file_size_mb: between(1, destinationLimits.exportFileMegabytesMax),
  prefix: keyPrefix,
};

const rules: Record<DestinationType, Record<string, Rule>> = {
  S3: {
    // The engine refuses bucket names of other lengths, as Amazon does.
    bucket_name: shape(
      /^[A-Za-z0-9][A-Za-z0-9._-]{2,62}$/,
      "3 to 63 letters, digits, dots, dashes and underscores",
    ),
    region: shape(/^[A-Za-z0-9-]{1,64}$/, "letters, digits and dashes"),
    aws_access_key_id: shape(/^[\x21-\x7e]+$/, "visible ASCII characters"),
    aws_secret_access_key: shape(/^[\x21-\x7e]+$/, "visible ASCII characters"),
    endpoint_url: webAddress(true),
    encryption: shape(/^(AES256|aws:kms)$/, "AES256 or aws:kms"),
    kms_key_id: shape(/^[\x21-\x7e]+$/, "visible ASCII characters"),
  },
  AzureBlob: {
    account_name: shape(/^[a-z0-9]{3,24}$/, "3 to 24 small letters and digits"),
    account_key: shape(/^[A-Za-z0-9+/]+={0,2}$/, "base64"),
    prefix: containerPrefix,
    container_name: shape(/^(\$root|\$web|[a-z0-9](-?[a-z0-9]){2,62})$/, "a container's name"),
    endpoint_url: webAddress(true),
  },
  Postgres: {
    user: filled,
    host: filled,
    port: between(1, 65_535),
    database: name,
    schema: name,
    table_name: name,
  },
  HTTP: { url: webAddress(false), token: shape(/^[\x20-\x7e]*$/, "ASCII characters") },
  File: { path: folderPath, prefix: folderPrefix },
  NoOp: {},
};

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
