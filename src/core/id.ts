// Identifiers and keys: how they are made, and how keys are stored.

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A UUIDv7, which rises with time. */
export function newUuid(): string {
  return Bun.randomUUIDv7();
}

/** `phc_` + 43 base62 characters (256 random bits). */
export function newProjectKey(): string {
  return `phc_${randomBase62(43)}`;
}

/** `phx_` + 47 base62 characters (about 280 random bits). */
export function newPersonalKey(): string {
  return `phx_${randomBase62(47)}`;
}

/** Finds what is wrong with a key that a person chose; undefined when nothing is. Lengths are in characters. */
export function wrongKey(key: string, charsMin = 8, charsMax = 64): string | undefined {
  const fits = key.length >= charsMin && key.length <= charsMax && /^[!-~]+$/.test(key);
  return fits ? undefined : `must be ${charsMin} to ${charsMax} visible ASCII characters`;
}

/** A personal key as it is stored: `sha256$<hex>`, unsalted since keys are random. */
export function hashKey(key: string): string {
  return `sha256$${new Bun.CryptoHasher("sha256").update(key).digest("hex")}`;
}

/** The visible part of a stored key: its first and last four characters. */
export function maskKey(key: string): string {
  return `${key.slice(0, 4)}...${key.slice(-4)}`;
}

/** Eight letters and digits, as PostHog's insights have; never digits alone, which in a path are a row's number. */
export function newShortId(): string {
  for (;;) {
    const id = randomBase62(8);
    if (/\D/.test(id)) return id;
  }
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** When a UUIDv7 was made, in ms since 1970; undefined for any other text. */
export function readIdMoment(text: string): number | undefined {
  return text[14] === "7" && isUuid(text)
    ? Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16)
    : undefined;
}

/**
 * A UUID in small letters, from any spelling that Rust's and Python's libraries read: with or without dashes, in
 * braces, after `urn:uuid:`, in capitals. undefined for anything else.
 */
export function readUuid(text: string): string | undefined {
  if (text.length > 64) return undefined;
  const hex = text
    .trim()
    .toLowerCase()
    .replace(/^urn:uuid:/, "")
    .replace(/^\{(.*)\}$/, "$1")
    .replaceAll("-", "");
  return /^[0-9a-f]{32}$/.test(hex) ? dashedUuid(hex) : undefined;
}

/** .NET's and Java's value of a UUID that was never set. */
export const nilUuid = "00000000-0000-0000-0000-000000000000";

export function dashedUuid(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The UUID of this version that has these sixteen bytes, such as the start of a hash, which it changes. */
export function toUuid(bytes: Buffer, version: number): string {
  bytes[6] = (bytes[6]! & 0x0f) | (version << 4);
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return dashedUuid(bytes.toString("hex", 0, 16));
}

export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // 248 = 4 × 62: bytes above it would favour the first letters.
      if (byte < 248 && text.length < length) text += base62[byte % 62];
    }
  }
  return text;
}
