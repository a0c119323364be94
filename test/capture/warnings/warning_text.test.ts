// The row of a warning holds what a person needs to act, whatever bytes the event was made of.

import { expect, test } from "bun:test";
import { entryLength, field } from "../../../src/capture/fields/event_fields.ts";
import { type Reason, reasons, type Warning, warnings } from "../../../src/capture/fields/outcome.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { sentences } from "../../../src/capture/warnings/sentences.ts";
import { warningText } from "../../../src/capture/warnings/warning_text.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { limits } from "../../../src/core/limits.ts";

type Place = "item" | "event" | "distinct_id" | "properties" | "timestamp" | "uuid" | "offset";

/** The row for an event of these raw values, and its details. */
function rowOf(type: Reason | Warning, values: Partial<Record<Place | "properties_distinct_id", string>>) {
  const entry = new Int32Array(entryLength);
  let text = "";
  for (const [name, raw] of Object.entries(values)) {
    const from = toBytes(text).length;
    text += raw;
    entry.set([from, toBytes(text).length], field[name as Place]);
  }
  const row = warningText({ type, index: 3, entry, uuid: undefined }, toBytes(text), 7, 5);
  return { ...row, details: JSON.parse(row.details) as Record<string, unknown> };
}

test("every reason and warning has a sentence of its own, and says who it is about", () => {
  const all = [...reasons, ...warnings];
  expect(new Set(all.map((type) => sentences[type])).size).toBe(all.length);
  for (const type of all) {
    const row = rowOf(type, { event: '"buy"', distinct_id: '"u"' });
    expect(row).toMatchObject({
      project_id: 7,
      type,
      event: "buy",
      distinct_id: "u",
      count: 1,
      timestamp: 5,
    });
    expect(row.details).toMatchObject({ message: sentences[type], index: 3 });
  }
});

test("an item that was no object has a row without an event", () => {
  const row = warningText(
    { type: "malformed_event", index: 0, entry: undefined, uuid: undefined },
    toBytes("[1]"),
    1,
    0,
  );
  expect([row.event, row.distinct_id]).toEqual(["", ""]);
});

test("the wrong value is shown as it was sent, and cut", () => {
  const { details } = rowOf("ignored_invalid_timestamp", { timestamp: '"soon"', offset: "12" });
  expect(details).toMatchObject({ field: "timestamp", value: '"soon"', offset: "12" });
  const long = `"${"ü".repeat(captureLimits.warningValueCharsMax)}"`;
  const cut = rowOf("distinct_id_truncated", { distinct_id: long });
  expect(cut.details["value"]).toBe(long.slice(0, captureLimits.warningValueCharsMax));
  // Without its end it is no JSON text: it is shown without its first quote.
  expect(cut.distinct_id).toBe(long.slice(1, captureLimits.warningValueCharsMax));
});

test("a name with what columns cannot hold is altered, since an ignored event is not repaired", () => {
  const row = rowOf("missing_distinct_id", { event: String.raw`"a\u0000\ud800b"` });
  expect(row.event).toBe("a\ufffd\ufffdb");
});

test("the distinct id is the event's, or else its properties', in the form it would be stored", () => {
  expect(rowOf("snapshot", { properties_distinct_id: "5" }).distinct_id).toBe("5");
  expect(rowOf("snapshot", { distinct_id: '"a"', properties_distinct_id: '"b"' }).distinct_id).toBe("a");
  expect(rowOf("snapshot", { distinct_id: '{ "a" : [ 1 ] }' }).distinct_id).toBe('{"a":[1]}');
});

test("an event that is too large says by how much", () => {
  const item = "x".repeat(50);
  expect(rowOf("message_size_too_large", { item }).details).toMatchObject({
    bytes: 50,
    bytes_max: limits.eventBytesMax,
  });
});

test("an SDK's own warning is its message, when it is a text", () => {
  const said = (value: unknown) => {
    const properties = JSON.stringify({ a: 1, $$client_ingestion_warning_message: value });
    return rowOf("client_ingestion_warning", { properties }).details["message"];
  };
  expect(said("slow “network”")).toBe("slow “network”");
  expect(said({ not: "a text" })).toBe(sentences.client_ingestion_warning);
  expect(String(said("m".repeat(2 * captureLimits.clientMessageCharsMax))).length).toBeLessThanOrEqual(
    captureLimits.clientMessageCharsMax,
  );
  const { details } = rowOf("client_ingestion_warning", { properties: "null" });
  expect(details["message"]).toBe(sentences.client_ingestion_warning);
});
