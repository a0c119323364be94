import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { uploadLimits } from "../../../src/work/bodies/limits.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";
import { receiveBody } from "../../../src/work/bodies/upload.ts";
import type { UploadBounds } from "../../../src/work/bodies/upload.ts";

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

/** A body that comes piece by piece when the test says so. */
function pushed(headers: Record<string, string> = {}) {
  let push!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (push = controller) });
  return { request: new Request("http://localhost/", { method: "POST", body, headers }), push };
}

const settled = () => Bun.sleep(1);

test("memory is acquired for what has come, not for what was announced", async () => {
  const budget = new MemoryBudget({ bytesMax: 64 << 20, shareBytesMax: 64 << 20 });
  const { request, push } = pushed({ "content-length": "20000000" });
  const lease = budget.open(20_000_000);
  const rooms: number[] = [];
  const bufferFor = (bytes: number) => void rooms.push(bytes);
  const receiving = receiveBody(request, { bytesMax: 30_000_000, lease, bufferFor });
  for (let sent = 0; sent < 20_000_000; sent += 100_000) {
    push.enqueue(new Uint8Array(100_000));
    await settled();
    const [held, most] = [budget.held, sent + 100_000 + uploadLimits.openUploadBytes];
    expect([sent, held]).toEqual([sent, most]);
    expect(rooms.length).toBe(sent + 100_000 >= limits.wholeBodyBytesMax ? 1 : 0);
  }
  push.close();
  expect((await receiving).length).toBe(20_000_000);
  expect(budget.held).toBe(20_000_000);
}, 300_000);

test("a body that is ended is refused with 503 at once, and its memory is free before that", async () => {
  const clock = { time: 0, elapsed: () => clock.time };
  const budget = new MemoryBudget({ bytesMax: 100_000, shareBytesMax: 100_000, clock });
  const { request, push } = pushed({ "content-length": "90000" });
  // As many as may be received unseen are under way.
  while (budget.acquireUnseen(90_000));
  const receiving = receiveBody(request, { bytesMax: 1_000_000, lease: budget.open(90_000) });
  push.enqueue(new Uint8Array(60_000));
  await settled();
  clock.time = 2000;
  const other = budget.open();
  other.assign(1);
  other.acquire(50_000);
  expect(budget.held).toBe(50_000);
  await expect(receiving).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 2 });
});

test("the owner is looked for again as more comes, until it is known", async () => {
  const budget = new MemoryBudget({ bytesMax: 64 << 20, shareBytesMax: 64 << 20 });
  const { request, push } = pushed();
  const lease = budget.open();
  const looks: number[] = [];
  const admit = (bytes: Uint8Array) => {
    looks.push(bytes.length);
    if (bytes.length >= 30_000) lease.assign(7);
    return undefined;
  };
  const receiving = receiveBody(request, { bytesMax: 1_000_000, lease, admit });
  for (let i = 0; i < 100; i++) {
    push.enqueue(new Uint8Array(1000));
    await settled();
  }
  push.close();
  await receiving;
  expect(looks).toEqual([1000, 4000, 16_000, 64_000]);
  expect([budget.heldBy(), budget.heldBy(7)]).toEqual([0, 100_000]);
});

/** A long body in lent memory, of which half has come. */
async function halfOfLong() {
  const budget = new MemoryBudget({ bytesMax: 64 << 20, shareBytesMax: 64 << 20 });
  const { request, push } = pushed({ "content-length": "3000000" });
  const room = new Uint8Array(3_000_000);
  const lease = budget.open(3_000_000);
  const receiving = receiveBody(request, {
    bytesMax: 4_000_000,
    lease,
    bufferFor: () => room,
    // What is made of it later is claimed, too.
    extraFor: () => 1_000_000,
  });
  const piece = (letter: number) => new Uint8Array(500_000).fill(letter);
  for (const letter of [1, 2, 3]) {
    push.enqueue(piece(letter));
    await settled();
  }
  expect(room[1_400_000]).toBe(3);
  expect(lease.claimed).toBeGreaterThan(2_000_000);
  const finish = async () => {
    for (const letter of [4, 5, 6]) push.enqueue(piece(letter));
    push.close();
    const body = await receiving;
    expect([1, 2, 3, 4, 5, 6].map((_, i) => body[i * 500_000 + 7])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(body.length).toBe(3_000_000);
  };
  return { lease, room, finish };
}

test("a slow body loses its claim, and is received whole all the same", async () => {
  const { lease, room, finish } = await halfOfLong();
  while (lease.claimed > 0) await Bun.sleep(5);
  expect(lease.bytes).toBe(1_500_000 + uploadLimits.openUploadBytes);
  await finish();
  expect([lease.bytes, room[2_999_999]]).toEqual([3_000_000, 6]);
});

test("a body that comes fast enough keeps its claim to its end", async () => {
  const { lease, room, finish } = await halfOfLong();
  await finish();
  expect([lease.claimed, room[2_999_999]]).toEqual([1_000_000, 6]);
});

test("of many bodies that are late together few are refused at once", async () => {
  const stalling = { stallMsMax: 20, wholeMsMax: 60_000 };
  const count = 3 * uploadLimits.lateAtOnceMax;
  const refusedAt = new Map<number, number>();
  let turn = 0;
  const turns = setInterval(() => turn++, 1);
  await Promise.all(
    Array.from({ length: count }, () =>
      received(endless({ "content-length": "1500000" }), 2_000_000, stalling).catch(() => {
        refusedAt.set(turn, (refusedAt.get(turn) ?? 0) + 1);
      }),
    ),
  );
  clearInterval(turns);
  expect(Math.max(...refusedAt.values())).toBeLessThanOrEqual(uploadLimits.lateAtOnceMax);
  expect([...refusedAt.values()].reduce((sum, one) => sum + one, 0)).toBe(count);
});
