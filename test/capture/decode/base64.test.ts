// Base64 in slices.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeBase64, looksLikeBase64 } from "../../../src/capture/decode/base64.ts";
import { runAtOnce } from "../../../src/core/clock.ts";

/** The bytes, read in slices of `step` letters; undefined when the text is not base64. */
function decoded(text: string, step: number): Uint8Array | undefined {
  const bytes = runAtOnce(decodeBase64(Buffer.from(text, "latin1"), step));
  return bytes && new Uint8Array(bytes);
}

test("bytes come back from both alphabets, with and without padding and line breaks, however they are sliced", () => {
  const alphabet = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => text.replaceAll("=", ""),
    (text) => text.replaceAll("+", "-").replaceAll("/", "_"),
    (text) => text.replaceAll("+", " "),
    (text) => text.replaceAll(/.{10}/g, "$&\r\n"),
  );
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 3 }),
      alphabet,
      fc.integer({ min: 1, max: 20 }),
      (bytes, spell, step) => {
        expect(decoded(spell(Buffer.from(bytes).toString("base64")), step)).toEqual(bytes);
      },
    ),
  );
});

test("a text with any other byte, or with letters behind its padding, is not base64", () => {
  for (const step of [1, 3, 4, 100]) {
    for (const text of ["", "QQ=", "QUJD!UJD", "QUJDé", "QQ==QUJD", `${"QUJD".repeat(50)}\0`]) {
      expect(decoded(text, step)).toBeUndefined();
    }
  }
});

test("a text looks like base64 by its first letters", () => {
  const look = (text: string) => looksLikeBase64(Buffer.from(text, "latin1"));
  expect(["QUJD", "eyJh-_ /+=\r\n", `${"Q".repeat(128)}{`].map(look)).toEqual([true, true, true]);
  expect(["{}", '"QUJD"', "a=%7B"].map(look)).toEqual([false, false, false]);
});
