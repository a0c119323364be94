// Names as they are written to ClickHouse and read back, and shapes of stored events as events with names.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { NamedEvent } from "../../../src/capture/definitions/event_shape.ts";
import { definitionLimits } from "../../../src/capture/definitions/limits.ts";
import {
  type Definition,
  insertDefinitions,
  insertEventProperties,
  pairNumber,
  readKnown,
  readShapes,
} from "../../../src/capture/definitions/store.ts";
import { personMode } from "../../../src/capture/fields/row.ts";
import type { ClickHouse, NativeBody } from "../../../src/storage/clickhouse/clickhouse.ts";
import { readBlocks } from "../../support/native_rows.ts";

interface Call {
  text: string;
  params: Record<string, unknown>;
}

/** An engine that keeps what is written, and answers statements by these in turn. */
function openEngine(...answers: object[][]) {
  const written: [table: string, rows: Record<string, unknown>[]][] = [];
  const calls: Call[] = [];
  const clickhouse = {
    insertNative: (table: string, body: NativeBody) => {
      const { bytes } = body as { bytes: Uint8Array[] };
      written.push([table, readBlocks(Buffer.concat(bytes))]);
      return Promise.resolve();
    },
    query: (text: string, params: Record<string, unknown>) => {
      calls.push({ text, params });
      return Promise.resolve(answers.shift() ?? []);
    },
  } as unknown as ClickHouse;
  return { clickhouse, written, calls };
}

const definition = (more: Partial<Definition>): Definition => ({
  project_id: 7,
  kind: 1,
  group_type: "",
  name: "plan",
  type: undefined,
  at: 1_700_000_000_000_000,
  ...more,
});

async function typedOf(...some: Partial<Definition>[]): Promise<string[]> {
  const { clickhouse, written } = openEngine();
  await insertDefinitions(clickhouse, some.map(definition));
  return written[0]![1].map((row) => String(row["typed"]));
}

test("a name is written with its owner and when it came", async () => {
  const { clickhouse, written } = openEngine();
  await insertDefinitions(clickhouse, [
    definition({ kind: 3, group_type: "firma ü", name: "größe", type: "Numeric" }),
  ]);
  expect(written).toEqual([
    [
      "definitions",
      [
        {
          project_id: 7,
          kind: 3,
          group_type: "firma ü",
          name: "größe",
          created_at: 1_700_000_000_000_000,
          typed: "00001700000000000000 Numeric",
        },
      ],
    ],
  ]);
});

test("the least of the types of a name is the one that was shown first, and no type is more than any", async () => {
  const times = fc.array(fc.nat({ max: 4_102_444_800_000_000 }), { minLength: 1, maxLength: 8 });
  const holds = fc.asyncProperty(times, async (ats) => {
    const first = Math.min(...ats);
    const typed = await typedOf(
      { at: 0 },
      ...ats.map((at) => ({ at, type: at === first ? "Boolean" : "String" }) as const),
    );
    // As substring(min(typed), 22) reads it.
    expect(typed.toSorted()[0]!.slice(21)).toBe("Boolean");
    expect(typed[0]!.slice(21)).toBe("");
  });
  await fc.assert(holds, { numRuns: 100 });
});

test("pairs are written as they are", async () => {
  const { clickhouse, written } = openEngine();
  const pair = { project_id: 7, event: "bought", property: "größe" };
  await insertEventProperties(clickhouse, [pair]);
  expect(written).toEqual([["event_properties", [pair]]]);
});

const whole = (1n << 64n) - 1n;
const rotated = (value: bigint, bits: bigint) => ((value << bits) | (value >> (64n - bits))) & whole;

/** XXH64 of fewer than 32 bytes, from its specification. */
function xxh64(bytes: Uint8Array): bigint {
  const [one, two, three, four, five] = [
    0x9e3779b185ebca87n,
    0xc2b2ae3d27d4eb4fn,
    0x165667b19e3779f9n,
    0x85ebca77c2b2ae63n,
    0x27d4eb2f165667c5n,
  ] as const;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let hash = (five + BigInt(bytes.length)) & whole;
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) {
    const lane = (rotated((view.getBigUint64(at, true) * two) & whole, 31n) * one) & whole;
    hash = (rotated(hash ^ lane, 27n) * one + four) & whole;
  }
  if (at + 4 <= bytes.length) {
    hash = (rotated(hash ^ ((BigInt(view.getUint32(at, true)) * one) & whole), 23n) * two + three) & whole;
    at += 4;
  }
  for (; at < bytes.length; at++)
    hash = (rotated(hash ^ ((BigInt(bytes[at]!) * five) & whole), 11n) * one) & whole;
  hash = ((hash ^ (hash >> 33n)) * two) & whole;
  hash = ((hash ^ (hash >> 29n)) * three) & whole;
  return hash ^ (hash >> 32n);
}

test("a pair's number is the lower 53 bits of its XXH64, as ClickHouse computes it, and so a whole double", () => {
  // A value that the algorithm's authors publish.
  expect(xxh64(new Uint8Array())).toBe(0xef46db3751d8e999n);
  const short = fc.string({ maxLength: 4 });
  const holds = fc.property(short, short, (event, property) => {
    const number = pairNumber({ event, property });
    const bytes = new TextEncoder().encode(`${event}\0${property}`);
    expect(BigInt(number)).toBe(xxh64(bytes) % (1n << 53n));
    expect(Number.isSafeInteger(number)).toBe(true);
  });
  fc.assert(holds, { numRuns: 500 });
});

test("names without a type have none, pairs are numbers, and of both twice what is allowed is read at most", async () => {
  const stored = { kind: 1, group_type: "", name: "plan" };
  const answers = [
    [
      { ...stored, type: "" },
      { ...stored, name: "paid", type: "Boolean" },
    ],
    [{ number: "9007199254740991" }],
  ];
  const { clickhouse, calls } = openEngine(...answers);
  expect(await readKnown(clickhouse, 7)).toEqual({
    names: [
      { ...stored, type: undefined },
      { ...stored, name: "paid", type: "Boolean" },
    ],
    pairs: [2 ** 53 - 1],
  });
  const { eventsMax, propertiesMax, pairsMax } = definitionLimits;
  expect(calls.map(({ params }) => params)).toEqual([
    { project_id: 7, most: 2 * (eventsMax + propertiesMax) },
    { project_id: 7, most: 2 * pairsMax },
  ]);
});

/** The texts of a named event. */
function textsOf({ event, properties, changes, groups }: NamedEvent) {
  const decoder = new TextDecoder();
  const text = ({ source, from, to }: { source: Uint8Array; from: number; to: number }) =>
    decoder.decode(source.subarray(from, to));
  return {
    event: text(event),
    properties: text(properties),
    types: groups.types.map(text),
    changes: Array.from({ length: changes.count }, (_, i) => [
      changes.ops[i],
      text({ source: changes.keySource(i), from: changes.keyFrom[i]!, to: changes.keyTo[i]! }),
      text({ source: changes.source, from: changes.valueFrom[i]!, to: changes.valueTo[i]! }),
    ]),
  };
}

const shape = {
  project_id: 7,
  name: "käufe",
  sample: '{"größe":1}',
  at: "1700000000000001",
  pk: [],
  pw: [],
  values: [],
  gt: [],
  person_mode: 0,
};

test("a shape is an event with its names and values, whatever bytes they take", async () => {
  const texts = fc.array(
    fc.tuple(fc.constantFrom(0, 1, 2), fc.string({ unit: "binary" }), fc.string({ unit: "binary" })),
    { maxLength: 5 },
  );
  const holds = fc.asyncProperty(texts, async (changes) => {
    const [pw, pk, values] = [0, 1, 2].map((part) => changes.map((change) => change[part])) as [
      unknown,
      unknown,
      unknown,
    ];
    const { clickhouse } = openEngine([{ ...shape, pw, pk, values, gt: ["firma", "ü"] }]);
    const [named] = (await readShapes(clickhouse, "1", {})) as [NamedEvent];
    expect(textsOf(named)).toEqual({
      event: "käufe",
      properties: '{"größe":1}',
      types: ["firma", "ü"],
      changes,
    });
    expect([named.project_id, named.created_at]).toEqual([7, 1_700_000_000_000_001]);
  });
  await fc.assert(holds, { numRuns: 200 });
});

test.each([
  [personMode.group, true],
  [0, false],
])("of the mode %d the changes are a group's: %p", async (person_mode, identified) => {
  const { clickhouse, calls } = openEngine([{ ...shape, person_mode }]);
  const [named] = await readShapes(clickhouse, "_batch = {batch:UInt64}", { batch: 5n });
  expect(named!.groups.identified).toBe(identified);
  expect(calls[0]!.text).toContain("WHERE _batch = {batch:UInt64}\n");
  expect(calls[0]!.params).toEqual({ batch: 5n });
});
