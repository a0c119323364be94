// Rules for the values of a destination's configuration. No value may change the meaning of an address, a path or a
// pattern.

import { exportLimits } from "../limits.ts";
import { prefixFault, readsAsPattern } from "./objects/object_key.ts";

/** Returns the fault of a value; undefined when it is right. */
export type ValueRule = (value: unknown) => string | undefined;

function shape(pattern: RegExp, expected: string): ValueRule {
  return (value) => (pattern.test(String(value)) ? undefined : expected);
}

export const filled: ValueRule = (value) => (value === "" ? "may not be blank" : undefined);
// oxlint-disable-next-line no-control-regex
const plain = /^[^\x00-\x1f\x7f]*$/;
// The engine refuses bucket names of other lengths, as Amazon does.
export const bucketName = shape(
  /^[A-Za-z0-9][A-Za-z0-9._-]{2,62}$/,
  "3 to 63 letters, digits, dots, dashes and underscores",
);
export const regionName = shape(/^[A-Za-z0-9-]{1,64}$/, "letters, digits and dashes");
export const encryption = shape(/^(AES256|aws:kms)$/, "AES256 or aws:kms");
export const accountName = shape(/^[a-z0-9]{3,24}$/, "3 to 24 small letters and digits");
export const containerName = shape(/^(\$root|\$web|[a-z0-9](-?[a-z0-9]){2,62})$/, "a container's name");
export const visible = shape(/^[\x21-\x7e]+$/, "visible ASCII characters");
export const ascii = shape(/^[\x20-\x7e]*$/, "ASCII characters");
export const base64 = shape(/^[A-Za-z0-9+/]+={0,2}$/, "base64");
/** Postgres cuts longer ones. */
export const name: ValueRule = (value) =>
  value !== "" && Buffer.byteLength(String(value)) <= 63 ? undefined : "1 to 63 bytes";

function between(min: number, max: number): ValueRule {
  return (value) =>
    typeof value === "number" && value >= min && value <= max
      ? undefined
      : `a whole number from ${min} to ${max}`;
}

export const fileMegabytes = between(1, exportLimits.fileMegabytesMax);
export const batchMegabytes = between(1, exportLimits.postBytesMax / 2 ** 20);
export const portNumber = between(1, 65_535);

/** The rule for an http(s) URL; `plainOnly`: without query and fragment. */
export function webAddress(plainOnly: boolean): ValueRule {
  return (value) => {
    const text = String(value);
    if (!URL.canParse(text) || !plain.test(text) || /\s/.test(text)) return "not a URL";
    const url = new URL(text);
    if (url.protocol !== "http:" && url.protocol !== "https:") return "must begin with http:// or https://";
    if (url.username || url.password) return "must not contain a user or a password";
    if (plainOnly && (url.search || url.hash)) return "must not contain a query or a fragment";
    return undefined;
  };
}

const relativePath: ValueRule = (value) => {
  const text = String(value);
  if (text.length > exportLimits.pathCharsMax) return `at most ${exportLimits.pathCharsMax} characters`;
  if (!plain.test(text)) return "must not contain control characters";
  if (text.startsWith("/") || text.includes("\\")) return "must be a relative path";
  if (text.split("/").some((step) => step === ".." || step === ".")) return "must not step out of its folder";
  return undefined;
};

export const keyPrefix: ValueRule = (value) =>
  plain.test(String(value)) ? prefixFault(String(value)) : "must not contain control characters";

/** The engine refuses keys with empty steps. Slashes at the ends of a prefix are left out. */
export const s3Prefix: ValueRule = (value) =>
  keyPrefix(value) ??
  (/[^/]\/\/+[^/]/.test(String(value)) ? "must not contain an empty step: //" : undefined);

/** URLs are normalized, so such steps would leave the container. */
export const containerPrefix: ValueRule = (value) => {
  const steps = String(value).split("/");
  if (steps.some((step) => step === "." || step === "..")) return 'must not contain "." or ".." as a step';
  return keyPrefix(value);
};

export const folderPrefix: ValueRule = (value) =>
  relativePath(value) ?? prefixFault(String(value), exportLimits.folderBytesMax);

/** Paths have no placeholders. */
export const folderPath: ValueRule = (value) => {
  const text = String(value);
  if (readsAsPattern(text)) return "must not contain * ? { }; placeholders belong in prefix";
  const isTooLong = text.split("/").some((name) => Buffer.byteLength(name) > exportLimits.folderBytesMax);
  if (isTooLong) return `names a folder of more than ${exportLimits.folderBytesMax} bytes`;
  return relativePath(value);
};
