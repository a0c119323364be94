import { expect, test } from "bun:test";
import { DefinitionBook } from "../../../src/capture/definitions/definition_book.ts";
import { nameNumber } from "../../../src/capture/definitions/definition_name.ts";
import type { NamedEvent } from "../../../src/capture/definitions/event_shape.ts";
import { definitionLimits } from "../../../src/capture/definitions/limits.ts";
import { detectType } from "../../../src/capture/definitions/property_type.ts";
import { ShapeCache } from "../../../src/capture/definitions/shape_cache.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { ClickHouse, NativeBody } from "../../../src/storage/clickhouse/clickhouse.ts";
import { openBook } from "../../support/definitions.ts";
import { readRows } from "../../support/native_rows.ts";

function eventOf(name: string, properties: object | string, project_id = 1): NamedEvent {
  const row = emptyRow();
  const source = toBytes(typeof properties === "string" ? properties : JSON.stringify(properties));
  const event = toBytes(name);
  row.event = { source: event, from: 0, to: event.length };
  row.properties = { source, from: 0, to: source.length };
  return { ...row, project_id, created_at: 1_700_000_000_000_000 };
}

/** A ClickHouse that has these names, and fails as often as told. */
function storeWith(names: string[], failures = 0) {
  const written: string[] = [];
  let left = failures;
  const clickhouse = {
    query: async (text: string) =>
      text.includes("event_properties")
        ? []
        : names.map((name) => ({ kind: 1, group_type: "", name, type: "" })),
    insertNative: async (table: string, body: NativeBody) => {
      if (left-- > 0) throw new Error("away");
      if ("bytes" in body && table === "definitions") {
        const rows = body.bytes.flatMap((bytes) => readRows(bytes)) as unknown as { name: string }[];
        written.push(...rows.map(({ name }) => name));
      }
    },
  } as unknown as ClickHouse;
  let unrecorded = 0;
  const count = (_why: string, more: number): void => void (unrecorded += more);
  const book = new DefinitionBook({ clickhouse, unrecorded: count, clock: systemClock, log: silentLog });
  return { book, written, unrecorded: () => unrecorded };
}

test("the type of a property is PostHog's, by its name and its value", () => {
  const now = Date.UTC(2026, 10, 23);
  const typeOf = (name: string, value: unknown) => {
    const bytes = toBytes(JSON.stringify(value));
    return detectType(name, bytes, 0, bytes.length, now);
  };
  const seconds = now / 1000;
  expect([typeOf("a", "x"), typeOf("a", 1), typeOf("a", -1.5e3), typeOf("a", true)]).toEqual([
    "String",
    "Numeric",
    "Numeric",
    "Boolean",
  ]);
  expect(["true", "FALSE", " false ", "True"].map((text) => typeOf("a", text))).toEqual([
    "Boolean",
    "Boolean",
    "Boolean",
    "String",
  ]);
  const dates = [
    "2024-01-31",
    "2024/01/31 10:00:00",
    "2024-01-31T10:00:00.123Z",
    "11-01-2024",
    "Fri, 28 Nov 2014 12:00:09 +0000",
  ];
  expect(dates.map((text) => typeOf("a", text))).toEqual(dates.map(() => "DateTime"));
  const texts = ["2024", "2024-01-31x", "2024-91-31", "1.2.3", `2024-01-31 ${"x".repeat(100)}`];
  expect(texts.map((text) => typeOf("a", text))).toEqual(texts.map(() => "String"));
  expect(["sent_at", "TimeStamp", "updatedAt"].map((name) => typeOf(name, seconds))).toEqual([
    "DateTime",
    "DateTime",
    "DateTime",
  ]);
  expect([typeOf("sent_at", 5), typeOf("sent_at", seconds + 0.5), typeOf("size", seconds)]).toEqual([
    "Numeric",
    "Numeric",
    "Numeric",
  ]);
  expect(
    ["utm_id", "$feature/a", "$feature_flag_response", "$survey_response_2"].map((name) => typeOf(name, 1)),
  ).toEqual(["String", "String", "String", "String"]);
  expect([null, [], {}].map((value) => typeOf("a", value))).toEqual([undefined, undefined, undefined]);
});

test("a type that the first event does not show is that of a later one, and stays", async () => {
  const { book, written } = openBook();
  for (const a of [null, [1], 5, "text"]) book.record(eventOf("e", { a }));
  const [, line] = (await written()).filter((one) => one.startsWith("definitions"));
  expect(line).toBe('definitions {"project_id":1,"kind":1,"group_type":"","name":"a","typed":true}');
});

test("names are those of the JSON, whatever their escapes; longer ones than 200 characters are counted", async () => {
  const opened = openBook();
  const long = "ä".repeat(201);
  opened.book.read(eventOf("e", `{"\\u0061\\n":1,"${"😀".repeat(200)}":2,"${long}":3}`));
  opened.book.read(eventOf(long, {}));
  const names = (await opened.written())
    .filter((one) => one.startsWith("definitions"))
    .map((one) => (JSON.parse(one.slice("definitions ".length)) as { name: string }).name);
  expect(names.toSorted()).toEqual(["a\n", "e", "😀".repeat(200)].toSorted());
  expect(opened.unrecorded).toBe(2);
});

test("past the bounds names are counted and not recorded, those that the store has included", async () => {
  const { propertiesMax, eventPropertiesMax } = definitionLimits;
  const stored = Array.from({ length: propertiesMax - 1 }, (_, i) => `old ${i}`);
  const { book, written, unrecorded } = storeWith(stored);
  book.read(eventOf("e", { a: 1, b: 1, "old 5": 1 }));
  await book.settle();
  expect(written).toEqual(["e", "a", "old 5"]);
  expect(unrecorded()).toBe(1);
  book.read(eventOf("e", { c: 1 }));
  await book.settle();
  expect([written.length, unrecorded()]).toEqual([3, 2]);
  // What is known, however it is written, and what is no property of an event, is past no bound.
  book.read(eventOf("f", String.raw`{"\u006fld 7":1,"old 8":1,"$set":{},"$groups":{}}`));
  await book.settle();
  expect([written.slice(3), unrecorded()]).toEqual([["f", "old 7", "old 8"], 2]);
  const many = Object.fromEntries(Array.from({ length: eventPropertiesMax + 1 }, (_, i) => [`p${i}`, 1]));
  const other = openBook();
  other.book.read(eventOf("e", many));
  expect((await other.written()).filter((one) => one.startsWith("definitions")).length).toBe(
    eventPropertiesMax + 1,
  );
  expect(other.unrecorded).toBe(1);
});

test("names that could not be written are written the next time, and nobody waits for none", async () => {
  const { book, written } = storeWith([], 1);
  book.read(eventOf("e", { a: 1 }));
  expect(await book.settle().catch((thrown: Error) => thrown.message)).toBe("away");
  book.read(eventOf("e", { b: 1 }));
  await book.settle();
  await book.settle();
  expect(written).toEqual(["e", "a", "b"]);
});

test("shapes are remembered, each project's by themselves, and never more than there is room for", () => {
  const cache = new ShapeCache();
  expect(cache.has(0, 0)).toBe(true);
  for (let i = 1; i <= definitionLimits.shapesMax; i++) {
    const [low, high] = [Math.imul(i, 0x9e3779b1) >>> 0, i];
    expect(cache.has(low, high)).toBe(false);
    cache.add(low, high);
    expect(cache.has(low, high)).toBe(true);
  }
  const most = cache.bytes;
  for (let i = 1; i < 1000; i++) cache.add(7, i);
  expect(cache.bytes).toBe(most);
  expect(most).toBeLessThanOrEqual(definitionLimits.shapesMax * 32);
  const { book } = openBook();
  book.shapes.of(1).add(5, 5);
  expect([book.shapes.of(1).has(5, 5), book.shapes.of(2).has(5, 5)]).toEqual([true, false]);
});

test("names of another kind, type of group or text have another number, wherever their bytes lie", () => {
  const numbers = new Set<number>();
  const names = Array.from({ length: 20_000 }, (_, i) => `name ${i}`);
  for (const [kind, group_type] of [
    [1, ""],
    [2, ""],
    [3, "company"],
    [3, "companyname"],
  ] as const) {
    for (const name of names) {
      const source = toBytes(`"${name}"`);
      const number = nameNumber(kind, group_type, { source, from: 1, to: source.length - 1 });
      expect(number).toBe(nameNumber(kind, group_type, { source: toBytes(name), from: 0, to: name.length }));
      expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
      numbers.add(number);
    }
  }
  expect(numbers.size).toBe(4 * names.length);
});
