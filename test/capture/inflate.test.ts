import { expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { inflateBytes } from "../../src/capture/inflate.ts";

/** Whether other work got its turn before `work` was over. */
async function othersRan(work: Promise<unknown>): Promise<boolean> {
  let ran = false;
  setImmediate(() => (ran = true));
  await work.catch(() => {});
  return ran;
}

test("a few kilobytes that hold a hundred megabytes are not inflated while everybody waits", async () => {
  const bomb = zstdCompressSync(new Uint8Array(110 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(32 * 1024);
  const work = inflateBytes("zstd", bomb);
  expect(await othersRan(work)).toBe(true);
  await expect(work).rejects.toMatchObject({ code: "payload_too_large" });
});

test("a small body is inflated on the spot, and one that turns out larger is whole as well", async () => {
  const small = new Uint8Array(1000).fill(7);
  expect(await othersRan(inflateBytes("gzip", gzipSync(small)))).toBe(false);
  const larger = new Uint8Array(5 * 1024 * 1024).fill(7);
  expect(Buffer.compare(Buffer.concat(await inflateBytes("gzip", gzipSync(larger))), larger)).toBe(0);
});
