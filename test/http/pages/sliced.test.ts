import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { slicedJson, slicedReply, streamedReply } from "../../../src/http/pages/sliced.ts";

const slice = limits.replySliceBytes;

test("what is written in slices is what JSON.stringify writes, however deep they go", async () => {
  const odd = {
    nothing: undefined,
    empty: {},
    none: [],
    text: 'é "🙂" \u2028\n\u0001\ud800',
    numbers: [0, -0, 1e21, Number.NaN, Number.POSITIVE_INFINITY],
    gaps: [undefined, null, () => 1, Symbol("s")],
    act: () => 1,
    at: new Date(0),
    '"quoted" name': [[{ deep: [{ deeper: [1, { last: undefined }] }] }], { at: new Date(1) }],
    nested: { skipped: undefined, also: { skipped: undefined } },
    1: true,
  };
  for (const value of [odd, {}, { only: undefined }]) {
    for (let levels = 0; levels < 8; levels++) {
      const reply = await slicedJson(value, levels);
      expect(reply.headers.get("content-type")).toBe("application/json");
      expect({ levels, text: await reply.text() }).toEqual({ levels, text: JSON.stringify(value) });
    }
  }
});

test("a long reply arrives whole, and everybody else has turns meanwhile", async () => {
  const results = Array.from({ length: 40 }, (_, i) => [i, "é".repeat(slice / 8)]);
  const counting = countTurns();
  const reply = await slicedJson({ results, columns: ["i", "text"] });
  const turnsWriting = counting.turns;
  expect(await reply.text()).toBe(JSON.stringify({ results, columns: ["i", "text"] }));
  counting.end();
  expect(turnsWriting).toBeGreaterThanOrEqual(4);
  expect(counting.turns - turnsWriting).toBeGreaterThanOrEqual(4);
});

test("parts of any length are joined", async () => {
  for (const lengths of [[0], [0, 5, 0], [slice], [slice + 1], [3, 2 * slice + 7, 0, slice, 1]]) {
    const parts = lengths.map((length, i) => new Uint8Array(length).fill(i + 1));
    const bytes = await slicedReply(parts).bytes();
    expect(Buffer.concat(parts).equals(Buffer.from(bytes))).toBe(true);
  }
});

const text = (value: string) => Buffer.from(value);

async function* pieces(count: number, asked: number[], failAt = Number.POSITIVE_INFINITY) {
  for (let i = 0; i < count; i++) {
    if (i === failAt) throw new Error("the store went away");
    asked.push(i);
    yield new Uint8Array(slice).fill(97 + i);
  }
}

test("a reply in chunks arrives whole, and a chunk is requested when the last one is on its way", async () => {
  for (const count of [0, 1, 2, 7]) {
    const reply = await streamedReply(text("["), pieces(count, []), text("]"));
    const expected = Array.from({ length: count }, (_, i) => String.fromCharCode(97 + i).repeat(slice)).join(
      "",
    );
    expect(await reply.text()).toBe(`[${expected}]`);
  }
  const asked: number[] = [];
  const reply = await streamedReply(text("["), pieces(1000, asked), text("]"));
  expect(asked.length).toBeLessThanOrEqual(2);
  const reader = reply.body!.getReader();
  for (let i = 0; i < 3; i++) await reader.read();
  expect(asked.length).toBeLessThanOrEqual(6);
  await reader.cancel();
  const then = asked.length;
  await Bun.sleep(1);
  expect(asked).toHaveLength(then);
});

test("a reply that fails half way is cut, and never looks whole; one that fails before has a status", async () => {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => streamedReply(text("["), pieces(20, [], 10), text("]")),
    error: () => new Response("refused", { status: 503 }),
  });
  const reply = await fetch(server.url);
  expect(reply.status).toBe(200);
  await expect(reply.bytes()).rejects.toThrow();
  await server.stop(true);
  await expect(streamedReply(text("["), pieces(20, [], 0), text("]"))).rejects.toThrow("the store went away");
});

/** How often the event loop comes round. */
function countTurns() {
  const counting = { turns: 0, end: () => clearImmediate(next) };
  const again = () => {
    counting.turns++;
    next = setImmediate(again);
  };
  let next = setImmediate(again);
  return counting;
}

test("a long reply that is ended before it is read ends what it is of", async () => {
  let ended = 0;
  const middle = async function* () {
    try {
      yield new Uint8Array(2 * slice);
      yield new Uint8Array(1);
    } finally {
      ended++;
    }
  };
  const reply = await streamedReply(new Uint8Array(1), middle(), new Uint8Array(1));
  await reply.body!.cancel();
  await Bun.sleep(1);
  expect(ended).toBe(1);
});
