// What one event of a recording adds to the facts about its piece.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { captureLimits } from "../../../src/capture/limits.ts";
import { FactsCollector } from "../../../src/capture/recordings/snapshot_facts.ts";
import { numberAt, readInflatedBytes, textAt } from "../../../src/capture/recordings/snapshot_values.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { compressed } from "../../support/recordings.ts";

const now = Date.UTC(2026, 0, 1);

interface Sent {
  type: number;
  timestamp?: number;
  data?: { source?: number; dataType?: number; href?: string; plugin?: string; level?: string };
}

function factsOf(...events: Sent[]) {
  const collector = new FactsCollector();
  const texts = events.flatMap(({ data }) => [data?.href, data?.plugin, data?.level]);
  const bytes = toBytes(texts.map((text) => JSON.stringify(text ?? "")).join(""));
  collector.clear(bytes, now);
  let end = 0;
  const next = (text: string | undefined) => {
    const from = end;
    end += toBytes(JSON.stringify(text ?? "")).length;
    return { from, to: text === undefined ? 0 : end };
  };
  for (const { type, timestamp = Number.NaN, data } of events) {
    collector.open();
    Object.assign(collector.event, { type, timestamp });
    if (data) collector.openData();
    const ranges = { href: next(data?.href), plugin: next(data?.plugin), level: next(data?.level) };
    if (data) {
      const { source = Number.NaN, dataType = Number.NaN } = data;
      Object.assign(collector.event, { source, dataType, ...ranges });
    }
    collector.close(100);
  }
  return collector.facts;
}

test("the first and last time are of any order, and of plausible times only", () => {
  const times = [now - 5, now - 10, 0, now + 1, Number.NaN, Date.UTC(2014, 11, 31)];
  const facts = factsOf(...times.map((timestamp) => ({ type: 2, timestamp })));
  expect(facts).toMatchObject({ events: times.length, first: now - 10, last: now - 5 });
  expect(factsOf({ type: 2, timestamp: 5 })).toMatchObject({
    events: 1,
    first: Number.NaN,
    last: Number.NaN,
  });
});

test("a second is active when the visitor did something in it, and seconds are bounded", () => {
  const at = (timestamp: number, source: number) => ({ type: 3, timestamp, data: { source } });
  const facts = factsOf(at(now - 1000, 1), at(now - 999, 3), at(now - 5000, 5), at(now - 9000, 0));
  expect(facts.active).toEqual(new Set([now / 1000 - 1, now / 1000 - 5]));
  const { snapshotActiveSecondsMax } = captureLimits;
  const many = Array.from({ length: snapshotActiveSecondsMax + 5 }, (_, i) => at(now - 1000 * i, 1));
  expect(factsOf(...many).active.size).toBe(snapshotActiveSecondsMax);
});

test("clicks, keys and moves are counted by rrweb's numbers, without a time too", () => {
  const clicks = [2, 3, 4, 9].map((dataType) => ({ type: 3, data: { source: 2, dataType } }));
  const others = [0, 1, 5, 6, 7].map((dataType) => ({ type: 3, data: { source: 2, dataType } }));
  const facts = factsOf(
    ...clicks,
    ...others,
    { type: 3, data: { source: 5 } },
    { type: 3, data: { source: 6 } },
  );
  expect(facts).toMatchObject({ clicks: 4, mouseActivities: 10, keypresses: 1 });
  // These numbers in an event of another type are nothing.
  expect(factsOf({ type: 2, data: { source: 2, dataType: 2 } })).toMatchObject({ clicks: 0 });
});

test("messages of the console are counted by level, those of other plugins are not", () => {
  const said = (level: string, plugin = "rrweb/console@1") => ({ type: 6, data: { level, plugin } });
  const facts = factsOf(
    ...["error", "assert", "warn", "log", "info", "debug"].map((level) => said(level)),
    said("error", "rrweb/network@1"),
    { type: 6, data: { level: "error" } },
  );
  expect(facts).toMatchObject({ consoleErrors: 2, consoleWarns: 1, consoleLogs: 3 });
});

test("the page is that of the earliest meta event, cut", () => {
  const page = (href: string, timestamp?: number) => ({
    type: 4,
    data: { href },
    ...(timestamp !== undefined && { timestamp }),
  });
  expect(factsOf(page("b", now - 1), page("a", now - 9), page("c", now)).startUrl).toBe("a");
  expect(factsOf(page("undated"), page("b", now - 1)).startUrl).toBe("b");
  const { startUrlCharsMax } = captureLimits;
  expect(factsOf(page("u".repeat(2 * startUrlCharsMax))).startUrl.length).toBe(startUrlCharsMax);
});

test("raw values are read as JSON reads them", () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })), (number) => {
      const bytes = toBytes(` ${JSON.stringify(number)},`);
      expect(numberAt(bytes, 1, bytes.length - 1)).toBe(JSON.parse(JSON.stringify(number)) as number);
    }),
    { examples: [[387_552_407_968_102_140]] },
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const bytes = toBytes(`[${JSON.stringify(text)}]`);
      expect(textAt(bytes, { from: 1, to: bytes.length - 1 })).toBe(
        JSON.parse(JSON.stringify(text)) as string,
      );
    }),
  );
  for (const other of ['"1"', "null", "[1]", "{}", "true"]) {
    expect(numberAt(toBytes(other), 0, other.length)).toBeNaN();
  }
  expect(textAt(toBytes("12"), { from: 0, to: 2 })).toBe("");
  const long = toBytes(JSON.stringify("t".repeat(captureLimits.snapshotTextBytesMax)));
  expect(textAt(long, { from: 0, to: long.length })).toBe("");
});

test("the length that gzip declares is read at the end of its text, however that is escaped", () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 40 }).map(compressed),
      fc.nat(0xffffffff),
      fc.constantFrom<(text: string) => string>(
        (text) => JSON.stringify(text),
        (text) => `"${[...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`,
        (text) => JSON.stringify(`${"\\".repeat(70)}${text}`),
      ),
      (text, size, write) => {
        const trailer = Buffer.alloc(4);
        trailer.writeUInt32LE(size);
        const bytes = toBytes(`{${write(text.slice(0, -4) + trailer.toString("latin1"))}`);
        expect(readInflatedBytes(bytes, 1, bytes.length)).toBe(size);
      },
    ),
    {
      examples: [
        ["", 0x5c5c5c5c, JSON.stringify],
        ["", 0x225c225c, JSON.stringify],
      ],
    },
  );
  expect(readInflatedBytes(toBytes("[1]"), 0, 3)).toBe(0);
  expect(readInflatedBytes(toBytes('""'), 0, 2)).toBe(0);
});
