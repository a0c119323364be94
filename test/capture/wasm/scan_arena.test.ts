// The memory of a body: what it holds, that a scan leaves no trace in it, and the tables of names that it begins with.

import { expect, test } from "bun:test";
import { itemKeys, knownKeys } from "../../../src/capture/fields/event_fields.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { nameBytes } from "../../../src/capture/wasm/layout.ts";
import { likelyIndexBytes, ScanArena, writeKnownNames } from "../../../src/capture/wasm/scan_arena.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { limits } from "../../../src/core/limits.ts";

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const event = '{"event":"seen","distinct_id":"ann","properties":{"plan":"free"}}';

test("a body lies at the beginning, and nothing of a longer one before it lies behind it", () => {
  const arena = new ScanArena(1000);
  arena.copy(toBytes("x".repeat(900)));
  const body = arena.copy(toBytes("short"));
  expect(textOf(body)).toBe("short");
  expect([...arena.body.subarray(5, 5 + 16)]).toEqual(Array.from({ length: 16 }, () => 0));
});

test("a body as long as the memory is whole, and a longer one is refused", () => {
  const arena = new ScanArena(event.length);
  expect(textOf(arena.copy(toBytes(event)))).toBe(event);
  expect(arena.open()).toBe(1);
  expect(() => arena.copy(toBytes(`${event} `))).toThrow(RangeError);
});

test("what was read of a body is refused once another one is there", () => {
  const arena = new ScanArena(100);
  arena.copy(toBytes("a"));
  const { generation } = arena;
  arena.assertHolds(generation);
  arena.close(1);
  expect(() => arena.assertHolds(generation)).toThrow("another body");
});

test.each([
  ["one event", `${event}`, 1],
  ["a batch, whose events begin behind its bracket", `{"api_key":"k","batch":[${event}]}`, 24],
  ["no JSON", "event=seen", 0],
  ["nothing", "", 0],
  ["an event that is cut short", event.slice(0, -1), 0],
])("%s is told from the others, and the body is as it was", (_, body, opened) => {
  const arena = new ScanArena(1000);
  const held = arena.copy(toBytes(body));
  expect(arena.open()).toBe(opened);
  expect(textOf(held)).toBe(body);
});

test("a body longer than a slice is as it was after its beginning is read, and after a slice is indexed", () => {
  const body = toBytes(`{"batch":[${`${event},`.repeat(40_000)}${event}]}`);
  expect(body.length).toBeGreaterThan(captureLimits.sliceBytesMax + limits.eventBytesMax);
  const arena = new ScanArena(body.length);
  const held = arena.copy(body);
  const begin = arena.open();
  expect(Buffer.compare(held, body)).toBe(0);
  const end = arena.scan(begin, begin + 1000, [0, 100], 0, [0, 0]);
  expect(Buffer.compare(held, body)).toBe(0);
  expect([begin, (end - begin) % (event.length + 1)]).toEqual(['{"batch":['.length, 0]);
  expect([arena.foundCount * (event.length + 1), arena.isCommaNext]).toEqual([end - begin, true]);
});

test("an index takes half of a long body, nothing of a short one, and never more than its bound", () => {
  const { arenaBodyBytesMin } = captureLimits;
  expect(likelyIndexBytes(arenaBodyBytesMin - 1)).toBe(0);
  expect(likelyIndexBytes(arenaBodyBytesMin)).toBe(Math.ceil(arenaBodyBytesMin / 2));
  expect(likelyIndexBytes(2 * limits.indexBytesMax)).toBe(limits.indexBytesMax);
  expect(likelyIndexBytes(2 * limits.indexBytesMax + 1)).toBe(limits.indexBytesMax);
});

test("every known name is found by its length and second letter, with its slot, and no other name is there", () => {
  const others = knownKeys({ event: 3, evident: 5, "even ü": 7 });
  const [first, second, names] = [0, 16_384, 32_768];
  const bytes = new Uint8Array(65_536);
  const view = new DataView(bytes.buffer);
  writeKnownNames(bytes, names, [
    [first, itemKeys],
    [second, others],
  ]);
  for (const [table, { byLength }] of [
    [first, itemKeys],
    [second, others],
  ] as const) {
    const found: [string, number][] = [];
    for (let bucket = 0; bucket < 16_384; bucket++) {
      for (let which = bytes[table + bucket]!; which !== 0;) {
        const at = names + which * nameBytes;
        const length = bucket >> 8;
        const name = bytes.subarray(at + 16, at + 16 + length);
        expect(name[1]).toBe(bucket & 255);
        found.push([textOf(name), view.getInt32(at, true)]);
        which = view.getUint32(at + 4, true);
      }
    }
    const known = byLength.flat().map(({ name, slot }): [string, number] => [textOf(name), slot]);
    expect(found.toSorted()).toEqual(known.toSorted());
  }
});
