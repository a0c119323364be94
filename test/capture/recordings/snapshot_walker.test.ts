// The walk through a snapshot finds what JSON.parse finds, in slices of any length.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ValueRange } from "../../../src/capture/recordings/snapshot_values.ts";
import { SnapshotWalker } from "../../../src/capture/recordings/snapshot_walker.ts";
import { toBytes } from "../../../src/core/bytes.ts";

const now = Date.UTC(2026, 0, 1);
const decoder = new TextDecoder();

/** All that the walk notes, with slices of so many bytes. */
function walked(text: string, sliceBytes = 1 << 30) {
  const bytes = toBytes(text);
  const walker = new SnapshotWalker();
  walker.open(bytes, bytes.indexOf(0x7b), now);
  while (!walker.advance(sliceBytes));
  const raw = ({ from, to }: ValueRange) => (to === 0 ? undefined : decoder.decode(bytes.subarray(from, to)));
  const {
    sessionId,
    windowId,
    source,
    data,
    collector: { facts },
  } = walker;
  const { active, ...others } = facts;
  const ranges = [sessionId, windowId, source, data].map(raw);
  return { ranges, facts: { ...others, active: [...active] } };
}

const rrweb = fc.record(
  {
    type: fc.constantFrom<unknown>(2, 3, 4, 6, "3", null),
    timestamp: fc.oneof(fc.integer({ min: now - 90_000, max: now + 5 }), fc.constant("soon")),
    data: fc.oneof(
      fc.record(
        {
          source: fc.integer({ min: 0, max: 12 }),
          type: fc.integer({ min: 0, max: 10 }),
          href: fc.webUrl(),
          plugin: fc.constantFrom("rrweb/console@1", "other"),
          payload: fc.oneof(
            fc.record({ level: fc.constantFrom("error", "warn", "log", 'x"y') }),
            fc.jsonValue(),
          ),
          // Names that count elsewhere, deeper.
          texts: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: [] },
);
const snapshot = fc.record(
  {
    $session_id: fc.string(),
    other: fc.jsonValue(),
    $snapshot_data: fc.oneof(fc.array(fc.oneof(rrweb, fc.jsonValue())), rrweb, fc.jsonValue()),
    $window_id: fc.oneof(fc.string(), fc.integer()),
    $snapshot_source: fc.constantFrom("web", "mobile"),
  },
  { requiredKeys: [] },
);

test("the members that matter are found as they were written, and facts do not depend on the slices", () => {
  fc.assert(
    fc.property(snapshot, fc.integer({ min: 1, max: 40 }), fc.constantFrom(0, 2), (value, slice, spaces) => {
      const text = JSON.stringify(value, null, spaces);
      const whole = walked(text);
      expect(walked(text, slice)).toEqual(whole);
      const sent = JSON.parse(text) as Record<string, unknown>;
      const names = ["$session_id", "$window_id", "$snapshot_source", "$snapshot_data"] as const;
      for (const [i, name] of names.entries()) {
        const found = whole.ranges[i];
        const parsed = found === undefined ? undefined : (JSON.parse(found) as unknown);
        expect(parsed).toEqual(sent[name]);
      }
    }),
  );
});

test("objects of a list are its events, and an object alone is one", () => {
  const events = [{ type: 2 }, 1, "a", [{ type: 3 }], {}];
  const of = (data: unknown) => walked(JSON.stringify({ $snapshot_data: data })).facts.events;
  expect([of(events), of([]), of({ type: 2 }), of("text"), of(null)]).toEqual([2, 0, 1, 0, 0]);
  expect(walked(JSON.stringify({ $snapshot_items: events })).facts.events).toBe(2);
});

test("of two recordings in one snapshot the last counts, with its facts alone", () => {
  const at = (timestamp: number) => JSON.stringify([{ type: 2, timestamp }]);
  const { ranges, facts } = walked(`{"$snapshot_data":${at(now - 9)},"$snapshot_items":${at(now - 5)}}`);
  expect(ranges[3]).toBe(at(now - 5));
  expect(facts).toMatchObject({ events: 1, first: now - 5, last: now - 5 });
});

test("members count at their own level only", () => {
  const inner = { $session_id: "no", timestamp: 1, type: 3, data: { type: 2, source: 2 } };
  const { ranges, facts } = walked(
    JSON.stringify({ set: inner, $snapshot_data: [{ type: 2, data: { node: inner }, timestamp: now - 1 }] }),
  );
  expect(ranges.slice(0, 3)).toEqual([undefined, undefined, undefined]);
  expect(facts).toMatchObject({ events: 1, first: now - 1, clicks: 0 });
  // A click: the type of its data is another one than its own.
  const click = [{ type: 3, data: { source: 2, type: 2 }, timestamp: now - 1 }];
  expect(walked(JSON.stringify({ $snapshot_data: click })).facts).toMatchObject({
    clicks: 1,
    first: now - 1,
  });
});

test("one walker reads snapshots one after the other", () => {
  const walker = new SnapshotWalker();
  const first = toBytes(
    JSON.stringify({ $session_id: "s", $snapshot_data: [{ type: 2, timestamp: now - 1 }] }),
  );
  walker.open(first, 0, now);
  while (!walker.advance(5));
  expect([walker.sessionId.to > 0, walker.collector.facts.events]).toEqual([true, 1]);
  walker.open(toBytes("[{}]"), 1, now);
  expect(walker.advance(100)).toBe(true);
  expect([walker.sessionId.to, walker.data.to, walker.collector.facts.events]).toEqual([0, 0, 0]);
});
