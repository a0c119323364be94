// What bodies hold of the budget of memory: within it, refused past it, and given back however a request ends.

import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import LZString from "lz-string";
import { Fault } from "../../src/core/fault.ts";
import { uploadLimits } from "../../src/work/bodies/limits.ts";
import { MemoryBudget } from "../../src/work/bodies/memory_budget.ts";
import { type Desk, key, openDesk } from "../support/capture.ts";
import { cleanUp, later } from "../support/cleanup.ts";

afterAll(cleanUp);

const mega = 1024 * 1024;
const bodyBytesMax = 8 * mega;

function budget(megabytes: number, waitMsMax = 60_000): MemoryBudget {
  const bytesMax = megabytes * mega;
  return new MemoryBudget({ bytesMax, shareBytesMax: bytesMax * uploadLimits.memoryFraction, waitMsMax });
}

/** A batch of about so many bytes, whose key is named first, last, or in each event only. */
function batch(bytes: number, place: "first" | "last" | "events" = "first", named = key): string {
  const token = place === "events" ? `,"token":"${named}"` : "";
  const items: string[] = [];
  for (let size = 0, i = 0; size < bytes; i++) {
    items.push(`{"event":"e","distinct_id":"d${i}","properties":{"n":${i * 7919}${token}}}`);
    size += items.at(-1)!.length + 1;
  }
  if (place === "events") return `[${items.join(",")}]`;
  const own = `"api_key":"${named}"`;
  const all = `"batch":[${items.join(",")}]`;
  return place === "first" ? `{${own},${all}}` : `{${all},${own}}`;
}

const announced = (body: string | Uint8Array) => ({ "content-length": String(Buffer.byteLength(body)) });

/** Sends it with its length, as clients do. */
async function post(desk: Desk, path: string, body: string | Uint8Array, more = {}): Promise<Response> {
  return await desk.send(path, body, { ...announced(body), ...more });
}

async function codeOf(reply: Response): Promise<[number, string]> {
  return [reply.status, ((await reply.json()) as { code: string }).code];
}

test("whatever becomes of a request, its memory is given back", async () => {
  const memory = budget(64);
  const desk = openDesk({ memory, bodyBytesMax });
  const long = batch(3 * mega);
  const base64 = Buffer.from(batch(mega)).toString("base64");
  const cases: [string, string | Uint8Array, object, number][] = [
    ["/batch", batch(100), {}, 200],
    ["/batch", `{"api_key":"${key}","batch":[{"event":"e"}]}`, {}, 200],
    ["/batch", "{", {}, 400],
    ["/batch?verbose=1", batch(20_000), {}, 200],
    ["/batch", long, {}, 200],
    ["/batch", `${long}]`, {}, 400],
    ["/batch", batch(3 * mega, "first", "phc_other"), {}, 401],
    ["/batch", batch(3 * mega, "last", "phc_other"), {}, 401],
    ["/batch", "x".repeat(bodyBytesMax), {}, 413],
    ["/batch", gzipSync(batch(1000)), {}, 200],
    ["/batch", gzipSync(long), {}, 200],
    ["/batch", gzipSync(gzipSync(long)), {}, 200],
    ["/batch", gzipSync(long).subarray(0, -100), {}, 400],
    ["/batch", gzipSync(batch(3 * mega, "first", "phc_other")), {}, 401],
    ["/batch", gzipSync(new Uint8Array(8 * mega)), {}, 413],
    ["/batch", brotliCompressSync(Buffer.from(batch(1000))), { "content-encoding": "br" }, 200],
    ["/batch", `data=${encodeURIComponent(base64)}`, {}, 200],
    ["/batch", encodeURIComponent(batch(mega)), {}, 200],
    ["/batch", Buffer.from(gzipSync(long)).toString("base64"), {}, 200],
    ["/batch", Buffer.from(gzipSync(long).subarray(0, -100)).toString("base64"), {}, 400],
    ["/batch", "A".repeat(2 * mega), {}, 400],
    ["/batch?compression=lz64", LZString.compressToBase64(batch(100_000)), {}, 200],
    ["/batch?compression=lz64", LZString.compressToBase64("x".repeat(4 * mega)), {}, 413],
    ["/batch?compression=lz64", "A".repeat(mega), {}, 400],
  ];
  for (const [path, body, headers, status] of cases) {
    const [reply, streamed] = [
      await post(desk, path, body, headers),
      await desk.send(path, body, headers as Record<string, string>),
    ];
    expect([path, reply.status, streamed.status, memory.held]).toEqual([path, status, status, 0]);
  }
});

test("an upload that stalls or whose client goes away gives back what it held", async () => {
  const memory = budget(64);
  const desk = openDesk({ memory, bodyBytesMax, uploadBounds: { stallMsMax: 30, wholeMsMax: 1000 } });
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: desk.handle });
  later(() => server.stop(true));
  for (const leaves of [false, true]) {
    for (const headers of [
      "Content-Length: 100",
      "Content-Length: 100000",
      "Content-Length: 3000000",
      "Transfer-Encoding: chunked",
    ]) {
      const before = desk.counts["refused"]!;
      const socket = connect(server.port ?? 0, "127.0.0.1");
      socket.on("error", () => {});
      const begun = `POST /batch/ HTTP/1.1\r\nHost: sluice\r\n${headers}\r\n\r\n5\r\n{"api`;
      socket.write(begun, () => leaves && socket.destroy());
      while (desk.counts["refused"] === before) await Bun.sleep(1);
      expect([headers, memory.held]).toEqual([headers, 0]);
      socket.destroy();
    }
  }
});

test("past the budget a body gets a 503 that says when to come again, and nothing of it is kept", async () => {
  const memory = budget(4, 1);
  const desk = openDesk({ memory, bodyBytesMax });
  const bodies: [string, string | Uint8Array][] = [
    ["/batch", batch(5 * mega)],
    ["/batch", gzipSync(batch(5 * mega))],
    ["/batch", `data=${encodeURIComponent(Buffer.from(batch(2 * mega)).toString("base64"))}`],
    ["/batch?compression=lz64", LZString.compressToBase64(batch(4 * mega))],
  ];
  for (const [path, body] of bodies) {
    const reply = await post(desk, path, body);
    expect(reply.headers.get("retry-after")).toBe(String(uploadLimits.memoryRetrySeconds));
    expect(await reply.json()).toEqual({
      type: "server_error",
      code: "unavailable",
      detail: expect.stringContaining("no memory for further request bodies"),
      attr: null,
    });
    expect((await desk.send(path, body)).status).toBe(503);
    expect(memory.held).toBe(0);
  }
  expect((await desk.kept())["live"]).toBe(0);
});

test("short events are taken while imports hold all that imports may hold", async () => {
  const memory = budget(64);
  const desk = openDesk({ memory, bodyBytesMax });
  const others = [1, 2].map((project_id) => {
    const lease = memory.open();
    lease.assign(project_id);
    lease.acquire(26 * mega);
    return lease;
  });
  const waiting = post(desk, "/batch", batch(3 * mega));
  expect((await post(desk, "/capture", batch(100))).status).toBe(200);
  expect((await post(desk, "/batch", batch(mega / 2))).status).toBe(200);
  for (const lease of others) lease.close();
  // It waited for room, unread, and was not refused.
  expect((await waiting).status).toBe(200);
  expect(memory.held).toBe(0);
});

test("what a long body holds is its project's once its first bytes name it", async () => {
  const memory = budget(64);
  const desk = openDesk({ memory, bodyBytesMax });
  const [project, nobody] = [memory.open(), memory.open()];
  project.assign(7);
  nobody.acquire(36 * mega);
  // Nobody's share is full: only what is its project's from the first chunk on finds room.
  expect((await post(desk, "/batch", batch(3 * mega))).status).toBe(200);
  expect((await post(desk, "/batch", batch(3 * mega, "events"))).status).toBe(200);
  nobody.close();
  project.acquire(39 * mega);
  expect((await desk.send("/batch", gzipSync(batch(3 * mega)))).status).toBe(503);
  expect((await desk.send("/batch", gzipSync(batch(3 * mega, "last")))).status).toBe(200);
  project.close();
  expect(memory.held).toBe(0);
});

test("a long body whose first bytes name an unknown key goes no further, and known keys wait for nobody", async () => {
  const memory = budget(64);
  const asked: string[] = [];
  let most = 0;
  const admit = (unknown: string): Promise<number> => {
    asked.push(unknown);
    most = Math.max(most, memory.held);
    return Promise.reject(new Fault("invalid_api_key", "No project has this key."));
  };
  const desk = openDesk({ memory, bodyBytesMax, admit });
  const unknown = (place: "first" | "events", named = "phc_other") => batch(5 * mega, place, named);
  for (const body of [unknown("first"), unknown("events"), unknown("first", "phx_personal")]) {
    expect(await codeOf(await post(desk, "/batch", gzipSync(body)))).toEqual([401, "invalid_api_key"]);
    expect(await codeOf(await post(desk, "/batch", body))).toEqual([401, "invalid_api_key"]);
  }
  expect(asked.length).toBe(6);
  // The compressed body and one piece of it; of a plain one nothing but a chunk.
  expect(most).toBeLessThan(2 * mega);
  asked.length = 0;
  expect((await post(desk, "/batch", gzipSync(unknown("first", key)))).status).toBe(200);
  // A batch's own key wins over its events', wherever it stands.
  const mixed = batch(3 * mega, "last").replaceAll('"n":', '"token":"phc_other","n":');
  expect((await post(desk, "/batch", gzipSync(mixed))).status).toBe(200);
  expect((await post(desk, "/batch", mixed)).status).toBe(200);
  expect(asked).toEqual([]);
  expect(memory.held).toBe(0);
});

test("a list of ignored events is made, and counted, only for a reply that has it", async () => {
  const body = `{"api_key":"${key}","batch":[${"1,".repeat(99_999)}1]}`;
  const memory = budget(4);
  const desk = openDesk({ memory, bodyBytesMax });
  const plain = await post(desk, "/batch", body);
  expect([plain.status, await plain.text()]).toEqual([200, '{"status":"Ok"}']);
  expect((await codeOf(await post(desk, "/batch?verbose=1", body)))[1]).toBe("unavailable");
  const roomy = await post(openDesk({ memory: budget(64), bodyBytesMax }), "/batch?verbose=1", body);
  expect(((await roomy.json()) as { ignored: unknown[] }).ignored).toHaveLength(100_000);
  expect(memory.held).toBe(0);
});
