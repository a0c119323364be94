import { expect, test } from "bun:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import LZString from "lz-string";
import { decodeBase64 } from "../../../src/capture/decode/base64.ts";
import { decodeBody } from "../../../src/capture/decode/decode.ts";
import type { Sent } from "../../../src/capture/decode/wrapping.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { joined } from "../../../src/core/chunks.ts";
import { runAtOnce } from "../../../src/core/clock.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";

const plain = JSON.stringify({ api_key: "k", batch: [{ event: "é ✓", properties: { at: "+02:00" } }] });
const body = toBytes(plain);
const base64 = Buffer.from(plain).toString("base64");
const form = "application/x-www-form-urlencoded";

const memory = new MemoryBudget({ bytesMax: 2 ** 30, shareBytesMax: 2 ** 30 });
const unbounded = () => ({ lease: memory.open() });

interface Said {
  encoding?: string;
  compression?: string;
  contentType?: string;
}

/** A request with these hints. */
function sentWith({ encoding, compression, contentType }: Said): Sent {
  const headers = new Headers();
  if (encoding) headers.set("content-encoding", encoding);
  if (contentType) headers.set("content-type", contentType);
  return { request: { headers }, query: new URLSearchParams(compression ? { compression } : {}) };
}

async function decoded(bytes: Uint8Array | string, said: Said = {}): Promise<string> {
  const wire = typeof bytes === "string" ? toBytes(bytes) : bytes;
  const { chunks } = await decodeBody(wire, sentWith(said), unbounded());
  return new TextDecoder().decode(Buffer.concat(chunks));
}

test("compressed bodies are inflated by their bytes or by what a header or the query says", async () => {
  const cases: [Uint8Array, Said][] = [
    [gzipSync(body), {}],
    [gzipSync(body), { encoding: "gzip" }],
    [gzipSync(body), { compression: "gzip-js" }],
    [gzipSync(body), { encoding: "gzip", compression: "gzip-js", contentType: "text/plain" }],
    [Buffer.concat([gzipSync(body), Buffer.from("\n")]), { encoding: "gzip" }],
    [Buffer.concat([gzipSync(body), Buffer.from("\r\n")]), {}],
    [deflateSync(body, { windowBits: 9 }), { encoding: "deflate" }],
    [gzipSync(body), { encoding: "br" }],
    [zstdCompressSync(body), {}],
    [zstdCompressSync(body), { encoding: "zstd" }],
    [deflateSync(body), {}],
    [deflateSync(body), { encoding: "deflate" }],
    [deflateRawSync(body), { encoding: "deflate" }],
    [brotliCompressSync(body), { encoding: "br" }],
    [gzipSync(brotliCompressSync(body)), { encoding: "br, gzip" }],
    [gzipSync(gzipSync(body)), { encoding: "gzip" }],
  ];
  for (const [bytes, said] of cases) expect(await decoded(bytes, said)).toBe(plain);
});

test("base64 is taken off, with and without a hint, in both spellings, doubled, and around compression", async () => {
  expect(await decoded(base64)).toBe(plain);
  expect(await decoded(base64, { compression: "base64" })).toBe(plain);
  expect(await decoded(`${base64}\n`)).toBe(plain);
  expect(await decoded(Buffer.from(plain).toString("base64url"))).toBe(plain);
  expect(await decoded(Buffer.from(base64).toString("base64"))).toBe(plain);
  expect(await decoded(gzipSync(body).toString("base64"), { compression: "gzip" })).toBe(plain);
  expect(await decoded(brotliCompressSync(body).toString("base64"), { encoding: "br" })).toBe(plain);
  expect(await decoded(base64.replaceAll("+", " "))).toBe(plain);
});

test("forms carry a body in data, and say how it is packed and when it was sent", async () => {
  const encoded = encodeURIComponent(plain);
  expect(await decoded(`data=${encoded}`, { contentType: form })).toBe(plain);
  expect(await decoded(`data=${encoded}`)).toBe(plain);
  expect(await decoded(`ip=1&data=${encoded}&_=5`, { contentType: `${form}; charset=UTF-8` })).toBe(plain);
  expect(await decoded(`data=${encodeURIComponent(base64)}`, { contentType: form })).toBe(plain);
  expect(await decoded(`data=${base64}`, { contentType: form })).toBe(plain);
  const packed = LZString.compressToBase64(plain);
  expect(await decoded(`compression=lz64&data=${encodeURIComponent(packed)}`, { contentType: form })).toBe(
    plain,
  );
  const sentAt = async (field: string) =>
    (await decodeBody(toBytes(`data=${base64}&${field}`), sentWith({ contentType: form }), unbounded()))
      .sent_at;
  expect(await sentAt("sent_at=1700000000000")).toBe("1700000000000");
  expect(await sentAt("_=1700000000001")).toBe("1700000000001");
});

test("lz-string is unpacked, with a hint or without", async () => {
  const packed = LZString.compressToBase64(plain);
  expect(await decoded(packed, { compression: "lz64" })).toBe(plain);
  expect(await decoded(packed, { compression: "lz-string" })).toBe(plain);
  expect(await decoded(packed)).toBe(plain);
});

test("JSON is JSON, whatever is said of it", async () => {
  const said: Said[] = [
    { encoding: "gzip" },
    { compression: "base64" },
    { encoding: "br", compression: "lz64", contentType: form },
  ];
  for (const one of said) expect(await decoded(body, one)).toBe(plain);
  expect(await decoded(`\ufeff \n${plain}`, { encoding: "gzip" })).toContain("api_key");
  expect(await decoded(encodeURIComponent(plain))).toBe(plain);
});

test("what is nothing of this is handed on as it is", async () => {
  for (const text of ["", "7", "true", "hello", "hello world!", "====", "data", "%zz"])
    expect(await decoded(text, { compression: "base64" })).toBe(text);
});

test("damaged compression is the client's mistake, and the answer says which and how much arrived", async () => {
  const corrupt = gzipSync(body).subarray(0, 20);
  const refused = { code: "invalid_payload", detail: expect.stringContaining("20 bytes is no sound gzip") };
  await expect(decoded(corrupt)).rejects.toMatchObject(refused);
  await expect(decoded(new Uint8Array([1, 2, 3, 250]), { encoding: "br" })).rejects.toMatchObject({
    code: "invalid_payload",
  });
});

test("a body that inflates past the bound is refused while it inflates, small or large", async () => {
  const line = Buffer.from(Array.from({ length: 1000 }, (_, i) => `{"n":${i * 7919}}`).join(","));
  const much = Buffer.alloc(110 * 1024 * 1024, line);
  const refused = { code: "payload_too_large", detail: expect.stringContaining("104857600 bytes") };
  await expect(decoded(gzipSync(much))).rejects.toMatchObject(refused);
  const tiny = zstdCompressSync(new Uint8Array(110 * 1024 * 1024));
  expect(tiny.length).toBeLessThan(32 * 1024);
  const dense = { code: "payload_too_large", detail: expect.stringContaining("500 times as many bytes") };
  await expect(decoded(tiny)).rejects.toMatchObject(dense);
});

test("wrappings are taken off only so often", async () => {
  let bytes: Uint8Array = body;
  for (let i = 0; i < 6; i++) bytes = gzipSync(bytes);
  expect(await decoded(bytes)).toBe(plain);
  expect(await decoded(gzipSync(bytes))).not.toBe(plain);
});

/** How often others got their turn before `work` was over. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let over = false;
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  await work;
  over = true;
  return turns;
}

test("a long body is unwrapped a stretch at a time, and others get their turn between", async () => {
  const long = JSON.stringify({ api_key: "k", batch: ["é ✓+".repeat(400_000)] });
  const letters = Buffer.from(long).toString("base64");
  const packed = LZString.compressToBase64(
    JSON.stringify({ api_key: Array.from({ length: 60_000 }, String) }),
  );
  const cases: [string, Said, number][] = [
    [letters, {}, letters.length],
    [letters.replace(/.{76}/g, "$&\r\n"), {}, letters.length],
    [`data=${encodeURIComponent(letters)}`, { contentType: form }, letters.length * 2],
    [encodeURIComponent(long), {}, long.length * 2],
    [`${"&".repeat(2_000_000)}data=${letters}`, { contentType: form }, 2_000_000 + letters.length],
    [packed, { compression: "lz64" }, 700_000],
  ];
  for (const [text, said, bytes] of cases) {
    const work = decodeBody(toBytes(text), sentWith(said), unbounded());
    expect(await turnsDuring(work)).toBeGreaterThan(bytes / captureLimits.decodeBytesMax - 2);
    const { chunks } = await work;
    if (text !== packed) expect(Buffer.concat(chunks).equals(Buffer.from(long))).toBe(true);
  }
});

test("what is inflated comes in chunks, made elsewhere, and is only joined a stretch at a time", async () => {
  const long = toBytes(
    JSON.stringify({ api_key: "k", batch: Array.from({ length: 3_000_000 }, (_, i) => i) }),
  );
  const { chunks } = await decodeBody(gzipSync(long), sentWith({}), unbounded());
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(
    captureLimits.inflateChunkBytes,
  );
  const joining = joined(chunks);
  expect(await turnsDuring(joining)).toBeGreaterThan(1);
  expect(Buffer.compare(await joining, long)).toBe(0);
});

test("bytes that are no text travel in base64 and in forms as they are", async () => {
  const zipped = gzipSync(body);
  const percent = [...zipped].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  expect(await decoded(`data=${percent}`)).toBe(plain);
  expect(await decoded(`a=1&&data&%64ata=${encodeURIComponent(base64)}&data=no`, { contentType: form })).toBe(
    plain,
  );
});

test("base64 is read as Node reads it, however the stretches fall, and stray letters make it none", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 3, maxLength: 300 }),
      fc.nat(40),
      fc.boolean(),
      (bytes, lines, url) => {
        const text = Buffer.from(bytes).toString(url ? "base64url" : "base64");
        const parts = lines > 3 ? (text.match(new RegExp(`.{1,${lines}}`, "g")) ?? []).join("\r\n") : text;
        expect(Buffer.compare(runAtOnce(decodeBase64(toBytes(parts), 5))!, bytes)).toBe(0);
        expect(runAtOnce(decodeBase64(toBytes(`${parts}!`), 5))).toBeUndefined();
      },
    ),
    { numRuns: 1000 },
  );
});

test("white space alone is looked past only so far", async () => {
  const blanks = " ".repeat(1_000_000);
  expect(await decoded(blanks)).toBe(blanks);
  expect(await decoded(`${" ".repeat(2000)}${base64}${"\n".repeat(2000)}`)).toBe(plain);
});
