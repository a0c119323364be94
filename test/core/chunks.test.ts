import { expect, test } from "bun:test";
import { bytesIn, Chunks, free, joined } from "../../src/core/chunks.ts";
import { limits } from "../../src/core/limits.ts";

test("a body of single bytes is kept in few pieces, and is what was sent", async () => {
  const chunks = new Chunks();
  const sent = Uint8Array.from({ length: 200_000 }, (_, i) => i % 251);
  for (let i = 0; i < sent.length; i++) chunks.add(sent.subarray(i, i + 1));
  expect(chunks.size).toBe(sent.length);
  const pieces = chunks.drain();
  // The first ones double from a kilobyte on: who has sent little holds little.
  expect(pieces.map(({ length }) => length)).toEqual([
    ...Array.from({ length: 7 }, (_, i) => 1024 << Math.max(0, i - 1)),
    limits.chunkBytesMin,
    limits.chunkBytesMin,
    200_000 - 3 * limits.chunkBytesMin,
  ]);
  expect(bytesIn(pieces)).toBe(sent.length);
  expect(Buffer.compare(await joined(pieces), sent)).toBe(0);
  expect([chunks.size, chunks.drain()]).toEqual([0, []]);
});

test("long chunks are kept as they came, between short ones", async () => {
  const chunks = new Chunks();
  const long = new Uint8Array(limits.chunkBytesMin).fill(2);
  for (const chunk of [Uint8Array.of(1), long, Uint8Array.of(3)]) chunks.add(chunk);
  const pieces = chunks.drain();
  expect(pieces.map(({ length }) => length)).toEqual([1, long.length, 1]);
  expect(pieces[1]).toBe(long);
});

test("pieces are freed as they are joined; one alone is handed on", async () => {
  const pieces = [1, 2].map((letter) => new Uint8Array(limits.chunkBytesMin).fill(letter));
  const whole = await joined(pieces);
  expect([whole[0], whole.at(-1), whole.length]).toEqual([1, 2, limits.chunkBytesMin * 2]);
  expect(pieces.map(({ length }) => length)).toEqual([0, 0]);
  expect(await joined([whole])).toBe(whole);
});

test("only memory that nobody else has is freed", () => {
  const whole = new Uint8Array(limits.chunkBytesMin * 2);
  free(whole.subarray(0, limits.chunkBytesMin));
  expect(whole.length).toBe(limits.chunkBytesMin * 2);
  free(whole.subarray(0, 10), true);
  expect(whole.length).toBe(0);
  const short = Buffer.from("in a pool");
  free(short, true);
  expect(short.toString()).toBe("in a pool");
  const memory = new WebAssembly.Memory({ initial: 1 });
  free(new Uint8Array(memory.buffer).subarray(0, 65_535));
  expect(memory.buffer.byteLength).toBe(65_536);
});

test("the first bytes of a body are shown in one piece, and stay in it", async () => {
  const chunks = new Chunks();
  expect(chunks.firstBytes(10)).toEqual(new Uint8Array(0));
  for (let i = 0; i < 3000; i++) chunks.add(Uint8Array.of(i % 251));
  for (const count of [1, 1024, 2500]) {
    expect([...chunks.firstBytes(count)]).toEqual(Array.from({ length: count }, (_, i) => i % 251));
  }
  expect(chunks.firstBytes(10_000).length).toBe(3000);
  expect(bytesIn(chunks.drain())).toBe(3000);
});
