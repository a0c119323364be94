import { expect, test } from "bun:test";
import { type UploadBounds, receiveBody } from "../../../src/work/bodies/upload.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";

const memory = new MemoryBudget({ bytesMax: 2 ** 30, shareBytesMax: 2 ** 30 });

/** With as much memory as it likes. */
function received(request: Request, bytesMax: number, bounds?: UploadBounds): Promise<Uint8Array> {
  return receiveBody(request, { bytesMax, lease: memory.open(), bounds });
}

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
  expect((await received(request(999), 1000)).length).toBe(999);
  await expect(received(request(1000), 1000)).rejects.toThrow(
    "must be smaller than 1000 bytes; 1000 bytes arrived",
  );
  const announced = new Request("http://localhost/", {
    method: "POST",
    body: new Uint8Array(1000),
    headers: { "content-length": "1000" },
  });
  await expect(received(announced, 1000)).rejects.toMatchObject({ code: "payload_too_large" });
});

test("a request without a body is an empty one", async () => {
  expect((await received(new Request("http://localhost/", { method: "POST" }), 1000)).length).toBe(0);
});

/** A body that begins and never ends. */
function endless(headers: Record<string, string> = {}): Request {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(10)),
  });
  return new Request("http://localhost/", { method: "POST", body, headers });
}

test("an upload that stalls, or that takes too long in all, is refused as a timeout", async () => {
  const refused = { code: "upload_timeout" };
  const stalling = { stallMsMax: 20, wholeMsMax: 60_000 };
  await expect(received(endless(), 1000, stalling)).rejects.toMatchObject(refused);
  await expect(received(endless({ "content-length": "20" }), 1000, stalling)).rejects.toMatchObject(refused);
  const announced = endless({ "content-length": "1500000" });
  await expect(received(announced, 2_000_000, stalling)).rejects.toMatchObject(refused);
  let timer: ReturnType<typeof setInterval> | undefined;
  const trickle = new ReadableStream<Uint8Array>({
    start: (controller) => void (timer = setInterval(() => controller.enqueue(new Uint8Array(1)), 5)),
    cancel: () => clearInterval(timer),
  });
  const trickling = new Request("http://localhost/", { method: "POST", body: trickle });
  await expect(received(trickling, 1000, { stallMsMax: 10_000, wholeMsMax: 50 })).rejects.toThrow(
    "50 ms in all",
  );
});

test("an upload that its client gives up is refused, however it was announced", async () => {
  const broken = (headers: Record<string, string>) =>
    new Request("http://localhost/", {
      method: "POST",
      headers,
      body: new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("reset")) }),
    });
  for (const headers of [{}, { "content-length": "10" }, { "content-length": "1500000" }]) {
    await expect(received(broken(headers), 2_000_000)).rejects.toMatchObject({ code: "upload_timeout" });
  }
});
