// Bytes of replies that their clients have not read: bounded for all and for each, and the slowest end for others.

import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { httpLimits } from "../../../src/http/limits.ts";
import { HeldReplies, heldReplies } from "../../../src/http/pages/held_replies.ts";
import { LongReply, streamOf } from "../../../src/http/pages/long_reply.ts";
import { slicedJson } from "../../../src/http/pages/sliced.ts";

const mebibyte = 1024 * 1024;
const { heldRepliesBytesMax: most, heldReplyBytesMax: share, heldReplyAgeMsMin: young } = httpLimits;

function openRoom() {
  let elapsed = 0;
  const room = new HeldReplies({ elapsed: () => elapsed });
  const held = (owner: number | undefined, bytes: number) => {
    const reply = room.open();
    reply.add(bytes);
    if (owner !== undefined) reply.send(owner);
    return reply;
  };
  return { room, held, pass: (ms: number) => void (elapsed += ms) };
}

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown.code;
    throw thrown;
  }
}

test("a reply that is longer than any may be is refused, whoever else reads", () => {
  const { room, held } = openRoom();
  const reply = held(1, share);
  expect(codeOf(() => reply.add(1))).toBe("invalid_input");
  reply.close();
  expect(room.heldBy()).toBe(0);
});

test("where all that may be held is held, none that is young ends for another", () => {
  const { room, held, pass } = openRoom();
  const replies = [held(1, share), held(2, most - share)];
  pass(young - 1);
  expect(codeOf(() => held(3, mebibyte))).toBe("unavailable");
  expect(replies.map(({ ended }) => ended.aborted)).toEqual([false, false]);
  pass(1);
  expect(codeOf(() => held(3, mebibyte))).toBeUndefined();
  expect(room.heldBy(3)).toBe(mebibyte);
});

test("for another ends the reply of who holds most that was read slowest", () => {
  const { room, held, pass } = openRoom();
  const honest = held(1, 4 * mebibyte);
  const [slow, read] = [held(2, 30 * mebibyte), held(2, 30 * mebibyte)];
  const third = held(3, 50 * mebibyte);
  read.free(mebibyte);
  pass(young);
  held(4, 20 * mebibyte);
  expect([honest, slow, read, third].map((one) => one.ended.aborted)).toEqual([false, true, false, false]);
  expect(room.heldBy(2)).toBe(29 * mebibyte);
});

test("an owner holds a share, beyond which only its own end", () => {
  const { room, held, pass } = openRoom();
  const other = held(1, mebibyte);
  const own = held(2, share);
  expect(codeOf(() => held(2, mebibyte))).toBe("unavailable");
  pass(young);
  held(2, mebibyte);
  expect([other, own].map((one) => one.ended.aborted)).toEqual([false, true]);
  expect(room.heldBy(2)).toBeLessThanOrEqual(share);
});

const long = { results: Array.from({ length: 40 }, (_, i) => [i, "x".repeat(64 * 1024)]) };

test("a long reply is held until it was read, part by part, or its client leaves", async () => {
  const before = heldReplies.heldBy();
  const read = (await slicedJson(long)) as LongReply;
  read.admit(1);
  const bytes = JSON.stringify(long).length;
  expect(heldReplies.heldBy(1)).toBe(bytes);
  const reader = read.body!.getReader();
  for (let got = 0; got < bytes / 2;) got += (await reader.read()).value!.length;
  expect(heldReplies.heldBy(1)).toBeLessThan(0.7 * bytes);
  while (!(await reader.read()).done);
  expect(heldReplies.heldBy(1)).toBe(0);
  const left = (await slicedJson(long)) as LongReply;
  await left.admit(1).body!.cancel();
  expect(heldReplies.heldBy()).toBe(before);
});

test("a reply that ended for others breaks off, and what it holds is released", async () => {
  const { room, held, pass } = openRoom();
  const own = held(undefined, share);
  let released = 0;
  const stream = streamOf(
    () => new Uint8Array(1),
    () => released++,
    60_000,
    own.ended,
  );
  const reader = new LongReply(stream, {}, own).admit(1).body!.getReader();
  await reader.read();
  pass(young);
  held(1, mebibyte);
  expect({ released, held: room.heldBy() }).toEqual({ released: 1, held: mebibyte });
  await expect(reader.read()).rejects.toThrow("the reader takes too long");
});
