import { expect, test } from "bun:test";
import { type EventContext, readEvent } from "../../../src/capture/event/event.ts";
import { toOffset } from "../../../src/capture/fields/event_fields.ts";
import { warningBit } from "../../../src/capture/fields/outcome.ts";
import type { ByteRange } from "../../../src/capture/fields/raw_value.ts";
import { emptyRow, type Row } from "../../../src/capture/fields/row.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { toBytes } from "../../../src/core/bytes.ts";

const received = Date.UTC(2024, 5, 1, 12) * 1000;
const sending: EventContext = { project_id: 7, historical_migration: false, received, skew: 0 };

function read(event: unknown, more: Partial<EventContext> = {}): { reason: string | undefined; row: Row } {
  return readText(typeof event === "string" ? event : JSON.stringify(event), more);
}

function readText(text: string, more: Partial<EventContext> = {}): { reason: string | undefined; row: Row } {
  const scanner = new BodyScanner(toBytes(text));
  scanner.advance(1 << 30);
  const { index } = scanner;
  const row = emptyRow();
  if (index.count === 0) return { reason: index.ignored.examples[0]?.type, row };
  return { reason: readEvent(index, toOffset(0), { ...sending, ...more }, row), row };
}

function textOf({ source, from, to }: ByteRange): string {
  return new TextDecoder().decode(source.subarray(from, to));
}

function reasonFor(event: unknown): string | undefined {
  return read(event).reason;
}

test("an event without a name, or without a distinct id, or with an empty one is not taken", () => {
  expect(reasonFor({ distinct_id: "d" })).toBe("missing_event_name");
  expect(reasonFor({ event: "", distinct_id: "d" })).toBe("missing_event_name");
  expect(reasonFor({ event: 7, distinct_id: "d" })).toBe("missing_event_name");
  expect(reasonFor({ event: "e" })).toBe("missing_distinct_id");
  expect(reasonFor({ event: "e", distinct_id: null, properties: {} })).toBe("missing_distinct_id");
  expect(reasonFor({ event: "e", distinct_id: "" })).toBe("empty_distinct_id");
  expect(reasonFor({ event: "e", distinct_id: "  \t" })).toBe("empty_distinct_id");
  expect(reasonFor({ event: "e", distinct_id: "\u00a0\u3000" })).toBe("empty_distinct_id");
});

test("properties may hold the distinct id; the event's own wins, null counts as absent", () => {
  expect(textOf(read({ event: "e", properties: { distinct_id: "in" } }).row.distinct_id)).toBe("in");
  expect(
    textOf(read({ event: "e", distinct_id: "own", properties: { distinct_id: "in" } }).row.distinct_id),
  ).toBe("own");
  expect(
    textOf(read({ event: "e", distinct_id: null, properties: { distinct_id: "in" } }).row.distinct_id),
  ).toBe("in");
});

test("a distinct id that is no string is its JSON text, and a long one is cut to 200 characters", () => {
  expect(textOf(readText(`{"event":"e","distinct_id":23.40}`).row.distinct_id)).toBe("23.40");
  expect(textOf(readText(`{"event":"e","distinct_id":["a"]}`).row.distinct_id)).toBe(`["a"]`);
  expect(textOf(read({ event: "e", distinct_id: "😀".repeat(300) }).row.distinct_id)).toBe("😀".repeat(200));
  expect(textOf(read({ event: "e", distinct_id: "é".repeat(150) }).row.distinct_id)).toBe("é".repeat(150));
});

test("a distinct id that is a list or an object is compact JSON, its numbers and escapes as they were sent", () => {
  const id = (raw: string) => {
    const { reason, row } = readText(`{"event":"e","distinct_id":${raw}}`);
    return reason ?? textOf(row.distinct_id);
  };
  expect(id(`[ "a" ,\n\t1.50,  { "b c" : [ ] } ]`)).toBe(`["a",1.50,{"b c":[]}]`);
  expect(id(`{ "a" : "x \\" y\\u0065\\\\" , "b" :1e5 }`)).toBe(`{"a":"x \\" y\\u0065\\\\","b":1e5}`);
  expect(id(`{"a":1}`)).toBe(id(`{ "a" :1 }`));
  expect(id(`[ ]`)).toBe("[]");
  const inner = readText(`{"event":"e","properties":{"distinct_id":[ 1,\r\n2 ]}}`).row;
  expect(textOf(inner.distinct_id)).toBe("[1,2]");
});

test("a distinct id of long JSON is cut behind its spaces were left out", () => {
  const spaces = " ".repeat(300_000);
  const { row } = readText(`{"event":"e","distinct_id":[${spaces}"é",${spaces}2]}`);
  expect(textOf(row.distinct_id)).toBe(`["é",2]`);
  expect(row.warned).toBe(0);
  const long = readText(`{"event":"e","distinct_id":[${spaces}"${"é".repeat(300_000)}"]}`).row;
  expect(textOf(long.distinct_id)).toBe(`["${"é".repeat(198)}`);
  expect(long.warned).toBe(warningBit.distinct_id_truncated);
});

test("a heatmap and a client's own warning are told apart from events", () => {
  expect(reasonFor({ event: "$$heatmap", distinct_id: "d" })).toBe("heatmap");
  expect(reasonFor({ event: "$$client_ingestion_warning", distinct_id: "d" })).toBe(
    "client_ingestion_warning",
  );
  expect(reasonFor({ event: "$$heatmaps", distinct_id: "d" })).toBeUndefined();
});

test("properties are kept as they were written, of repeated keys the last; absent or null ones are an empty object", () => {
  const raw = `{ "a" : 1.0, "b":1e5 ,"c":123456789012345678901234567890, "d":2}`;
  const propertiesOf = (text: string) =>
    textOf(readText(`{"event":"e","distinct_id":"d","properties":${text}}`).row.properties);
  expect(propertiesOf(raw)).toBe(raw);
  expect(propertiesOf(raw.replace('"d"', '"a"'))).toBe('{"a":2,"b":1e5,"c":123456789012345678901234567890}');
  expect(textOf(read({ event: "e", distinct_id: "d" }).row.properties)).toBe("{}");
  expect(textOf(read({ event: "e", distinct_id: "d", properties: null }).row.properties)).toBe("{}");
  expect(reasonFor({ event: "e", distinct_id: "d", properties: [] })).toBe("malformed_event_properties");
});

test("names and ids with escapes are what they mean", () => {
  const { row } = readText(`{"event":"caf\\u00e9 \\"x\\"","distinct_id":"a\\nb"}`);
  expect(textOf(row.event)).toBe(`café "x"`);
  expect(textOf(row.distinct_id)).toBe("a\nb");
});

test("an event over 1 MB, a $performance_event and a $snapshot are not taken", () => {
  expect(reasonFor({ event: "e", distinct_id: "d", properties: { a: "x".repeat(1_000_000) } })).toBe(
    "message_size_too_large",
  );
  expect(reasonFor({ event: "$performance_event", distinct_id: "d" })).toBe("performance_event");
  expect(reasonFor({ event: "$snapshot_items", distinct_id: "d" })).toBe("recording");
});

test("a time is the event's own, corrected by the client's skew; an unreadable or far future one is now", () => {
  const at = (timestamp: unknown, more: Partial<EventContext> = {}) =>
    read({ event: "e", distinct_id: "d", timestamp }, more).row.timestamp;
  const own = Date.UTC(2020, 0, 2, 3, 4, 5) * 1000;
  expect(at("2020-01-02T03:04:05Z")).toBe(own);
  expect(at("2020-01-02T03:04:05Z", { skew: 60_000_000 })).toBe(own - 60_000_000);
  expect(at(1_577_934_245)).toBe(own);
  expect(at("soon")).toBe(received);
  expect(at(undefined)).toBe(received);
  expect(at("0001-01-01T00:00:00Z")).toBe(received);
  expect(at("2024-06-02T10:59:59Z")).toBe(Date.UTC(2024, 5, 2, 10, 59, 59) * 1000);
  expect(at("2024-06-02T11:00:01Z")).toBe(received);
});

test("an offset says how long ago it was, whatever the timestamp says", () => {
  const { row } = read({ event: "e", distinct_id: "d", offset: 1500, timestamp: "2020-01-01" });
  expect(row.timestamp).toBe(received - 1_500_000);
});

test("a valid uuid is kept and an invalid one replaced", () => {
  const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
  const hex = (row: Row) =>
    Buffer.from([...row.uuid.slice(0, 8).toReversed(), ...row.uuid.slice(8).toReversed()]).toString("hex");
  expect(hex(read({ event: "e", distinct_id: "d", uuid }).row)).toBe(uuid.replaceAll("-", ""));
  expect(hex(read({ event: "e", distinct_id: "d", uuid: `{${uuid}}` }).row)).toBe(uuid.replaceAll("-", ""));
  for (const wrong of ["nonsense", "00000000-0000-0000-0000-000000000000"]) {
    const made = hex(read({ event: "e", distinct_id: "d", uuid: wrong }).row);
    expect(made).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab]/);
  }
});

test("years far from now are kept as they were sent, as long as a column holds them", () => {
  const at = (timestamp: unknown) => read({ event: "e", distinct_id: "d", timestamp }).row.timestamp;
  for (const year of [1900, 1969, 1970, 1999, 2000])
    expect(at(`${year}-06-01T00:00:00Z`)).toBe(Date.UTC(year, 5, 1) * 1000);
  // Numbers below 1973 are a clock that was never set, or a date cut short.
  for (const text of [
    0,
    20_241,
    "1899-12-31T23:59:59Z",
    "0000-01-01",
    "2101-01-01",
    "2300-01-01",
    "+012024-01-01T00:00:00Z",
  ])
    expect(at(text)).toBe(received);
});

test("a client that knows better may leave its skew out", () => {
  const timestamp = "2020-01-02T03:04:05Z";
  const own = Date.UTC(2020, 0, 2, 3, 4, 5) * 1000;
  const skewed = (properties: unknown) =>
    read({ event: "e", distinct_id: "d", timestamp, properties }, { skew: 60_000_000 }).row.timestamp;
  expect(skewed({ $ignore_sent_at: true })).toBe(own);
  expect(skewed({ $ignore_sent_at: "true" })).toBe(own - 60_000_000);
});

test("an offset that is no number is passed over; one that leads too far ahead is now", () => {
  const at = (offset: unknown) =>
    read({ event: "e", distinct_id: "d", offset, timestamp: "2020-01-01" }).row.timestamp;
  expect(at("soon")).toBe(Date.UTC(2020, 0, 1) * 1000);
  expect(at(null)).toBe(Date.UTC(2020, 0, 1) * 1000);
  expect(at(-1000)).toBe(received + 1_000_000);
  expect(at(-24 * 3_600_000)).toBe(received);
  expect(at(0.5)).toBe(received - 500);
});

test("where a name may be missing, the event is an identify call", () => {
  const scan = new BodyScanner(
    toBytes(`[{"$distinct_id":"d","$set":{"a":1}},{"event":"e","distinct_id":"d"}]`),
    { allowsNameless: true },
  );
  scan.advance(1 << 30);
  const row = emptyRow();
  const names = [0, 1].map((which) => {
    readEvent(scan.index, toOffset(which), { ...sending, allowsNameless: true }, row);
    return textOf(row.event);
  });
  expect(names).toEqual(["$identify", "e"]);
});
