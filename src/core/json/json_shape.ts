// How deep and how branched a JSON text or form is, counted in its bytes before it is parsed; the grammar is not
// checked.

import { limits } from "../limits.ts";
import { closingQuote } from "./json_cursor.ts";

const quote = 0x22;
const colon = 0x3a;
const comma = 0x2c;
const ampersand = 0x26;
const opens = new Uint8Array(256);
const closes = new Uint8Array(256);
for (const bracket of [0x5b, 0x7b]) opens[bracket] = 1;
for (const bracket of [0x5d, 0x7d]) closes[bracket] = 1;

/** Why the text must not be parsed: its objects would block the event loop. Undefined when it may be. */
export function shapeFault(bytes: Uint8Array): string | undefined {
  let [depth, parts, commas] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === quote) at = closingQuote(bytes, at + 1, bytes.length);
    else if (closes[byte] === 1) depth--;
    else if (byte === comma) commas++;
    else if (opens[byte] === 1 || byte === colon) {
      depth += opens[byte]!;
      parts++;
    } else continue;
    if (commas > limits.managementPartsMax) return `more than ${limits.managementPartsMax} elements`;
    if (depth > limits.managementDepthMax) return `nested deeper than ${limits.managementDepthMax} levels`;
    if (parts > limits.managementPartsMax)
      return `more than ${limits.managementPartsMax} members, objects and arrays`;
  }
  return undefined;
}

/** Why the form must not be parsed; undefined when it may be. */
export function formFault(bytes: Uint8Array): string | undefined {
  let fields = 1;
  for (let at = bytes.indexOf(ampersand); at >= 0; at = bytes.indexOf(ampersand, at + 1)) {
    if (++fields > limits.managementPartsMax) return `more than ${limits.managementPartsMax} fields`;
  }
  return undefined;
}
