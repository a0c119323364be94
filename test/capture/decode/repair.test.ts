// One bad byte or number does not cost a batch: what is not UTF-8 and numbers that are none are replaced, and told of.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { repair } from "../../../src/capture/decode/repair.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import type { WarningRow } from "../../../src/capture/warnings/warning.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { runAtOnce } from "../../../src/core/clock.ts";
import { limits } from "../../../src/core/limits.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";
import { type Desk, key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { countTurns } from "../../support/turns.ts";

afterAll(cleanUp);

const decoder = new TextDecoder();

/** Texts as UTF-8 and numbers as bytes, side by side. */
function mixed(...parts: (string | number[])[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? toBytes(part) : Buffer.from(part))));
}

/** The repaired text, worked off so many bytes a time; undefined when nothing of it can be repaired. */
function repaired(bytes: Uint8Array, stretch = 1 << 20, bytesMax = 1 << 30): string | undefined {
  const done = runAtOnce(repair(bytes, stretch, bytesMax));
  return done && decoder.decode(done.bytes);
}

const high = [0xed, 0xa0, 0xbd];
const low = [0xed, 0xb8, 0x80];

test("halves of a pair become their character, a lone half and other bytes U+FFFD each", () => {
  const texts: [(string | number[])[], string][] = [
    [[high, low], "😀"],
    [["a", high, low, "b"], "a😀b"],
    [[high], "\ufffd"],
    [[low, high], "\ufffd\ufffd"],
    [[high, high, low], "\ufffd😀"],
    [[[0xff]], "\ufffd"],
    [["x", [0xe2, 0x82], "y"], "x\ufffdy"],
    [[[0xc0, 0xaf]], "\ufffd\ufffd"],
    [["é€😀", [0x80]], "é€😀\ufffd"],
  ];
  for (const [parts, text] of texts) {
    for (const stretch of [1, 2, 3, 1000]) {
      expect(repaired(mixed('{"a":"', ...parts, '"}'), stretch)).toBe(`{"a":"${text}"}`);
    }
  }
});

test("what is not UTF-8 is replaced as the runtime's decoder does it, but for halves of pairs", () => {
  const byte = fc.oneof(
    fc.integer({ min: 0x20, max: 0x7e }).filter((one) => one !== 0x22 && one !== 0x5c),
    fc.integer({ min: 0x80, max: 0xff }).filter((one) => one !== 0xed),
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 12 }), fc.integer({ min: 1, max: 20 }), (bytes, stretch) => {
      const text = mixed('["', bytes, '"]');
      const plain = decoder.decode(text);
      expect(repaired(text, stretch) ?? plain).toBe(plain);
    }),
    { numRuns: 2000 },
  );
});

test("NaN and infinities become null, and texts that hold these words stay", () => {
  const one = `{"a":NaN,"b":[Infinity, -Infinity ,1],"NaN":"NaN \\" Infinity \\\\","c": NaN}`;
  const other = `{"a":null,"b":[null, null ,1],"NaN":"NaN \\" Infinity \\\\","c": null}`;
  for (const stretch of [1, 2, 5, 1000]) expect(repaired(toBytes(one), stretch)).toBe(other);
  for (const text of ["[NaNs]", "[nan]", "[Infinity1]", '["-Infinity"]', "[Inf"]) {
    expect(repaired(toBytes(text))).toBeUndefined();
  }
});

test("bytes that are no UTF-8 outside of texts are not repaired", () => {
  expect(repaired(mixed("{", [0xff], "}"))).toBeUndefined();
  expect(repaired(new Uint8Array([0x5b, 0x22, 0x5c]))).toBeUndefined();
});

function watched(options: Parameters<typeof openDesk>[0] = {}): { desk: Desk; rows: WarningRow[] } {
  const desk = openDesk(options);
  const rows: WarningRow[] = [];
  const append = desk.journal.warnings.append.bind(desk.journal.warnings);
  desk.journal.warnings.append = (row) => {
    rows.push({ ...row });
    append(row);
  };
  return { desk, rows };
}

const detailsOf = (row: WarningRow | undefined) => JSON.parse(row!.details) as Record<string, unknown>;

test("the batch is kept whole, and the events concerned are told of with the place", async () => {
  const { desk, rows } = watched();
  const body = mixed(
    `{"api_key":"${key}","batch":[
      {"event":"sound","distinct_id":"d","properties":{"a":"NaN","b":1.50}},
      {"event":"number","distinct_id":"d","properties":{"list":[1,{"price":NaN}],"x":-Infinity}},
      {"event":"text","distinct_id":"d","properties":{"name":"a `,
    high,
    `","ok":"`,
    high,
    low,
    `"}},
      {"event":"both`,
    [0xff],
    `","distinct_id":"d","$set":{"n":Infinity}},
      {"event":"lost","distinct_id":NaN}]}`,
  );
  const reply = await desk.send("/batch/?verbose=1", body);
  expect(await reply.json()).toMatchObject({
    status: "Ok",
    accepted: 4,
    ignored: [{ index: 4, reason: "missing_distinct_id" }],
    warnings: [
      { index: 1, reason: "invalid_number_replaced" },
      { index: 2, reason: "invalid_utf8_replaced" },
      { index: 3, reason: "invalid_utf8_replaced" },
      { index: 3, reason: "invalid_number_replaced" },
    ],
  });
  await desk.kept();
  const kept = desk.rows().map(({ event, properties }) => [event, properties]);
  expect(kept).toEqual([
    ["sound", `{"a":"NaN","b":1.50}`],
    ["number", `{"list":[1,{"price":null}],"x":null}`],
    ["text", `{"name":"a \ufffd","ok":"😀"}`],
    ["both\ufffd", `{"$set":{"n":null}}`],
  ]);
  const told = rows.filter(({ type }) => type.endsWith("_replaced"));
  expect(told.map((row) => [row.type, detailsOf(row)["index"], detailsOf(row)["field"]])).toEqual([
    ["invalid_number_replaced", 1, "properties.list.1.price"],
    ["invalid_number_replaced", 3, "$set.n"],
    ["invalid_utf8_replaced", 2, "properties.name"],
    ["invalid_utf8_replaced", 3, "event"],
  ]);
  expect(detailsOf(told[2])["value"]).toBe(`"a \ufffd"`);
  expect(desk.counts).toMatchObject({ received: 5, accepted: 4, invalid_number_replaced: 2 });
});

test("a short single event is kept too, wrapped in base64 or compressed as old SDKs send it", async () => {
  const { desk, rows } = watched();
  const event = mixed(
    `{"api_key":"${key}","event":"e","distinct_id":"d","properties":{"a":"`,
    high,
    low,
    `","b":NaN}}`,
  );
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const base64 = encodeURIComponent(Buffer.from(event).toString("base64"));
  const gzipped = Bun.gzipSync(new Uint8Array(event));
  expect((await desk.send("/capture/", event)).status).toBe(200);
  expect((await desk.send("/e/?compression=base64", `data=${base64}`, form)).status).toBe(200);
  expect((await desk.send("/batch/", gzipped, { "content-encoding": "gzip" })).status).toBe(200);
  await desk.kept();
  expect(desk.rows().map(({ properties }) => properties)).toEqual(Array(3).fill(`{"a":"😀","b":null}`));
  expect(rows.length).toBe(6);
});

test("a body of many events, indexed in parts, is repaired a stretch at a time", async () => {
  const { desk } = watched({ bodyBytesMax: 20 << 20 });
  const count = Math.ceil(limits.indexBytesMax / 176) + 5000;
  const item = `{"event":"e","distinct_id":"d","properties":{}},`;
  const last = `{"event":"last","distinct_id":"d","properties":{"a":NaN}}`;
  const body = toBytes(`{"api_key":"${key}","batch":[${item.repeat(count)}${last}]}`);
  let status = 0;
  const turns = await countTurns(async () => {
    status = (await desk.send("/batch/", body)).status;
  });
  expect(status).toBe(200);
  // Two passes of a quarter MiB a turn, beside what such a body takes anyway.
  expect(turns).toBeGreaterThan((2 * body.length) / captureLimits.slowSliceBytesMax);
  expect(desk.counts).toMatchObject({ received: count + 1, accepted: count + 1, invalid_number_replaced: 1 });
});

test("a chunked body is repaired as well", async () => {
  const { desk } = watched();
  const bytes = mixed(`[{"token":"${key}","event":"e","distinct_id":"`, [0xff], `"}]`);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  expect((await desk.handle(new Request("http://localhost/e/", { method: "POST", body }))).status).toBe(200);
  await desk.kept();
  expect(desk.rows().map(({ distinct_id }) => distinct_id)).toEqual(["\ufffd"]);
});

test("a repaired copy takes memory of the budget and gives it back; without room it is a 503", async () => {
  const body = mixed(
    `{"api_key":"${key}","event":"e","distinct_id":"d","properties":{"a":"`,
    Array(40_000).fill(0xff),
    `"}}`,
  );
  const most = 1_000_000;
  const roomy = new MemoryBudget({ bytesMax: most, shareBytesMax: most });
  const { desk } = watched({ memory: roomy });
  expect((await desk.send("/batch/", body)).status).toBe(200);
  expect(roomy.held).toBe(0);
  // The body and its index fit, three times as much beside it does not.
  const narrow = new MemoryBudget({ bytesMax: 200_000, shareBytesMax: 120_000 });
  const refused = await watched({ memory: narrow }).desk.send("/batch/", body);
  expect([refused.status, refused.headers.has("retry-after")]).toEqual([503, true]);
  expect(narrow.held).toBe(0);
});

test("a body that is broken elsewhere too is refused, and nothing of it is kept", async () => {
  const { desk, rows } = watched();
  const broken = [
    `[{"event":"e"`,
    `{"event":"e","b":NaN,}`,
    "NaN",
    "[1,NaNs]",
    "[-NaN]",
    "[1NaN]",
    "[+Infinity]",
  ];
  for (const text of broken) expect([text, (await desk.send("/batch/", text)).status]).toEqual([text, 400]);
  expect(await desk.kept()).toMatchObject({ live: 0, warnings: 0 });
  expect(rows).toEqual([]);
});
