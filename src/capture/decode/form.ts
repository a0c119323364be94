// A form's fields, slice by slice: the `data` field as bytes, and some short ones as text.

import { decodeText, hexValue } from "../../core/bytes.ts";
import type { Slices } from "../../core/clock.ts";

/** The other fields are short words and numbers; longer ones are ignored. */
const fieldBytesMax = 64;
const known = new Set(["compression", "sent_at", "_"]);

/** Absent fields are undefined; the first of each name counts. */
export type Form = { data: Uint8Array | undefined; fields: ReadonlyMap<string, string> };

/** Reads about so many bytes in each step. `isValue`: the bytes are a value of `data`, without its name. */
export function* readForm(bytes: Uint8Array, stepBytes: number, isValue = false): Slices<Form> {
  const fields = new Map<string, string>();
  const scratch = new Uint8Array(fieldBytesMax);
  const read = { at: 0, out: scratch as Uint8Array, length: 0 };
  let data: Uint8Array | undefined;
  let name = isValue ? "data" : undefined;
  if (isValue) read.out = Buffer.allocUnsafeSlow(bytes.length);
  const readText = () => (read.length > fieldBytesMax ? "" : decodeText(scratch, 0, read.length));
  for (let goal = stepBytes; read.at <= bytes.length; read.at++) {
    for (; copyField(bytes, read, Math.min(goal, bytes.length), name === undefined); goal += stepBytes) yield;
    if (bytes[read.at] === 0x3d) {
      name = readText();
      if (name === "data" && !data) read.out = Buffer.allocUnsafeSlow(bytes.length - read.at);
    } else {
      if (read.out !== scratch) data = read.out.subarray(0, read.length);
      else if (name !== undefined && known.has(name) && !fields.has(name)) fields.set(name, readText());
      name = undefined;
      read.out = scratch;
    }
    read.length = 0;
  }
  return { data, fields };
}

/** Decodes up to an ampersand, or the end of a name or of the bytes; true when it stopped at the goal before. */
function copyField(
  bytes: Uint8Array,
  read: { at: number; out: Uint8Array; length: number },
  goal: number,
  inName: boolean,
): boolean {
  const { out } = read;
  let { at, length } = read;
  for (; at < goal; at++) {
    let byte = bytes[at]!;
    if (byte === 0x26 || (byte === 0x3d && inName)) break;
    if (byte === 0x2b) byte = 0x20;
    else if (byte === 0x25 && at + 2 < bytes.length) {
      const high = hexValue[bytes[at + 1]!]!;
      const low = hexValue[bytes[at + 2]!]!;
      if (high < 16 && low < 16) {
        byte = high * 16 + low;
        at += 2;
      }
    }
    // Writes beyond the scratch array have no effect: such a field is too long and ignored.
    out[length++] = byte;
  }
  read.at = at;
  read.length = length;
  return at >= goal && at < bytes.length;
}
