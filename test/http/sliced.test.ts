import { expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import { slicedJson, slicedReply } from "../../src/http/sliced.ts";

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
