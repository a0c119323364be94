// A received body, unwrapped until it looks like JSON: forms, base64, compression, in any order and
// doubled. Trusts the bytes more than the hints, since SDKs and proxies get those wrong. Never reads the
// JSON.

import { othersTurn } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { Base64, looksLikeBase64 } from "./base64.ts";
import { Form } from "./form.ts";
import { type Method, inflateBytes, tooLarge } from "./inflate.ts";
import { LzString } from "./lz_string.ts";

export interface Hints {
  /** Content-Encoding. */
  encoding: string | null;
  /** The `compression` query parameter. */
  compression: string | null;
  /** Content-Type; only a form's matters. */
  contentType: string | null;
}

export interface Decoded {
  /** The body, in one piece or several. */
  pieces: Uint8Array[];
  /** A form's `sent_at` or `_`. */
  sent_at: string | null;
}

/**
 * Takes off up to limits.bodyLayersMax wrappings. What cannot be unwrapped is handed on as it is: the scan
 * says what is wrong with it. Plain JSON costs nothing, whatever the hints say. Others get their turn between
 * stretches.
 * @throws Fault payload_too_large past limits.inflatedBytesMax, invalid_payload for damaged compression.
 */
export async function decodeBody(wire: Uint8Array, hints: Hints): Promise<Decoded> {
  const decoded: Decoded = { pieces: [wire], sent_at: null };
  if (looksLikeJson(wire)) return decoded;
  const hinted = [...hintsOf(hints.encoding).toReversed(), ...hintsOf(hints.compression)];
  const formExpected = (hints.contentType ?? "")
    .toLowerCase()
    .startsWith("application/x-www-form-urlencoded");
  for (let layer = 0; layer < limits.bodyLayersMax; layer++) {
    const [first] = decoded.pieces;
    if (!first || looksLikeJson(first)) break;
    const body = decoded.pieces.length === 1 ? first : await joined(decoded.pieces);
    decoded.pieces = [body];
    const magic = magicOf(body);
    if (magic) {
      decoded.pieces = await inflateBytes(magic, body);
      continue;
    }
    const form = await formOf(body, formExpected);
    if (form?.data) {
      decoded.pieces = [form.data];
      decoded.sent_at ??= form.field("sent_at") ?? form.field("_");
      hinted.push(...hintsOf(form.field("compression")));
      continue;
    }
    const next = (await byHint(body, hinted)) ?? (await unpercent(body)) ?? (await bareBase64(body));
    if (!next) break;
    decoded.pieces = next;
  }
  return decoded;
}

/** Pieces in one, laid side by side a stretch at a time. */
export async function joined(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const whole = Buffer.allocUnsafeSlow(bytes);
  await copyPieces(pieces, whole);
  return whole;
}

/**
 * Lays pieces side by side into `out`, which is large enough; others get their turn between stretches. Several are not
 * for anybody else: their memory is given back as it goes, and not all at once when garbage is collected.
 */
export async function copyPieces(pieces: readonly Uint8Array[], out: Uint8Array): Promise<void> {
  let [place, left] = [0, limits.copyBytesMax];
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += limits.copyBytesMax) {
      if (left <= 0) {
        await othersTurn();
        left = limits.copyBytesMax;
      }
      const part = piece.subarray(at, at + limits.copyBytesMax);
      out.set(part, place);
      place += part.length;
      left -= part.length;
    }
    if (pieces.length > 1) giveBack(piece);
  }
}

/** Nothing happens to a piece that has no memory of its own. */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** What is worked off a stretch at a time. */
interface Stretched {
  advance(bytesMax: number): boolean;
}

/** Works it off; others get their turn between stretches. */
async function workOff<Work extends Stretched>(work: Work): Promise<Work> {
  while (!work.advance(limits.decodeBytesMax)) await othersTurn();
  return work;
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
async function byHint(body: Uint8Array, hinted: Hint[]): Promise<Uint8Array[] | undefined> {
  const hint = hinted.shift();
  if (!hint) return undefined;
  if (hint === "lz") return (await unpacked(body)) ?? (await byHint(body, hinted));
  // Text in base64 around the compressed bytes comes off first.
  const inner = await fromBase64(body);
  if (inner) {
    hinted.unshift(hint);
    return [inner];
  }
  return await inflateBytes(hint === "br" ? "br" : "deflate-raw", body);
}

async function unpacked(body: Uint8Array): Promise<Uint8Array[] | undefined> {
  const { bytes, tooLarge: isTooLarge } = await workOff(new LzString(trimmed(body), limits.inflatedBytesMax));
  if (isTooLarge) throw tooLarge(body.length);
  return bytes && looksLikeJson(bytes) ? [bytes] : undefined;
}

/** Past a byte order mark and some white space, the beginning of an object or array. */
export function looksLikeJson(bytes: Uint8Array): boolean {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (isBlank(bytes[at]!) && at < limits.blanksLookBytes) at++;
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

/** A form with a `data` field. One that is not announced must begin with it. */
async function formOf(bytes: Uint8Array, expected: boolean): Promise<Form | undefined> {
  if (!expected && !beginsWithData(bytes)) return undefined;
  return await workOff(new Form(bytes));
}

function beginsWithData(bytes: Uint8Array): boolean {
  return (
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 5)).toString("latin1") === "data="
  );
}

/** Percent-encoded JSON without a form around it. */
async function unpercent(bytes: Uint8Array): Promise<Uint8Array[] | undefined> {
  if (bytes[0] !== 0x25) return undefined;
  const { data } = await workOff(new Form(bytes, true));
  return data && [data];
}

/** Base64 of something that looks like a body; lz-string's letters are the same ones. */
async function bareBase64(bytes: Uint8Array): Promise<Uint8Array[] | undefined> {
  const inner = await fromBase64(bytes);
  if (!inner) return undefined;
  if (looksLikeJson(inner) || magicOf(inner) || beginsWithData(inner) || inner[0] === 0x25) return [inner];
  if (inner.length >= 4 && looksLikeBase64(inner)) return [inner];
  return bytes.length <= limits.unhintedLzBytesMax ? await unpacked(bytes) : undefined;
}

async function fromBase64(bytes: Uint8Array): Promise<Uint8Array | undefined> {
  const text = trimmed(bytes);
  if (!looksLikeBase64(text)) return undefined;
  const { sound, bytes: inner } = await workOff(new Base64(text));
  return sound ? inner : undefined;
}

/** Without some white space around it. */
function trimmed(bytes: Uint8Array): Uint8Array {
  let [from, to] = [0, bytes.length];
  while (from < to && bytes[from]! <= 0x20 && from < limits.blanksLookBytes) from++;
  while (to > from && bytes[to - 1]! <= 0x20 && bytes.length - to < limits.blanksLookBytes) to--;
  return bytes.subarray(from, to);
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
