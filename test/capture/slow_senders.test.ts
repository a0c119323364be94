// Senders that announce much and send little. What others send meanwhile is kept, whatever its address or encoding.

import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { uploadLimits } from "../../src/work/bodies/limits.ts";
import { MemoryBudget } from "../../src/work/bodies/memory_budget.ts";
import { type Desk, type DeskOptions, key, openDesk } from "../support/capture.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { batchOf, beginBodies, slowSenders, statusesOf, usualRequests } from "../support/slow_senders.ts";

afterAll(cleanUp);

const foreignKey = "phc_another_project";

/** A desk behind a port, since only a real connection can send less than it announces. */
function openPort(options: DeskOptions = {}): { url: string; port: number; desk: Desk } {
  const desk = openDesk({ bodyBytesMax: 20 << 20, projects: { [foreignKey]: 8 }, records: true, ...options });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: desk.handle,
    maxRequestBodySize: 100 << 20,
    idleTimeout: 60,
  });
  later(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, port: server.port ?? 0, desk };
}

const usual = usualRequests(key);
const allKept = Object.fromEntries(Object.keys(usual).map((name) => [name, 200]));
/** The desk answers captures alone. */
const captures = Object.entries(slowSenders(foreignKey)).filter(
  ([, { path = "" }]) => !path.startsWith("/flags"),
);

for (const [name, sender] of captures) {
  test(`200 bodies that are announced and do not come refuse nobody: ${name}`, async () => {
    const { url, port, desk } = openPort();
    await beginBodies(port, { count: 200, ...sender });
    expect(await statusesOf(url, usual)).toEqual(allKept);
    // What came is in memory, and what each open request weighs.
    expect(desk.options.memory.held).toBeLessThan(200 * (uploadLimits.openUploadBytes + 100) + (1 << 20));
  }, 300_000);
}

test("when memory is used up, a body that does not come ends with 503, and a slow phone finishes", async () => {
  const clock = { time: 0, now: () => 1_700_000_000_000, elapsed: () => clock.time };
  const bytesMax = 4 << 20;
  const memory = new MemoryBudget({ bytesMax, shareBytesMax: bytesMax * uploadLimits.memoryFraction, clock });
  const { url, port, desk } = openPort({ memory });
  // None of them may be received unseen, or nobody could say how slow it is.
  while (memory.acquireUnseen(20_000));
  const sockets = await beginBodies(port, { count: 200, announced: 1_000_000, begun: '{"event":"' });
  while (memory.arriving.size < 200) await Bun.sleep(1);
  clock.time = 2000;
  const answers: string[] = [];
  for (const socket of sockets) socket.on("data", (piece: Buffer) => answers.push(String(piece)));
  const body = batchOf(key, 50_000);
  const phone = connect(port, "127.0.0.1");
  const answered = new Promise<string>(
    (resolve) => void phone.once("data", (piece) => resolve(String(piece))),
  );
  phone.write(`POST /batch/ HTTP/1.1\r\nHost: sluice\r\nContent-Length: ${body.length}\r\n\r\n`);
  for (let at = 0; at < body.length; at += 5000) {
    const before = memory.heldBy(7);
    phone.write(body.slice(at, at + 5000));
    while (at + 5000 < body.length && memory.heldBy(7) === before) await Bun.sleep(1);
    clock.time += 1000;
    // Others bring more than there is room for.
    const reply = await fetch(`${url}/batch/`, { method: "POST", body: batchOf(foreignKey, 1_500_000) });
    expect([at, reply.status]).toEqual([at, 200]);
  }
  expect(await answered).toStartWith("HTTP/1.1 200");
  while (answers.length === 0) await Bun.sleep(1);
  for (const answer of answers) {
    expect(answer).toStartWith("HTTP/1.1 503");
    expect(answer.toLowerCase()).toContain(`retry-after: ${uploadLimits.memoryRetrySeconds}`);
  }
  expect(desk.counts["refused"]).toBeGreaterThan(0);
}, 300_000);

test("while nobody's share is used up by bodies that are too young to end, known keys find room, wherever they are", async () => {
  const bytesMax = 16 << 20;
  const memory = new MemoryBudget({ bytesMax, shareBytesMax: 2 << 20 });
  const { url } = openPort({ memory });
  const young = memory.open();
  young.acquire(2 << 20);
  expect(memory.open().tryAcquire(1)).toBe(false);
  const { "a batch of 900 kB": _, "an import of 2 MB": __, ...rest } = usual;
  const names = Object.keys(rest);
  expect(await statusesOf(url, rest)).toEqual(Object.fromEntries(names.map((name) => [name, 200])));
  expect(memory.held).toBe(2 << 20);
});
