// Texts of other servers, made safe to store, log and show: bounded, storable, and without the secrets that the servers
// were sent.

import { mapTexts } from "./json/dictionary.ts";

/** `secrets` that the server was sent: keys, passwords, tokens, names of users. */
type Foreign = { secrets: readonly string[]; charsMax: number };

/** Characters that are read; the rest is dropped. Several times as many as are kept. */
const readCharsMax = 16_384;
const hidden = "[hidden]";
/** A shorter secret is hidden only as a word of its own, since it occurs in many words. */
const secretCharsMin = 4;
/** A shorter part of an encoded secret reveals nothing. */
const encodedCharsMin = 6;

/**
 * The text without the secrets (as they are, or percent-, base64-, hex-, JSON- or HTML-encoded), without anything that
 * looks like an authorization or a signature, and without characters that a store or a terminal refuses. A secret
 * that is cut off at the end of the text is hidden too.
 */
export function foreignText(text: string, { secrets, charsMax }: Foreign): string {
  let clean = text.slice(0, readCharsMax);
  const known = secrets.filter((secret) => secret !== "");
  for (const secret of known.filter(({ length }) => length < secretCharsMin))
    clean = withoutWord(clean, secret);
  const spelled = known.filter(({ length }) => length >= secretCharsMin).flatMap(listSpellings);
  for (const name of spelled.toSorted((a, b) => b.length - a.length)) clean = clean.replaceAll(name, hidden);
  clean = withoutTail(clean, spelled);
  for (const shape of credentialShapes) clean = clean.replace(shape, `$1${hidden}`);
  const bare = clean.replace(unprintable, "");
  if (known.some((secret) => secret.length >= secretCharsMin && bare.includes(secret))) return hidden;
  return storableText(clean, charsMax);
}

/** The text in one line, cut to `charsMax`; U+FFFD replaces what Postgres refuses and what terminals interpret. */
export function storableText(text: string, charsMax: number): string {
  return text
    .slice(0, charsMax)
    .toWellFormed()
    .replace(/[\t\n\r]/g, " ")
    .replace(unprintable, "\uFFFD");
}

/** A JSON value of another server: each text and name in it as foreignText() makes it. */
export function foreignValue(value: unknown, foreign: Foreign): unknown {
  return mapTexts(value, (text) => foreignText(text, foreign));
}

/** A JSON value that Postgres can store: no NUL and no half of a surrogate pair in texts and names. */
export function storableJson<T>(value: T): T {
  return mapTexts(value, (text) => text.toWellFormed().replaceAll("\0", "\uFFFD")) as T;
}

/** Parts of an address that may be secret: user and password, long path segments, values of the query. */
export function secretsInUrl(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const url = new URL(address);
  const steps = url.pathname.split("/").filter(({ length }) => length >= 16);
  const values = [...url.searchParams.values()].filter(({ length }) => length >= 8);
  const login = [url.username, url.password].map(decoded);
  return [...login, ...steps, ...values].filter((name) => name !== "");
}

/** Control characters, those that change the direction of text included. */
// oxlint-disable-next-line no-control-regex
const unprintable = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Computed credentials, which cannot be searched for as secrets. */
const credentialShapes = [
  /\b((?:bearer|basic|digest|negotiate|sharedkey|sharedkeylite|aws4-hmac-sha256) )[\w.~+/=:-]{16,}/gi,
  /\b((?:signature|sig|credential|x-amz-signature|x-amz-credential|x-amz-security-token)=)[\w.~+/=:%-]{8,}/gi,
];

/** A secret in each encoding in which servers repeat it. */
function listSpellings(secret: string): string[] {
  const bytes = Buffer.from(secret.toWellFormed());
  const percent = encodeURIComponent(secret.toWellFormed());
  const json = JSON.stringify(secret).slice(1, -1);
  const hex = bytes.toString("hex");
  const all = [
    secret,
    percent,
    percent.replaceAll(/%../g, (name) => name.toLowerCase()),
    new URLSearchParams([["", secret]]).toString().slice(1),
    hex,
    hex.toUpperCase(),
    json,
    json.replaceAll("/", "\\/"),
    Bun.escapeHTML(secret),
    ...listBase64(bytes),
  ];
  return [...new Set(all)].filter(({ length }) => length >= secretCharsMin);
}

/** Lists what the base64 of any text contains if the bytes are in it, for each of the three alignments. */
function listBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    // Leaves out the characters that also encode bits of the neighbours.
    const from = before === 0 ? 0 : before + 1;
    const to = (before + bytes.length) % 3 === 0 ? text.length : text.length - 1;
    const core = text.slice(from, to);
    if (core.length < encodedCharsMin) return [];
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/** Hides the beginning of a secret at the end of the text, where it was cut. */
function withoutTail(text: string, secrets: readonly string[]): string {
  const measureTail = (secret: string): number => {
    let length = Math.min(secret.length - 1, text.length);
    while (length >= secretCharsMin && !text.endsWith(secret.slice(0, length))) length--;
    return length < secretCharsMin ? 0 : length;
  };
  const longest = Math.max(0, ...secrets.map(measureTail));
  return longest === 0 ? text : text.slice(0, text.length - longest) + hidden;
}

/** Hides a secret where no letter or digit is next to it. */
function withoutWord(text: string, word: string): string {
  let clean = "";
  let from = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, from)) {
    const alone = !isWordy(text[at - 1]) && !isWordy(text[at + word.length]);
    clean += text.slice(from, at) + (alone ? hidden : word);
    from = at + word.length;
  }
  return clean + text.slice(from);
}

function isWordy(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
