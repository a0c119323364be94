import { expect, test } from "bun:test";
import {
  brotliCompressSync,
  constants,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { gunzipStart, inflateBytes, type Method } from "../../../src/capture/decode/inflate.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { bytesIn } from "../../../src/core/chunks.ts";
import { yieldToEventLoop } from "../../../src/core/clock.ts";
import { Fault } from "../../../src/core/fault.ts";
import { limits } from "../../../src/core/limits.ts";
import { uploadLimits } from "../../../src/work/bodies/limits.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";

const memory = new MemoryBudget({ bytesMax: 2 ** 30, shareBytesMax: 2 ** 30 });

/** With as much memory as it likes. */
function inflated(method: Method, bytes: Uint8Array): Promise<Uint8Array[]> {
  return inflateBytes(method, bytes, { bytesMax: limits.inflatedBytesMax, lease: memory.open() });
}

/**
 * Whether the work goes on in a thread: what is done on the spot is over before the event loop turns, and what a thread
 * does is told by the loop only. Looks at no clock and at no order of the loop's events.
 */
async function goesOnElsewhere(work: Promise<unknown>): Promise<boolean> {
  let over = false;
  const settled = () => void (over = true);
  work.then(settled, settled);
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  return !over;
}

test("a few kilobytes that hold a hundred megabytes are not inflated while everybody waits", async () => {
  const bomb = zstdCompressSync(new Uint8Array(110 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(32 * 1024);
  const work = inflated("zstd", bomb);
  expect(await goesOnElsewhere(work)).toBe(true);
  await expect(work).rejects.toMatchObject({ code: "payload_too_large" });
});

/** Compresses well, but no better than events that are alike. */
function alike(bytes: number): Uint8Array {
  const items: string[] = [];
  for (let i = 0, size = 0; size < bytes; i++, size += items.at(-1)!.length + 1) {
    items.push(`{"event":"tick","distinct_id":"device-1","properties":{"n":${i},"ok":true}}`);
  }
  return Buffer.from(`[${items.join(",")}]`);
}

test("a small body is inflated on the spot, and one that turns out larger is whole as well", async () => {
  const small = new Uint8Array(1000).fill(7);
  expect(await goesOnElsewhere(inflated("gzip", gzipSync(small)))).toBe(false);
  const larger = alike(5 * 1024 * 1024);
  expect(Buffer.compare(Buffer.concat(await inflated("gzip", gzipSync(larger))), larger)).toBe(0);
});

test("brotli is never inflated on the spot: a few hundred bytes fill a window of 16 MB first", async () => {
  const bomb = brotliCompressSync(new Uint8Array(64 * 1024 * 1024));
  const work = inflated("br", bomb);
  expect(await goesOnElsewhere(work)).toBe(true);
  await expect(work).rejects.toMatchObject({ code: "payload_too_large" });
});

test("beyond a megabyte few bytes may become only so many, in every method and however they are wrapped", async () => {
  const zeros = new Uint8Array(8 * 1024 * 1024);
  const bombs: [Method, Uint8Array][] = [
    ["gzip", gzipSync(zeros)],
    ["deflate", deflateSync(zeros)],
    ["deflate-raw", deflateRawSync(zeros)],
    ["br", brotliCompressSync(zeros)],
    ["zstd", zstdCompressSync(zeros)],
  ];
  const refused = { code: "payload_too_large", detail: expect.stringContaining("500 times") };
  for (const [method, bomb] of bombs) await expect(inflated(method, bomb)).rejects.toMatchObject(refused);
  // The inner layer is as long as a bomb's may be, what was sent is not.
  const inner = gzipSync(alike(4 * 1024 * 1024));
  const bounds = { bytesMax: limits.inflatedBytesMax, lease: memory.open() };
  await expect(inflateBytes("gzip", inner, { ...bounds, wireBytes: 1000 })).rejects.toMatchObject(refused);
  expect((await inflateBytes("gzip", inner, { ...bounds, wireBytes: 100_000 })).length).toBeGreaterThan(1);
});

test("a zstd window of more than HTTP allows is refused, since it takes memory beside the body", async () => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 };
  const wide = zstdCompressSync(alike(2 * 1024 * 1024), { params });
  const streamed = createZstdCompress({ params });
  const pieces: Uint8Array[] = [];
  streamed.on("data", (piece: Uint8Array) => pieces.push(piece));
  const ended = new Promise((resolve) => streamed.on("end", resolve));
  streamed.write(crypto.getRandomValues(new Uint8Array(60_000)));
  streamed.end(alike(2 * 1024 * 1024));
  await ended;
  await expect(inflated("zstd", Buffer.concat(pieces))).rejects.toMatchObject({ code: "invalid_payload" });
  expect((await inflated("zstd", wide)).length).toBeGreaterThan(0);
});

test("what is inflated is acquired piece by piece, and given back when it comes to nothing", async () => {
  const budget = new MemoryBudget({ bytesMax: 4 * 1024 * 1024, shareBytesMax: 4 * 1024 * 1024 });
  const lease = budget.open();
  const bounds = { bytesMax: limits.inflatedBytesMax, lease };
  const [fits, exceeds] = [gzipSync(alike(2 * 1024 * 1024)), gzipSync(alike(16 * 1024 * 1024))];
  const refused = { code: "unavailable", retryAfterSeconds: uploadLimits.memoryRetrySeconds };
  await expect(inflateBytes("gzip", exceeds, bounds)).rejects.toMatchObject(refused);
  expect(lease.bytes).toBe(0);
  const cut = gzipSync(alike(2 * 1024 * 1024)).subarray(0, -10_000);
  await expect(inflateBytes("gzip", cut, bounds)).rejects.toMatchObject({ code: "invalid_payload" });
  expect(lease.bytes).toBe(0);
  const pieces = await inflateBytes("gzip", fits, bounds);
  expect(lease.bytes).toBe(bytesIn(pieces));
  lease.close();
  expect(budget.held).toBe(0);
});

test("the first piece is looked at before the second is inflated, and what is thrown then ends it", async () => {
  const bytes = gzipSync(alike(16 * 1024 * 1024));
  const lease = memory.open();
  const seen: number[] = [];
  const bounds = (admit: () => Promise<void> | undefined) => ({
    bytesMax: limits.inflatedBytesMax,
    lease,
    admit: (piece: Uint8Array) => {
      seen.push(piece.length);
      return admit();
    },
  });
  const unknown = new Fault("invalid_api_key", "No project has it.");
  const refuse = async () => {
    await yieldToEventLoop();
    expect(lease.bytes).toBe(captureLimits.inflateChunkBytes);
    throw unknown;
  };
  await expect(inflateBytes("gzip", bytes, bounds(refuse))).rejects.toBe(unknown);
  expect(lease.bytes).toBe(0);
  const pieces = await inflateBytes(
    "gzip",
    bytes,
    bounds(() => yieldToEventLoop()),
  );
  expect(bytesIn(pieces)).toBeGreaterThan(16 * 1024 * 1024);
  expect(seen).toEqual([captureLimits.inflateChunkBytes, captureLimits.inflateChunkBytes]);
});

test("more bodies than may be inflated at once wait for each other, and all are", async () => {
  const bytes = gzipSync(alike(2 * 1024 * 1024));
  const all = Array.from({ length: uploadLimits.inflatesAtOnceMax * 4 }, () => inflated("gzip", bytes));
  const sizes = (await Promise.all(all)).map((pieces) => bytesIn(pieces));
  expect(new Set(sizes).size).toBe(1);
});

test("an owner whose bodies wait for a thread leaves room for those of others, which come first", async () => {
  const bytes = gzipSync(crypto.getRandomValues(new Uint8Array(60_000)));
  const order: string[] = [];
  const inflatedOf = (owner: string) => {
    const lease = memory.open();
    lease.assign(owner);
    const inflating = inflateBytes("gzip", bytes, { bytesMax: limits.inflatedBytesMax, lease });
    return inflating.then(
      () => void order.push(owner),
      ({ code }: Fault) => code,
    );
  };
  const crowd = Array.from({ length: uploadLimits.inflatesWaitingMax * 2 }, () => inflatedOf("crowd"));
  expect(await inflatedOf("other")).toBeUndefined();
  expect(order.length).toBeLessThan(2 * uploadLimits.inflatesAtOnceMax);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set([undefined, "unavailable"]));
});

test("the first bytes of a gzip body show what it begins with; those of a bomb and of other bodies nothing", () => {
  const text = `{"api_key":"phc_some_key","batch":[${Array.from({ length: 5000 }, (_, i) => i * 7919).join(",")}]}`;
  const shown = (bytes: Uint8Array) => new TextDecoder().decode(gunzipStart(bytes));
  const whole = gzipSync(text);
  for (const bytes of [200, 5000]) {
    const start = shown(whole.subarray(0, bytes));
    expect(start.length).toBeGreaterThan(100);
    expect(text.startsWith(start)).toBe(true);
  }
  expect(shown(gzipSync(Buffer.alloc(1 << 24, " ")))).toBe("");
  expect(shown(Buffer.from(text))).toBe("");
  expect(shown(whole.subarray(0, 5))).toBe("");
});

test("a short body of zstd that asks for a large window is refused, however little it holds", async () => {
  const text = Buffer.from('{"event":"e"}');
  // A frame with one raw block; its window is two to the power of `bits`.
  const frame = (bits: number) => {
    const block = 1 | (text.length << 3);
    const head = [0x28, 0xb5, 0x2f, 0xfd, 0, (bits - 10) << 3, block & 255, block >> 8, 0];
    return Buffer.concat([Uint8Array.from(head), text]);
  };
  expect(Buffer.concat(await inflated("zstd", frame(23)))).toEqual(text);
  await expect(inflated("zstd", frame(27))).rejects.toMatchObject({ code: "invalid_payload" });
});

// zlib's readers stop at the end of a member; junk that is no member is ignored, a damaged second member is not.
test.each([
  ["a byte", "x"],
  ["line breaks and blanks", "\n \r\n\n"],
  ["a text", "garbage behind it"],
  ["zeros and a text", "\0\0x"],
])("a gzip with %s behind it is what its member holds", async (_, junk) => {
  const named = gzipSync("hello");
  const withName = Buffer.concat([
    named.subarray(0, 3),
    Buffer.from([8 | 4 | 16 | 2]),
    named.subarray(4, 10),
    Buffer.from([2, 0, 1, 1]),
    Buffer.from("file.json\0comment\0"),
    Buffer.from([1, 2]),
    named.subarray(10),
  ]);
  for (const member of [named, gzipSync(alike(600_000)), withName]) {
    const expected = Buffer.concat(await inflated("gzip", member)).length;
    const before = memory.held;
    const chunks = await inflated("gzip", Buffer.concat([member, Buffer.from(junk)]));
    expect(Buffer.concat(chunks).length).toBe(expected);
    expect(memory.held - before).toBe(expected);
  }
});
test("a gzip with a damaged second member, or a wrong checksum before junk, is refused and holds no memory", async () => {
  const member = gzipSync(alike(100_000));
  const wrong = Buffer.from(member);
  wrong[member.length - 6]! ^= 1;
  const before = memory.held;
  for (const body of [
    [member, member.subarray(0, 40)],
    [member, Buffer.from("\x1f\x8b", "latin1")],
    [wrong, Buffer.from("junk")],
    [member.subarray(0, -9), Buffer.from("junk")],
    [Buffer.from("\x1f\x8b\x08\x08no end of a name", "latin1")],
  ])
    await expect(inflated("gzip", Buffer.concat(body))).rejects.toMatchObject({ code: "invalid_payload" });
  expect(memory.held).toBe(before);
});
