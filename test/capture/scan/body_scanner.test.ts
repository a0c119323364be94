import { expect, test } from "bun:test";
import fc from "fast-check";
import { alteration, entryLength, field } from "../../../src/capture/fields/event_fields.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import type { EventIndex } from "../../../src/capture/scan/event_index.ts";
import { ScanArena } from "../../../src/capture/wasm/scan_arena.ts";
import { Fault } from "../../../src/core/fault.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function scanOf(text: string, sliceBytes = 1 << 30): EventIndex {
  const scan = new BodyScanner(encoder.encode(text));
  while (!scan.advance(sliceBytes));
  return scan.index;
}

function valueOf(scan: EventIndex, event: number, place: number): unknown {
  const at = event * entryLength + place;
  const [from, to] = [scan.entries[at]!, scan.entries[at + 1]!];
  return to === 0 ? undefined : JSON.parse(decoder.decode(scan.bytes.subarray(from, to)));
}

test("escapes that cannot be stored are noted, not changed: a recording's bytes may mean them", () => {
  const scan = scanOf(
    `{"event":"e","distinct_id":"d","properties":{"a":"\\u0000\\ud800x\\udc00\\ud83d\\ude00\\u00e9"}}`,
  );
  expect(decoder.decode(scan.bytes)).toContain(`"\\u0000\\ud800x\\udc00\\ud83d\\ude00\\u00e9"`);
  expect(scan.entries[field.altered]! & alteration.characters).toBe(1);
});

test("an event that is nested past the bound is ignored, one within it and its neighbours are not", () => {
  const nested = (depth: number) =>
    `{"event":"e","distinct_id":"d","properties":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
  expect(scanOf(nested(120)).count).toBe(1);
  for (const depth of [127, 130, 5000]) {
    const { count, ignored } = scanOf(`[${nested(1)},${nested(depth)},${nested(2)}]`);
    expect([count, ...ignored.counts]).toEqual([2, ["nested_too_deep", 1]]);
  }
  expect(() => scanOf(`[${nested(130).replace("]", "}")}]`)).toThrow('unexpected "}"');
  expect(() => scanOf(nested(1_000_001))).toThrow("nested deeper than 1000000");
});

test("bytes that are no UTF-8 are refused", () => {
  expect(() => new BodyScanner(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])).advance(100)).toThrow(
    "not UTF-8",
  );
});

const json = fc.json({ maxDepth: 4 });

test("accepts every JSON text, in whatever slices", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record(
          { event: fc.string(), distinct_id: fc.jsonValue(), properties: fc.jsonValue() },
          { requiredKeys: [] },
        ),
      ),
      fc.integer({ min: 1, max: 40 }),
      (batch, slice) => {
        const scan = scanOf(JSON.stringify({ api_key: "k", batch }, null, 1), slice);
        expect(scan.items).toBe(batch.length);
        const whole = scanOf(JSON.stringify({ api_key: "k", batch }, null, 1));
        expect(scan.entries.slice(0, scan.count * entryLength)).toEqual(
          whole.entries.slice(0, whole.count * entryLength),
        );
        for (let event = 0; event < scan.count; event++) {
          const sent = batch[scan.entries[event * entryLength + field.ordinal]!]!;
          expect(valueOf(scan, event, field.event)).toEqual(sent.event);
        }
      },
    ),
  );
});

/** What the runtime's own parser says of a text. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isScanned(text: string): boolean {
  try {
    scanOf(text);
    return true;
  } catch (thrown) {
    if (thrown instanceof Fault) return false;
    throw thrown;
  }
}

test("agrees with the runtime's parser about texts with a random change", () => {
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom(...'{}[]",:\\0123456789.eE+-tfnu \n\u0001é'),
    fc.constantFrom("put", "cut", "swap"),
  );
  fc.assert(
    fc.property(json, fc.array(change, { maxLength: 3 }), (text, changes) => {
      let changed = text;
      for (const [place, character, kind] of changes) {
        const at = changed.length === 0 ? 0 : place % changed.length;
        changed =
          changed.slice(0, at) +
          (kind === "cut" ? "" : character) +
          changed.slice(kind === "put" ? at : at + 1);
      }
      // The scan wants a batch to be an array; that is no matter of grammar.
      if (!changed.includes("batch")) expect(isScanned(changed)).toBe(isJson(changed));
    }),
    { numRuns: 5000 },
  );
});

test("one long event, text, number or stretch of white space is worked off in slices like many short ones", () => {
  const bytes = 3_000_000;
  const ones = `[${"1,".repeat(bytes / 2)}1]`;
  const members = Array.from({ length: bytes / 12 }, (_, i) => `"k${i}":1`).join(",");
  const text = `"${"\\u0041x".repeat(bytes / 7)}"`;
  const event = (properties: string) => `{"event":"e","distinct_id":"d","properties":{${properties}}}`;
  const bodies = [
    event(`"a":${ones}`),
    event(members),
    event(`"a":${text}`),
    event(`${text}:1`),
    event(`"a":-${"1".repeat(bytes)}.5e5`),
    event(`"a":${" ".repeat(bytes)}1`),
    `{${members},"event":"e","distinct_id":"d"}`,
    `[${event("")},${ones},{"x":${ones}}]`,
    `{"x":${ones},"batch":[${event(members)}${" ".repeat(bytes)}]}`,
    `${" ".repeat(bytes)}${event("")}${" ".repeat(bytes)}`,
    text,
  ];
  const arena = new ScanArena(12_000_000);
  for (const body of bodies) {
    const encoded = encoder.encode(body);
    for (const inArena of [false, true]) {
      if (inArena) arena.body.set(encoded);
      const bytes = inArena ? arena.close(encoded.length) : encoded;
      const scanner = new BodyScanner(bytes, { fast: inArena ? arena : undefined });
      let slices = 1;
      while (!scanner.advance(200_000)) slices++;
      const scan = scanner.index;
      // Its fast way may look at limits.eventBytesMax before it leaves an event to the slow way.
      expect(slices).toBeGreaterThan(encoded.length / 200_000);
      const whole = scanOf(body);
      expect([scan.shape, scan.items, scan.count]).toEqual([whole.shape, whole.items, whole.count]);
      // Outside of an arena every event may name a key twice, as far as the scan knows, and none has a shape.
      const shown = ({ entries, count }: EventIndex) =>
        [...entries.subarray(0, count * entryLength)].map((value, at) => {
          if (Math.floor((at % entryLength) / 2) * 2 === field.shape) return 0;
          return at % entryLength === field.altered ? value & alteration.characters : value;
        });
      expect(shown(scan)).toEqual(shown(whole));
    }
  }
});
