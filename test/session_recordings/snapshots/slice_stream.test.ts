import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { snapshotLimits } from "../../../src/session_recordings/snapshots/limits.ts";
import { cutSlices } from "../../../src/session_recordings/snapshots/slice_stream.ts";

test("small parts are joined to full slices, long ones cut, and nothing is lost", () => {
  const long = "y".repeat(limits.replySliceBytes * 2 + 7);
  const parts = function* (): Generator<string | Uint8Array, undefined> {
    for (let i = 0; i < 1000; i++) yield "x".repeat(i);
    yield Buffer.from(long);
    yield "";
  };
  const slices = [...cutSlices(parts())];
  const whole = [...parts()].map(String).join("");
  expect(Buffer.concat(slices).toString()).toBe(whole);
  expect(new Set(slices.slice(0, -1).map(({ length }) => length))).toEqual(new Set([limits.replySliceBytes]));
});

test("a slice is made of a bounded number of parts", () => {
  const parts = function* (): Generator<string, undefined> {
    for (let i = 0; i < snapshotLimits.snapshotPartsMax * 2; i++) yield "x";
  };
  expect([...cutSlices(parts())].map(({ length }) => length)).toEqual(
    [1, 1].map(() => snapshotLimits.snapshotPartsMax),
  );
});
