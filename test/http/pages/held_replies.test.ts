// Bytes of replies that their clients have not read: bounded for all and for each, and the slowest end for others.

import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { httpLimits } from "../../../src/http/limits.ts";
import { HeldReplies, heldReplies } from "../../../src/http/pages/held_replies.ts";
import { LongReply } from "../../../src/http/pages/long_reply.ts";
import { slicedJson, slicedReply } from "../../../src/http/pages/sliced.ts";

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
  const source = { next: () => new Uint8Array(1), release: () => released++, msMax: 60_000, held: own };
  const reader = new LongReply(source).admit(1).body!.getReader();
  await reader.read();
  pass(young);
  held(1, mebibyte);
  expect({ released, held: room.heldBy() }).toEqual({ released: 1, held: mebibyte });
  await expect(reader.read()).rejects.toThrow("the reader takes too long");
});

test("all that the system does not take at once for a client that does not read is held", async () => {
  const before = heldReplies.heldBy();
  const of = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });
  const whole = await slicedJson(of(httpLimits.replyWholeBytesMax), 2, 201);
  expect([whole.status, whole instanceof LongReply, heldReplies.heldBy()]).toEqual([201, false, before]);
  const parts = (await slicedJson(of(httpLimits.replyWholeBytesMax + 1), 2, 201)) as LongReply;
  parts.admit("one");
  expect([parts.status, heldReplies.heldBy("one")]).toEqual([201, httpLimits.replyWholeBytesMax + 1]);
  expect(await parts.text()).toHaveLength(httpLimits.replyWholeBytesMax + 1);
  expect(heldReplies.heldBy("one")).toBe(0);
  const bytes = slicedReply([new Uint8Array(httpLimits.replyWholeBytesMax + 1)]);
  expect(heldReplies.heldBy()).toBe(before + httpLimits.replyWholeBytesMax + 1);
  await bytes.body!.cancel();
  expect(heldReplies.heldBy()).toBe(before);
});

test("thousands of short replies end for a long one in one step, those of who holds most first", () => {
  const { room, held, pass } = openRoom();
  const short = httpLimits.replyWholeBytesMax + 1;
  const count = Math.floor(share / short);
  const own = Array.from({ length: count }, () => held(1, short));
  const others = Array.from({ length: count }, (_, i) => held(2 + (i % 100), short));
  own[7]!.free(1);
  pass(young);
  held(500, share / 2);
  const [ended, left] = [own, others].map((some) => some.filter((one) => one.ended.aborted).length);
  expect(left).toBe(0);
  expect(ended! * short).toBeGreaterThanOrEqual(share / 2 - 2 * short);
  expect(own[7]!.ended.aborted).toBe(false);
  expect(room.heldBy()).toBeLessThanOrEqual(most);
  expect(room.heldBy(1)).toBe((count - ended!) * short - 1);
});
