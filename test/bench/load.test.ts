import { afterAll, expect, test } from "bun:test";
import { load } from "../../bench/load.ts";
import { writeBodies } from "../../bench/material.ts";
import { cpuSeconds, treeOf } from "../../bench/process_tree.ts";
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

test("a process tree has the children of children, and what they used", async () => {
  const child = Bun.spawn(["sh", "-c", "cat; true"], { stdin: "pipe", stdout: "ignore" });
  later(() => child.kill());
  while (treeOf([child.pid]).length < 2) await Bun.sleep(5);
  expect(treeOf([process.pid])).toContain(child.pid);
  expect(cpuSeconds([process.pid])).toBeGreaterThan(0);
  child.kill();
});
