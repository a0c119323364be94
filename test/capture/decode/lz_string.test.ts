import { expect, test } from "bun:test";
import fc from "fast-check";
import LZString from "lz-string";
import { LzString } from "../../../src/capture/decode/lz_string.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { runAtOnce } from "../../../src/core/clock.ts";
import { Fault } from "../../../src/core/fault.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";

const memory = new MemoryBudget({ bytesMax: 2 ** 30, shareBytesMax: 2 ** 30 });

function unpack(text: string, bytesMax = 1 << 20): string | undefined {
  const bytes = unpacked(text, bytesMax);
  return bytes instanceof Uint8Array ? new TextDecoder().decode(bytes) : bytes;
}

/** In stretches of a few units. */
function unpacked(text: string, bytesMax: number): Uint8Array | "too large" | undefined {
  const tooLarge = new Fault("payload_too_large", "");
  try {
    return runAtOnce(new LzString(toBytes(text), bytesMax, memory.open(), () => tooLarge).decode(7));
  } catch (thrown) {
    if (thrown !== tooLarge) throw thrown;
    return "too large";
  }
}

test("gives back what lz-string packed", () => {
  const texts = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.json(),
    fc.string({ minLength: 1, maxLength: 3 }).map((text) => text.repeat(400)),
    fc.array(fc.constantFrom("ab", "abc", "b", "✓"), { maxLength: 300 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(unpack(LZString.compressToBase64(text))).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

test("a damaged text unpacks as the package would unpack it, or not at all; never past its bound", () => {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...letters), { maxLength: 200 }), (chosen) => {
      const bytes = unpacked(chosen.join(""), 10_000);
      if (bytes instanceof Uint8Array) expect(bytes.length).toBeLessThanOrEqual(10_000);
    }),
    { numRuns: 5000 },
  );
});

test("says when it would be too large, and knows what is not its own", () => {
  const packed = LZString.compressToBase64("x".repeat(5000));
  expect(unpack(packed, 20_000)).toBe("x".repeat(5000));
  expect(unpack(packed, 9_000)).toBe("too large");
  expect(unpack("")).toBeUndefined();
  expect(unpack("*&^")).toBeUndefined();
});
