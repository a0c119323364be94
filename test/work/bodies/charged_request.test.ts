import { expect, test } from "bun:test";
import {
  chargeBody,
  leaseFor,
  receiveAhead,
  receiveSmall,
  releaseAhead,
} from "../../../src/work/bodies/charged_request.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";

function request(body: string, announced = body.length): Request {
  const headers = { "content-length": String(announced) };
  return new Request("http://localhost/", { method: "POST", body, headers });
}

test("a body counts in its owner's share once that is known, and in nobody's before", () => {
  const memory = new MemoryBudget({ bytesMax: 1 << 20, shareBytesMax: 100_000 });
  const sent = request("x", 50_000);
  chargeBody(sent, memory);
  const before = leaseFor(sent);
  before.acquire(40_000);
  chargeBody(sent, memory, "key 1");
  const after = leaseFor(sent);
  after.acquire(30_000);
  expect([memory.heldBy(), memory.heldBy("key 1")]).toEqual([40_000, 30_000]);
});

test("a body that was read ahead is received once more, and its memory is held until its sender is known", async () => {
  const memory = new MemoryBudget({ bytesMax: 1 << 20, shareBytesMax: 1 << 20 });
  const sent = request("x".repeat(20_000));
  chargeBody(sent, memory);
  expect((await receiveAhead(sent, 20_000)).length).toBe(20_000);
  expect(memory.held).toBe(20_000);
  releaseAhead(sent);
  expect(memory.held).toBe(0);
  const lease = leaseFor(sent);
  expect((await receiveSmall(sent, lease, 20_000)).length).toBe(20_000);
  expect(memory.held).toBe(20_000);
  lease.close();
});

test("nothing is acquired for what a body announces, and one that announces too much is refused unread", async () => {
  const memory = new MemoryBudget({ bytesMax: 1 << 20, shareBytesMax: 1 << 20 });
  const endless = () =>
    new Request("http://localhost/", {
      method: "POST",
      headers: { "content-length": "900000" },
      body: new ReadableStream<Uint8Array>({ start: (stream) => stream.enqueue(new Uint8Array(60)) }),
    });
  const sent = endless();
  chargeBody(sent, memory);
  const lease = leaseFor(sent);
  const receiving = receiveSmall(sent, lease, 1_000_000, 20);
  expect(memory.held).toBeLessThan(10_000);
  await expect(receiving).rejects.toMatchObject({ code: "upload_timeout" });
  const large = receiveSmall(endless(), lease, 800_000);
  await expect(large).rejects.toMatchObject({ code: "payload_too_large" });
  lease.close();
  expect(memory.held).toBe(0);
});
