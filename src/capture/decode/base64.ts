// Base64, a slice at a time: MIME's alphabet and that of URLs, with or without line breaks. The runtime decodes each
// slice and skips characters of neither alphabet; this file checks that it skipped none.

import { free } from "../../core/chunks.ts";
import type { Slices } from "../../core/clock.ts";
import { captureLimits } from "../limits.ts";

const spelled = /^([A-Za-z0-9+/_-]*)(=*)$/;
const beginning = /^[A-Za-z0-9+/_\-= \r\n]*$/;
const lettersMin = 4;

/** Decodes so many letters in each step; returns undefined when a byte is found that base64 does not have. */
export function* decodeBase64(text: Uint8Array, lettersMax: number): Slices<Uint8Array | undefined> {
  if (text.length < lettersMin) return undefined;
  const out = Buffer.allocUnsafeSlow(Math.ceil(text.length / 4) * 3);
  let length = 0;
  // Letters of an incomplete group of four, and whether the padding was seen.
  let [partial, hasEnded] = ["", false];
  for (let to = 0; to < text.length;) {
    if (to > 0) yield;
    const slice = latin1(text.subarray(to, (to += lettersMax)));
    if (partial === "" && !hasEnded && slice.length % 4 === 0) {
      const written = out.write(slice, length, "base64");
      if (written === (slice.length / 4) * 3) {
        length += written;
        continue;
      }
    }
    // A plus that was not escaped in a form or query arrives as a space.
    const found = spelled.exec(slice.replaceAll(/[\r\n]/g, "").replaceAll(" ", "+"));
    const [, more = "", padding = ""] = found ?? [];
    if (!found || (more !== "" && hasEnded)) {
      free(out);
      return undefined;
    }
    hasEnded ||= padding !== "";
    const letters = partial + more;
    const whole = to < text.length ? letters.length - (letters.length % 4) : letters.length;
    length += out.write(letters.slice(0, whole), length, "base64");
    partial = letters.slice(whole);
  }
  return out.subarray(0, length);
}

/** Whether the first letters of a text are letters of base64. */
export function looksLikeBase64(text: Uint8Array): boolean {
  return beginning.test(latin1(text.subarray(0, captureLimits.base64CheckBytes)));
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
