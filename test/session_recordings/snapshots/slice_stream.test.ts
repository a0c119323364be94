// A long reply goes out slice by slice, and nobody keeps what it holds for ever.

import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { type Parts, sendParts } from "../../../src/session_recordings/snapshots/slice_stream.ts";

function* partsOf(bytes: number): Parts {
  for (let at = 0; at < bytes; at += 1000) yield "x".repeat(Math.min(1000, bytes - at));
}

test("a long reply is sent slice by slice, and what it holds is released once it is taken", async () => {
  let released = 0;
  const length = limits.replySliceBytes * 3 + 5;
  const reply = sendParts(partsOf(length), "text/plain", () => released++);
  expect(released).toBe(0);
  expect((await reply.text()).length).toBe(length);
  expect(released).toBe(1);
  const short = sendParts(partsOf(10), "text/plain", () => released++);
  expect([released, await short.text()]).toEqual([2, "x".repeat(10)]);
});

test("what a reply holds is released when its reader is gone", async () => {
  let released = 0;
  const gone = sendParts(partsOf(limits.replySliceBytes * 3), "text/plain", () => released++);
  await gone.body?.cancel();
  expect(released).toBe(1);
});
