import { expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { inflateBody, receiveBody } from "../../src/capture/body.ts";
import { bytesOf } from "../../src/core/bytes.ts";

const body = bytesOf(JSON.stringify({ api_key: "k", batch: [] }));

async function inflated(
  bytes: Uint8Array,
  encoding: string | null = null,
  query: string | null = null,
): Promise<string> {
  return new TextDecoder().decode(await inflateBody(bytes, { encoding, query }));
}

test("inflates what the bytes or the hints say", async () => {
  const plain = new TextDecoder().decode(body);
  expect(await inflated(body)).toBe(plain);
  expect(await inflated(gzipSync(body))).toBe(plain);
  expect(await inflated(gzipSync(body), "gzip")).toBe(plain);
  expect(await inflated(gzipSync(body), null, "gzip-js")).toBe(plain);
  expect(await inflated(zstdCompressSync(body))).toBe(plain);
  expect(await inflated(brotliCompressSync(body), "br")).toBe(plain);
  expect(await inflated(deflateSync(body), "deflate")).toBe(plain);
  expect(await inflated(body, "gzip")).toBe(plain);
});

test("corrupt compression is the client's mistake", async () => {
  const corrupt = gzipSync(body).subarray(0, 20);
  expect(inflateBody(corrupt, { encoding: null, query: null })).rejects.toMatchObject({
    code: "invalid_payload",
  });
});

test("a body that inflates past the bound is refused while it inflates, small or large", async () => {
  const bomb = gzipSync(new Uint8Array(110 * 1024 * 1024));
  await expect(inflateBody(bomb, { encoding: null, query: null })).rejects.toMatchObject({
    code: "payload_too_large",
  });
  const tiny = zstdCompressSync(new Uint8Array(110 * 1024 * 1024));
  expect(tiny.length).toBeLessThan(32 * 1024);
  await expect(inflateBody(tiny, { encoding: null, query: null })).rejects.toMatchObject({
    code: "payload_too_large",
  });
});

test("a body of the bound or more is refused, told its size, and read to its end, with or without a length", async () => {
  const chunked = (size: number) =>
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let sent = 0; sent < size; sent += 100)
          controller.enqueue(new Uint8Array(Math.min(100, size - sent)));
        controller.close();
      },
    });
  const request = (size: number) => new Request("http://localhost/", { method: "POST", body: chunked(size) });
  expect((await receiveBody(request(999), 1000)).length).toBe(999);
  await expect(receiveBody(request(1000), 1000)).rejects.toThrow(
    "must be smaller than 1000 bytes; 1000 bytes arrived",
  );
  const announced = new Request("http://localhost/", {
    method: "POST",
    body: new Uint8Array(1000),
    headers: { "content-length": "1000" },
  });
  await expect(receiveBody(announced, 1000)).rejects.toMatchObject({ code: "payload_too_large" });
});

test("a request without a body is an empty one", async () => {
  expect((await receiveBody(new Request("http://localhost/", { method: "POST" }), 1000)).length).toBe(0);
});
