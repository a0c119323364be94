// What the index says of a body: fields, keys, items that are no events.

import { expect, test } from "bun:test";
import { entryLength, field } from "../../../src/capture/fields/event_fields.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { type EventIndex, isHistorical, readBodyKey } from "../../../src/capture/scan/event_index.ts";
import { likelyIndexBytes, ScanArena } from "../../../src/capture/wasm/scan_arena.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function scanOf(text: string): EventIndex {
  const scan = new BodyScanner(encoder.encode(text), { isVerbose: true });
  while (!scan.advance(1 << 30));
  return scan.index;
}

function valueOf(scan: EventIndex, event: number, place: number): unknown {
  const at = event * entryLength + place;
  const [from, to] = [scan.entries[at]!, scan.entries[at + 1]!];
  return to === 0 ? undefined : JSON.parse(decoder.decode(scan.bytes.subarray(from, to)));
}

test("finds the fields of a batch wherever they stand", () => {
  const scan = scanOf(`{"sent_at":"2024-01-01T00:00:00Z","batch":[
    {"properties":{"a":{"distinct_id":"no"},"distinct_id":"in"},"event":"first","uuid":"u","offset":5},
    {"event":"second","distinct_id":"own","timestamp":"t"}],"historical_migration":true,"api_key":"phc_x"}`);
  expect(scan.shape).toBe("batch");
  expect(scan.count).toBe(2);
  expect(valueOf(scan, 0, field.event)).toBe("first");
  expect(valueOf(scan, 0, field.distinct_id)).toBeUndefined();
  expect(valueOf(scan, 0, field.properties_distinct_id)).toBe("in");
  expect(valueOf(scan, 0, field.offset)).toBe(5);
  expect(valueOf(scan, 1, field.distinct_id)).toBe("own");
  expect(valueOf(scan, 1, field.timestamp)).toBe("t");
  expect(readBodyKey(scan)).toBe("phc_x");
  expect(isHistorical(scan)).toBe(true);
});

test("a single event and an array are bodies too", () => {
  const single = scanOf(`{"api_key":"phc_x","event":"e","distinct_id":"d"}`);
  expect([single.shape, single.count, single.items, readBodyKey(single)]).toEqual(["event", 1, 1, "phc_x"]);
  const array = scanOf(`[{"event":"e","properties":{"token":"phc_y","distinct_id":"d"}}]`);
  expect([array.shape, array.count, readBodyKey(array)]).toEqual(["array", 1, "phc_y"]);
});

test("an event's own key wins over the one in its properties", () => {
  const scan = scanOf(`[{"api_key":"phc_a","event":"e","distinct_id":"d","properties":{"token":"phc_b"}}]`);
  expect(readBodyKey(scan)).toBe("phc_a");
});

test("events that name different keys are refused, unless the batch names its own", () => {
  const items = `[{"token":"phc_a","event":"e","distinct_id":"d"},{"token":"phc_b","event":"e","distinct_id":"d"}]`;
  expect(() => readBodyKey(scanOf(items))).toThrow("same project API key");
  expect(readBodyKey(scanOf(`{"batch":${items},"api_key":"phc_c"}`))).toBe("phc_c");
});

test("a body without a key, an event or a shape is refused", () => {
  expect(() => readBodyKey(scanOf(`{"event":"e"}`))).toThrow("API key not provided");
  expect(() => readBodyKey(scanOf(`{"api_key":"phc_x","batch":[]}`))).toThrow("no event");
  expect(() => readBodyKey(scanOf("[]"))).toThrow("no event");
  expect(() => readBodyKey(scanOf("7"))).toThrow("expected an object or an array");
  expect(() => scanOf(`{"batch":{}}`)).toThrow("batch is not an array");
});

test("items that can be no events are counted by reason and not indexed", () => {
  const scan = scanOf(`[{}, 7, {"event":"e"}, {"event":"e","distinct_id":"d"}, {"distinct_id":"d"}]`);
  expect(scan.items).toBe(5);
  expect(scan.count).toBe(1);
  expect(scan.entries[field.ordinal]).toBe(3);
  expect(scan.ignored.list).toEqual([
    { index: 0, reason: "missing_event_name" },
    { index: 1, reason: "malformed_event" },
    { index: 2, reason: "missing_distinct_id" },
    { index: 4, reason: "missing_event_name" },
  ]);
});

test("an escaped key is the same key, and the last of two equal keys counts", () => {
  const scan = scanOf(`{"\\u0065vent":"a","event":"b","distinct_\\u0069d":"d","api_key":"phc_x"}`);
  expect(valueOf(scan, 0, field.event)).toBe("b");
  expect(valueOf(scan, 0, field.distinct_id)).toBe("d");
});

test("an index whose memory holds another body by now is not read, unless it was detached before", () => {
  const arena = new ScanArena(1 << 12, true);
  const body = (name: string) => encoder.encode(`{"api_key":"k","event":"${name}","distinct_id":"d"}`);
  const indexOf = (name: string): EventIndex => {
    const scan = new BodyScanner(arena.copy(body(name)), { fast: arena });
    while (!scan.advance(1 << 30));
    return scan.index;
  };
  const detached = indexOf("own");
  detached.detach();
  const lent = indexOf("lent");
  expect(valueOf(lent, 0, field.event)).toBe("lent");
  indexOf("a stranger's");
  expect(() => lent.bytes).toThrow("holds another body");
  expect(() => lent.entries).toThrow("holds another body");
  expect(valueOf(detached, 0, field.event)).toBe("own");
});

test("an index that becomes larger than is likely is acquired, and refused where there is no memory for it", () => {
  const item = '{"event":"\\u0065","distinct_id":"d"}';
  const bytes = encoder.encode(`[${`${item},`.repeat(20_000)}${item}]`);
  const scanned = (bytesMax: number) => {
    const lease = new MemoryBudget({ bytesMax, shareBytesMax: bytesMax }).open();
    lease.acquire(bytes.length + likelyIndexBytes(bytes.length));
    const scan = new BodyScanner(bytes, { lease });
    while (!scan.advance(1 << 16));
    return { lease, index: scan.index };
  };
  const { lease, index } = scanned(64 * 1024 * 1024);
  expect(lease.bytes).toBeGreaterThanOrEqual(0.95 * (bytes.length + index.entries.byteLength));
  expect(index.entries.byteLength).toBeGreaterThan(3 * bytes.length);
  expect(() => scanned(2 * bytes.length)).toThrow("no memory for further request bodies");
});
