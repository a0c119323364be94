// Describes where in an event something was repaired: the path to it, and the text around it. The JSON is valid: the
// scan has checked it.

import { decodeText } from "../../core/bytes.ts";
import { closingQuote, JsonCursor } from "../../core/json/json_cursor.ts";
import { captureLimits } from "../limits.ts";

/**
 * The place `at` in the item that begins at `from`; empty when it is too far after it, or -1. `field`: names and list
 * indexes, as `properties.list.1.price`; `value`: the beginning of the text, or the part around the repair.
 */
export function locateRepair(
  bytes: Uint8Array,
  from: number,
  at: number,
): { field?: string; value?: string } {
  if (at < from || at - from > captureLimits.warningSearchBytesMax) return {};
  const path: (string | number)[] = [];
  const cursor = new JsonCursor(bytes, from);
  let [text, items] = [-1, 0];
  for (let isArray = false, isDeeper = true; isDeeper;) {
    const isInValue = cursor.seek(at);
    if (isInValue && cursor.skip(at)) {
      items++;
      continue;
    }
    const { key, keyEnd, value } = cursor;
    const isInKey = !isArray && key > keyEnd;
    if (isInKey) text = key - 1;
    else if (isInValue && bytes[value] === 0x22) text = value;
    path.push(isArray ? items : shown(bytes, key, isInKey ? at : keyEnd));
    isArray = bytes[value] === 0x5b;
    isDeeper = isInValue && (isArray || bytes[value] === 0x7b);
    items = 0;
    cursor.enter();
  }
  const field = path.join(".").slice(0, captureLimits.warningValueCharsMax);
  return text < 0 ? { field } : { field, value: quoted(bytes, Math.max(text, at - beforeBytesMax), at) };
}

/** The text from `from` to its end, past `at`. */
function quoted(bytes: Uint8Array, from: number, at: number): string {
  const end = closingQuote(bytes, at, at + 4 * captureLimits.warningValueCharsMax);
  return shown(bytes, from, end + 1);
}

function shown(bytes: Uint8Array, from: number, to: number): string {
  const end = Math.min(to, from + 4 * captureLimits.warningValueCharsMax);
  return decodeText(bytes, from, end).slice(0, captureLimits.warningValueCharsMax);
}

/** Bytes of a text that are shown before the repair. */
const beforeBytesMax = 100;
