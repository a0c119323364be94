// Describes where in an event something was repaired: the path to it, and the text around it. The JSON is valid: the
// scan has checked it.

import { captureLimits } from "../limits.ts";

interface RepairedPlace {
  /** Names and list indexes, as `properties.list.1.price`. */
  field?: string;
  /** The beginning of the text, or the part around the repair. */
  value?: string;
}

const decoder = new TextDecoder();

/** The place `at` in the item that begins at `from`; empty when it is too far after it, or -1. */
export function placeOf(bytes: Uint8Array, from: number, at: number): RepairedPlace {
  if (at < from || at - from > captureLimits.warningSearchBytesMax) return {};
  const path: (string | number)[] = [];
  let text = -1;
  let awaitsKey = false;
  for (let place = from; place < at; place++) {
    const byte = bytes[place]!;
    if (byte === 0x7b) awaitsKey = path.push("") > 0;
    else if (byte === 0x5b) awaitsKey = path.push(0) < 0;
    else if (byte === 0x7d || byte === 0x5d) path.pop();
    else if (byte === 0x2c) {
      const last = path.at(-1);
      awaitsKey = typeof last === "string";
      if (typeof last === "number") path[path.length - 1] = last + 1;
    } else if (byte === 0x22) {
      const end = textEnd(bytes, place, at);
      if (awaitsKey) path[path.length - 1] = shown(bytes, place + 1, end);
      awaitsKey = false;
      if (end >= at) text = place;
      place = end;
    }
  }
  const field = path.join(".").slice(0, captureLimits.warningValueCharsMax);
  return text < 0 ? { field } : { field, value: quoted(bytes, Math.max(text, at - beforeBytesMax), at) };
}

/** The closing quote of a text, or `most` when there is none before it. */
function textEnd(bytes: Uint8Array, from: number, most: number): number {
  let at = from + 1;
  while (at < most && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
  return at;
}

/** The text from `from` to its end, past `at`. */
function quoted(bytes: Uint8Array, from: number, at: number): string {
  const end = textEnd(bytes, at - 1, at + 4 * captureLimits.warningValueCharsMax);
  return shown(bytes, from, end + 1);
}

function shown(bytes: Uint8Array, from: number, to: number): string {
  const end = Math.min(to, from + 4 * captureLimits.warningValueCharsMax);
  return decoder.decode(bytes.subarray(from, end)).slice(0, captureLimits.warningValueCharsMax);
}

/** Bytes of a text that are shown before the repair. */
const beforeBytesMax = 100;
