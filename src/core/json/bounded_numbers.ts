// Numbers in JSON that neither 64 bits nor a double can hold. Readers disagree about them: Postgres refuses 1e200000,
// others refuse the whole text. Handed on, they become what JSON.stringify(JSON.parse(text)) makes of them:
// null, 0 or the nearest double. All other bytes stay.

import { closingQuote } from "./json_cursor.ts";

/** 2 for digits, 1 for the other bytes of a number. */
const numeric = new Uint8Array(256).fill(2, 0x30, 0x3a);
for (const byte of Buffer.from("+-.eE")) numeric[byte] = 1;

/** The bit that only e and E have among the bytes of a number. */
const exponentBit = 0x40;
/** Shorter numbers fit in 64 bits, unless they have an exponent of three digits: 1e309. */
const plainCharsMax = 18;
const exponentCharsMin = 5;
/** Characters of the longest number that a double is written as: -2.2250738585072014e-308. */
const doubleCharsMax = 24;

/** The JSON text with such numbers replaced: the same array where there are none. It must be valid. */
export function boundNumbers(json: Uint8Array): Uint8Array {
  if (!mayExceed(json)) return json;
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    if (byte === 0x22) at = closingQuote(json, at + 1, json.length);
    else if (numeric[byte] !== 0) {
      const begin = at;
      while (at + 1 < json.length && numeric[json[at + 1]!] !== 0) at++;
      const bounded = boundNumber(json, begin, at + 1);
      if (bounded === undefined) continue;
      parts.push(json.subarray(from, begin), Buffer.from(bounded));
      from = at + 1;
    }
  }
  return from === 0 ? json : Buffer.concat([...parts, json.subarray(from)]);
}

/**
 * Whether such a number may be in the bytes: a fast look that takes some texts inside strings for numbers. It is also
 * right for JSON in which line breaks and tabs are escaped once more, as \n and \t.
 */
export function mayExceed(bytes: Uint8Array): boolean {
  const { length } = bytes;
  for (let at = 0; at < length; at++) {
    if (numeric[bytes[at]!] !== 2) continue;
    const from = at;
    let bits = 0;
    for (; at < length && numeric[bytes[at]!] !== 0; at++) bits |= bytes[at]!;
    const charsMin = (bits & exponentBit) === 0 ? plainCharsMax + 1 : exponentCharsMin;
    if (at - from >= charsMin && beginsValue(bytes, from) && boundNumber(bytes, from, at) !== undefined) {
      return true;
    }
  }
  return false;
}

/** Whether a number may begin here: not within a word, as in a UUID, and not after a quote. */
function beginsValue(bytes: Uint8Array, from: number): boolean {
  const before = bytes[from - 1] === 0x2d ? from - 2 : from - 1;
  const byte = bytes[before];
  if (byte === undefined || byte <= 0x20 || byte === 0x3a || byte === 0x2c || byte === 0x5b) return true;
  return bytes[before - 1] === 0x5c && (byte === 0x6e || byte === 0x72 || byte === 0x74);
}

/** Bounds the number; undefined for one that stays, or is none. */
function boundNumber(bytes: Uint8Array, from: number, end: number): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString("latin1");
  const value = Number(text);
  return Number.isNaN(value) || isHeld(text, value) ? undefined : JSON.stringify(value);
}

function isHeld(text: string, value: number): boolean {
  if (/[.eE]/.test(text)) {
    const isUnderflow = value === 0 && /^-?[0.]*[1-9]/.test(text);
    return text.length <= doubleCharsMax && Number.isFinite(value) && !isUnderflow;
  }
  if (text.length > "-9223372036854775808".length) return false;
  const integer = BigInt(text);
  return integer >= -(2n ** 63n) && integer < 2n ** 64n;
}
