import { expect, test } from "bun:test";
import fc from "fast-check";
import { toMonth, toYear } from "../../../src/capture/journal/lane_kind.ts";
import { readIso } from "../../../src/capture/scan/timestamp.ts";

function iso(text: string): number {
  const bytes = new TextEncoder().encode(text);
  return readIso(bytes, 0, bytes.length);
}

test("reads every spelling of one moment", () => {
  const moment = Date.UTC(2024, 1, 29, 12, 34, 56, 789) * 1000;
  for (const text of [
    "2024-02-29T12:34:56.789Z",
    "2024-02-29T12:34:56.789",
    "2024-02-29 12:34:56,789 z",
    "2024-02-29T14:34:56.789+02:00",
    "2024-02-29T14:34:56.789+0200",
    "2024-02-29T09:34:56.789-03",
    "2024/02/29 12:34:56.7890009Z",
  ]) {
    expect(iso(text)).toBe(moment);
  }
  expect(iso("2024-02-29")).toBe(Date.UTC(2024, 1, 29) * 1000);
  expect(iso("2024-02-29T12:34Z")).toBe(Date.UTC(2024, 1, 29, 12, 34) * 1000);
});

test("keeps microseconds", () => {
  expect(iso("1970-01-01T00:00:00.000001Z")).toBe(1);
  expect(iso("1969-12-31T23:59:59.999999Z")).toBe(-1);
});

test("takes nothing that is no time", () => {
  for (const text of [
    "",
    "2024",
    "2023-02-29",
    "2024-13-01",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:00:00+2",
    "2024-01-01T00:00:00.Z",
    "2024-01-01x00:00:00",
    "2024-01-01T00:00:00Zjunk",
  ]) {
    expect(iso(text)).toBeNaN();
  }
});

test("agrees with the runtime about random moments, and so do the months", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("1900-01-01"), max: new Date("2200-01-01"), noInvalidDate: true }),
      (date) => {
        const micros = iso(date.toISOString());
        expect(micros).toBe(date.getTime() * 1000);
        expect(toMonth(micros)).toBe(date.getUTCFullYear() * 100 + date.getUTCMonth() + 1);
        expect(toYear(micros)).toBe(date.getUTCFullYear());
      },
    ),
  );
});
