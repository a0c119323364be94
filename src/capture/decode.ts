// A received body, unwrapped until it looks like JSON: forms, base64, compression, in any order and
// doubled. Trusts the bytes more than the hints, since SDKs and proxies get those wrong. Never reads the
// JSON.

import { limits } from "../core/limits.ts";
import { type Method, inflateBytes, tooLarge } from "./inflate.ts";
import { unpackLzString } from "./lz_string.ts";

export interface Hints {
  /** Content-Encoding. */
  encoding: string | null;
  /** The `compression` query parameter. */
  compression: string | null;
  /** Content-Type; only a form's matters. */
  contentType: string | null;
}

export interface Decoded {
  body: Uint8Array;
  /** A form's `sent_at` or `_`. */
  sent_at: string | null;
}

/**
 * Takes off up to limits.bodyLayersMax wrappings. What cannot be unwrapped is handed on as it is: the scan
 * says what is wrong with it. Plain JSON costs nothing, whatever the hints say.
 * @throws Fault payload_too_large past limits.inflatedBytesMax, invalid_payload for damaged compression.
 */
export async function decodeBody(wire: Uint8Array, hints: Hints): Promise<Decoded> {
  const decoded: Decoded = { body: wire, sent_at: null };
  if (looksLikeJson(wire)) return decoded;
  const hinted = [...hintsOf(hints.encoding).toReversed(), ...hintsOf(hints.compression)];
  const formExpected = (hints.contentType ?? "")
    .toLowerCase()
    .startsWith("application/x-www-form-urlencoded");
  for (let layer = 0; layer < limits.bodyLayersMax && !looksLikeJson(decoded.body); layer++) {
    const { body } = decoded;
    const magic = magicOf(body);
    if (magic) {
      decoded.body = await inflateBytes(magic, body);
      continue;
    }
    const form = formOf(body, formExpected);
    if (form) {
      decoded.body = form.data;
      decoded.sent_at ??= form.sent_at;
      hinted.push(...hintsOf(form.compression));
      continue;
    }
    const next = (await byHint(body, hinted)) ?? unpercent(body) ?? bareBase64(body);
    if (!next) break;
    decoded.body = next;
  }
  return decoded;
}

type Hint = "br" | "deflate" | "lz";

/** The hints that say something the bytes do not; gzip, zstd and base64 show by themselves. */
function hintsOf(text: string | null): Hint[] {
  if (!text) return [];
  const hints: Hint[] = [];
  for (const word of text.toLowerCase().split(",")) {
    const name = word.trim();
    if (name === "br" || name === "deflate") hints.push(name);
    else if (name === "lz64" || name === "lz-string") hints.push("lz");
  }
  return hints;
}

/** Follows one hint that fits; each is followed once. */
async function byHint(body: Uint8Array, hinted: Hint[]): Promise<Uint8Array | undefined> {
  const hint = hinted.shift();
  if (!hint) return undefined;
  if (hint === "lz") return unpacked(body) ?? (await byHint(body, hinted));
  // Text in base64 around the compressed bytes comes off first.
  const inner = fromBase64(body);
  if (inner) {
    hinted.unshift(hint);
    return inner;
  }
  if (hint === "br") return await inflateBytes("br", body);
  return await inflateBytes("deflate-raw", body);
}

function unpacked(body: Uint8Array): Uint8Array | undefined {
  const bytes = unpackLzString(trimmed(body), limits.inflatedBytesMax);
  if (bytes === "too large") throw tooLarge(body.length);
  return bytes && looksLikeJson(bytes) ? bytes : undefined;
}

/** Past a byte order mark and white space, the beginning of an object or array. */
export function looksLikeJson(bytes: Uint8Array): boolean {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return bytes[at] === 0x7b || bytes[at] === 0x5b;
}

function magicOf(bytes: Uint8Array): Method | undefined {
  const [a, b, c, d] = bytes;
  if (a === 0x1f && b === 0x8b) return "gzip";
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return "zstd";
  // zlib's head; its second byte is never a letter of base64.
  if (a === 0x78 && (b === 0x01 || b === 0x5e || b === 0x9c || b === 0xda)) return "deflate";
  return undefined;
}

interface Form {
  data: Uint8Array;
  compression: string | null;
  sent_at: string | null;
}

/** A form with a `data` field. One that is not announced must begin with it. */
function formOf(bytes: Uint8Array, expected: boolean): Form | undefined {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const begins = whole.toString("latin1", 0, 5) === "data=";
  if (!begins && !(expected && whole.includes("&data="))) return undefined;
  const fields = new URLSearchParams(whole.toString());
  return {
    data: Buffer.from(fields.get("data") ?? ""),
    compression: fields.get("compression"),
    sent_at: fields.get("sent_at") ?? fields.get("_"),
  };
}

/** Percent-encoded JSON without a form around it. */
function unpercent(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes[0] !== 0x25) return undefined;
  const text = new URLSearchParams(`data=${Buffer.from(bytes).toString()}`).get("data");
  return text === null ? undefined : Buffer.from(text);
}

/** Base64 of something that looks like a body; lz-string's letters are the same ones. */
function bareBase64(bytes: Uint8Array): Uint8Array | undefined {
  const inner = fromBase64(bytes);
  if (!inner) return undefined;
  if (looksLikeJson(inner) || magicOf(inner) || inner.toString("latin1", 0, 5) === "data=") return inner;
  if (inner[0] === 0x25 || isBase64(inner)) return inner;
  return bytes.length <= limits.unhintedLzBytesMax ? unpacked(bytes) : undefined;
}

function fromBase64(bytes: Uint8Array): Buffer | undefined {
  const text = trimmed(bytes);
  if (!isBase64(text)) return undefined;
  const letters = Buffer.from(text.buffer, text.byteOffset, text.length).toString("latin1");
  // A plus that was not escaped in a form or query arrived as a blank.
  return Buffer.from(letters.includes(" ") ? letters.replaceAll(" ", "+") : letters, "base64");
}

function isBase64(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at++) if (base64Letter[bytes[at]!] === 0) return false;
  return bytes.length >= 4;
}

/** 1 for the letters of base64, of its spelling for URLs, their filling, and the blanks among them. */
const base64Letter = new Uint8Array(256);
for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_= \r\n")
  base64Letter[letter.charCodeAt(0)] = 1;

function trimmed(bytes: Uint8Array): Uint8Array {
  let [from, to] = [0, bytes.length];
  while (from < to && bytes[from]! <= 0x20) from++;
  while (to > from && bytes[to - 1]! <= 0x20) to--;
  return bytes.subarray(from, to);
}
