import { afterAll, expect, test } from "bun:test";
import { load } from "../../bench/load.ts";
import { writeBodies } from "../../bench/material.ts";
import { cpuSeconds, memoryOf, shareOfMemory, treeOf } from "../../bench/process_tree.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp);

test("every body is sent as often as ordered, whole, and refusals are counted", async () => {
  const { pack, bytes, events } = writeBodies(makeFolder(), { count: 3, bytes: 300_000 });
  const seen: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { batch } = (await request.json()) as { batch: { uuid: string }[] };
      for (const { uuid } of batch) seen.push(uuid);
      return new Response("{}", { status: seen.length > events ? 503 : 200 });
    },
  });
  later(() => server.stop(true));
  const order = { url: server.url.href, path: "/batch/", bodies: pack, connections: 2, quiet: true };
  const report = await load({ ...order, requests: 6 });
  expect(report.requests).toBe(6);
  expect(report.bytes).toBe(2 * bytes);
  expect(report.failed).toBe(3);
  expect(seen.length).toBe(2 * events);
  expect(new Set(seen).size).toBe(events);
});

test("a request that is refused for now is sent again, whole, until it is not", async () => {
  const { pack, bytes, events } = writeBodies(makeFolder(), { count: 1, bytes: 300_000 });
  const seen: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const body = await request.bytes();
      expect(body.length).toBe(bytes);
      seen.push((JSON.parse(Buffer.from(body).toString()) as { batch: unknown[] }).batch.length);
      return new Response("{}", { status: seen.length === 1 ? 503 : 200 });
    },
  });
  later(() => server.stop(true));
  const order = { url: server.url.href, path: "/batch/", bodies: pack, connections: 1, requests: 1 };
  const report = await load({ ...order, again: true });
  expect(report).toMatchObject({ requests: 1, failed: 0, again: 1 });
  expect(seen).toEqual([events, events]);
});

test("shared pages are divided among the processes that have them", () => {
  const share = shareOfMemory(process.pid);
  expect(share).toBeGreaterThan(1_000_000);
  expect(share).toBeLessThanOrEqual(memoryOf(process.pid).peak);
});

test("a process tree has the children of children, and what they used", async () => {
  const child = Bun.spawn(["sh", "-c", "cat; true"], { stdin: "pipe", stdout: "ignore" });
  later(() => child.kill());
  while (treeOf([child.pid]).length < 2) await Bun.sleep(5);
  expect(treeOf([process.pid])).toContain(child.pid);
  expect(cpuSeconds([process.pid])).toBeGreaterThan(0);
  child.kill();
});
