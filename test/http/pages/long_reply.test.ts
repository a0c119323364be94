import { expect, test } from "bun:test";
import { LongReply } from "../../../src/http/pages/long_reply.ts";

const piece = new Uint8Array(10);

test("a long reply is cut off once its reader is no longer admitted, and what it holds is released", async () => {
  let released = 0;
  const reply = new LongReply({ next: () => piece, release: () => released++, msMax: 60_000 });
  let admitted: object | undefined = {};
  reply.admit(1, async () => admitted);
  const reader = reply.body!.getReader();
  await reader.read();
  admitted = undefined;
  expect(reader.read()).rejects.toThrow("no longer allows it");
  await reader.read().catch(() => {});
  expect(released).toBe(1);
});

test("what a reply holds is released when its reader takes too long, and the reply is cut off", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const reader = new LongReply({ next: () => piece, release: resolve, msMax: 1 }).body!.getReader();
  await promise;
  const readAll = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  expect(readAll()).rejects.toThrow("the reader takes too long");
  await readAll().catch(() => {});
});
