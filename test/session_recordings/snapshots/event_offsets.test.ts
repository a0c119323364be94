// The events of a piece, found as byte ranges.

import { expect, test } from "bun:test";
import { findEvents } from "../../../src/session_recordings/snapshots/event_offsets.ts";

test("of a piece without end, as many events are found as are wanted, and the rest is measured", async () => {
  const text = `[${"{},".repeat(100_000)}{}]`;
  const found = await findEvents(new TextEncoder().encode(text), 1000);
  expect([found.events.length, found.bytesLeftOut]).toEqual([1000, text.length - 1 - 1000 * 3]);
  const nested = `[{"data":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)},"timestamp":7}]`;
  const deep = await findEvents(new TextEncoder().encode(nested), 1000);
  expect(deep.events.map(({ timestamp }) => timestamp)).toEqual([7]);
});

test("what is cut short ends the search", async () => {
  const whole = '[{"data":{"a":"b\\""},"cv":"2024-10","timestamp":12},[{}],3,{"data":"x"}]';
  for (let to = 0; to < whole.length; to++) {
    const { events } = await findEvents(new TextEncoder().encode(whole.slice(0, to)), 10);
    expect(events.length).toBeLessThanOrEqual(2);
  }
});
