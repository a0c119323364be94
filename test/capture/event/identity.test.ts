import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { Block, rebatch } from "../../../src/capture/columns/block.ts";
import { readEvent } from "../../../src/capture/event/event.ts";
import { changeKind } from "../../../src/capture/fields/changes.ts";
import type { GroupTypes } from "../../../src/capture/fields/changes.ts";
import { toOffset } from "../../../src/capture/fields/event_fields.ts";
import { warningBit } from "../../../src/capture/fields/outcome.ts";
import { rangeText } from "../../../src/capture/fields/raw_value.ts";
import { emptyRow, type Row, uuidText } from "../../../src/capture/fields/row.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { limits } from "../../../src/core/limits.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { lengthOfBlock } from "../../support/native.ts";
import { columnsOf, naiveColumns, type PersonColumns } from "../../support/person_columns.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

const sending = { project_id: 1, historical_migration: false, received: Date.UTC(2024, 0) * 1000, skew: 0 };

function rowOf(event: unknown, groupTypes?: GroupTypes): Row {
  const scan = new BodyScanner(toBytes(typeof event === "string" ? event : JSON.stringify(event)));
  while (!scan.advance(1 << 20));
  const row = emptyRow();
  row.project_id = 1;
  const judged = groupTypes ? { ...sending, groupTypes } : sending;
  expect(readEvent(scan.index, toOffset(0), judged, row)).toBeUndefined();
  return row;
}

const key = fc.oneof(
  fc.constantFrom("a", "b", "ä", 'q"q', "\\", "__proto__", "c\n"),
  fc.string({ maxLength: 5 }),
);
const members = fc.dictionary(
  key.filter((name) => name !== "__proto__"),
  fc.jsonValue({ maxDepth: 3 }),
  { maxKeys: 6 },
);
const sets = fc.option(fc.oneof({ weight: 5, arbitrary: members }, fc.jsonValue({ maxDepth: 1 })), {
  nil: undefined,
});
const unsets = fc.option(
  fc.oneof(
    fc.array(fc.oneof({ weight: 5, arbitrary: key }, fc.jsonValue({ maxDepth: 1 }))),
    members,
    fc.jsonValue(),
  ),
  { nil: undefined },
);
const groups = fc.option(
  fc.dictionary(
    fc.constantFrom("company", "team", 'o"', ""),
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), members),
  ),
  {
    nil: undefined,
  },
);
const event = fc.record({
  event: fc.constant("e"),
  distinct_id: fc.constant("d"),
  $set: sets,
  $set_once: sets,
  $unset: unsets,
  properties: fc.record({
    before: fc.jsonValue(),
    $set: sets,
    $set_once: sets,
    $unset: unsets,
    $groups: groups,
    $process_person_profile: fc.constantFrom(true, undefined, undefined, false),
  }),
});

test("an event's changes are those a naive reader finds, however the JSON is spaced", () => {
  fc.assert(
    fc.property(event, fc.nat({ max: 2 }), (sent, indent) => {
      const plain = JSON.parse(JSON.stringify(sent)) as Record<string, unknown>;
      const read = columnsOf(rowOf(JSON.stringify(sent, null, indent)));
      for (const [name, value] of Object.entries(read.changes)) {
        if (value !== "") read.changes[name] = JSON.stringify(JSON.parse(value));
      }
      expect(read).toEqual(naiveColumns(plain));
    }),
    { numRuns: 2000 },
  );
});

test("a key means what it says, whichever of its letters are written with escapes", () => {
  const units = (letter: string) => Array.from({ length: letter.length }, (_, i) => letter.charCodeAt(i));
  const escaped = (letter: string) =>
    units(letter)
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join("");
  const letter = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(...'\n\t"\\/é😀靴'),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(letter, fc.boolean()), { minLength: 1, maxLength: 12 }), (letters) => {
      const said = letters.map(([one]) => one).join("");
      fc.pre(!said.includes("\0") && said.isWellFormed());
      const written = letters.map(([one, hidden]) =>
        hidden ? escaped(one) : JSON.stringify(one).slice(1, -1),
      );
      const text = `{"event":"e","distinct_id":"d","$set":{"${written.join("")}":1}}`;
      expect(columnsOf(rowOf(text)).changes).toEqual({ [`${changeKind.set} ${said}`]: "1" });
    }),
    { numRuns: 500 },
  );
});

test("raw values are kept as they were sent: long numbers, exponents, escapes", () => {
  const raw = `{"a":1.0,"b":1e400,"c":123456789012345678901234567890,"d":"\\u00e9","e":null}`;
  const row = rowOf(`{"event":"e","distinct_id":"d","properties":{"$set":${raw}}}`);
  expect(columnsOf(row).changes).toEqual({
    "0 a": "1.0",
    "0 b": "1e400",
    "0 c": "123456789012345678901234567890",
    "0 d": `"\\u00e9"`,
    "0 e": "null",
  });
});

test("of two members with one name the last counts, at every level", () => {
  const twice = rowOf(`{"event":"e","distinct_id":"d","properties":{"$set":{"a":1},"$unset":["x"]},
    "properties":{"$set":{"a":2,"a":3},"$set":{"b":4,"\\u0062":5}}}`);
  expect(columnsOf(twice).changes).toEqual({ "0 b": "5" });
});

test("an exception changes nobody", () => {
  const row = rowOf({ event: "$exception", distinct_id: "d", properties: { $set: { a: 1 } } });
  expect(columnsOf(row)).toEqual({ person_mode: 0, changes: {}, groups: [] });
});

test("$groupidentify tells of its group, and sets nothing of a person, as at PostHog", () => {
  const row = rowOf({
    event: "$groupidentify",
    distinct_id: "d",
    properties: {
      $group_type: "team",
      $group_key: 7,
      $group_set: { n: 1 },
      $set: { p: 2 },
      $set_once: { q: 3 },
      $unset: ["r"],
      $groups: { org: "x", team: "y" },
    },
  });
  expect(columnsOf(row)).toEqual({
    person_mode: 2,
    changes: { "3 n": "1" },
    groups: [
      ["team", "7"],
      ["org", "x"],
    ],
  });
});

test("a type that the project does not allow is left out with a warning of its own", () => {
  const types: GroupTypes = {
    admit: (_, type) => rangeText(type) === "team",
    isForbidden: (_, type) => rangeText(type) === "evil",
    assigned: () => [],
  };
  const row = rowOf(
    { event: "e", distinct_id: "d", properties: { $groups: { team: "t", evil: "k" } } },
    types,
  );
  expect(columnsOf(row).groups).toEqual([["team", "t"]]);
  expect(row.warned).toBe(warningBit.group_type_not_allowed);
  const both = rowOf(
    {
      event: "$groupidentify",
      distinct_id: "d",
      properties: { $group_type: "evil", $group_key: "k", $groups: { sixth: "k" } },
    },
    types,
  );
  expect(columnsOf(both)).toMatchObject({ person_mode: 0, groups: [] });
  expect(both.warned & warningBit.group_type_not_allowed).toBeGreaterThan(0);
  expect(both.warned & warningBit.group_types_limit_exceeded).toBeGreaterThan(0);
});

test("a sixth type, too many keys and too long ones are left out with a warning", () => {
  const types = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`t${i}`, "k"]));
  const many = rowOf({ event: "e", distinct_id: "d", properties: { $groups: types } });
  expect(columnsOf(many).groups).toHaveLength(limits.groupTypesMax);
  expect(many.warned).toBe(warningBit.group_types_limit_exceeded);
  const keys = Object.fromEntries(
    Array.from({ length: captureLimits.changesMax + 1 }, (_, i) => [`k${i}`, i]),
  );
  for (const set of [
    keys,
    { ["k".repeat(captureLimits.changeKeyBytesMax + 1)]: 1 },
    { a: "x".repeat(captureLimits.changesBytesMax) },
  ]) {
    const row = rowOf({ event: "e", distinct_id: "d", properties: { $set: set } });
    expect(row.warned).toBe(warningBit.person_properties_size_violation);
    expect(row.changes.count).toBe(Math.min(Object.keys(set).length - 1, captureLimits.changesMax));
  }
});

test(
  "the engine reads back the columns that a block writes, and those of its halves",
  async () => {
    const { clickhouse } = await openMadeStores();
    const asked: (PersonColumns & { uuid: string })[] = [];
    const events = fc.sample(fc.oneof(event, fc.constant({ event: "e", distinct_id: "d" })), {
      numRuns: 300,
      seed: 5,
    });
    const block = new Block();
    for (const sent of events) {
      const row = rowOf(sent);
      row.created_at = 1_700_000_000_000_000;
      block.append(row);
      asked.push({ uuid: uuidText(row.uuid), ...columnsOf(row) });
    }
    const out = new ByteColumn();
    block.encode(out, 5n, 0);
    const whole = out.filled().slice();
    expect(lengthOfBlock(whole)).toBe(whole.length);
    const read = async () => {
      const rows = await clickhouse.query<{
        uuid: string;
        person_mode: number;
        pk: string[];
        pw: number[];
        pv: string[];
        gt: string[];
        gk: string[];
      }>("SELECT uuid, person_mode, pk, pw, pv, gt, gk FROM event_rows");
      await clickhouse.command(`TRUNCATE TABLE ${clickhouse.tables.local("event_rows")}`);
      return rows
        .map(({ uuid, person_mode, pk, pw, pv, gt, gk }) => ({
          uuid,
          person_mode,
          changes: Object.fromEntries(pk.map((name, i) => [`${pw[i]} ${name}`, pv[i]!])),
          groups: gt.map((type, i): [string, string] => [type, gk[i]!]),
        }))
        .toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
    };
    const expected = asked.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
    await clickhouse.insertNative("event_rows", { bytes: [whole] });
    expect(await read()).toEqual(expected);
    const cuts = [0, 1, 2, 90, 299, 300];
    const halves = cuts.slice(1).map((to, i) => rebatch(whole, cuts[i]!, to, BigInt(10 + i), 0));
    await clickhouse.insertNative("event_rows", { bytes: halves });
    expect(await read()).toEqual(expected);
    // Blocks with and without the columns travel in one insert.
    block.clear();
    const plain = rowOf({ event: "plain", distinct_id: "d" });
    block.append(plain);
    out.length = 0;
    block.encode(out, 6n, 0);
    await clickhouse.insertNative("event_rows", { bytes: [out.filled().slice(), whole] });
    expect(await read()).toHaveLength(301);
  },
  storesStartMsMax,
);
