import { expect, test } from "bun:test";
import fc from "fast-check";
import { sanitize } from "../../../src/capture/event/sanitize.ts";
import { toBytes } from "../../../src/core/bytes.ts";

function storable(text: string): string {
  const bytes = toBytes(text);
  sanitize(bytes, 0, bytes.length);
  return new TextDecoder().decode(bytes);
}

test("escapes that cannot be stored become U+FFFD of the same length, and others stay", () => {
  expect(storable(String.raw`{"a":"\u0000\ud800x\udc00\ud83d\ude00\u00e9\\u0000\n"}`)).toBe(
    String.raw`{"a":"\ufffd\ufffdx\ufffd\ud83d\ude00\u00e9\\u0000\n"}`,
  );
  expect(storable(String.raw`"\ud800\ud800\udc00"`)).toBe(String.raw`"\ufffd\ud800\udc00"`);
});

test("only what lies between its bounds is changed", () => {
  const bytes = toBytes(String.raw`"\u0000" "\u0000" "\u0000"`);
  sanitize(bytes, 9, 17);
  expect(new TextDecoder().decode(bytes)).toBe(String.raw`"\u0000" "\ufffd" "\u0000"`);
});

test("of any text, exactly NUL and lone surrogates are replaced", () => {
  const unit = fc.oneof(
    fc.constantFrom(0, 0x5c, 0x22, 0x75, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xfffd),
    fc.integer({ min: 0, max: 0xffff }),
  );
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = String.fromCharCode(...units);
      const escaped = [...units].map((code) => `\\u${code.toString(16).padStart(4, "0")}`).join("");
      const expected = text.toWellFormed().replaceAll("\0", "\ufffd");
      expect(JSON.parse(storable(`"${escaped}"`))).toBe(expected);
      expect(JSON.parse(storable(JSON.stringify(text)))).toBe(expected);
    }),
  );
});
