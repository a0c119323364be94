import { expect, test } from "bun:test";
import fc from "fast-check";
import { monthOf, yearOf } from "../../../src/capture/journal/segments/partition.ts";
import { readIso, readNumber, readSlowly } from "../../../src/capture/scan/timestamp.ts";

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
        expect(monthOf(micros)).toBe(date.getUTCFullYear() * 100 + date.getUTCMonth() + 1);
        expect(yearOf(micros)).toBe(date.getUTCFullYear());
      },
    ),
  );
});

test("reads numbers of seconds and of milliseconds, and e-mail dates", () => {
  expect(readNumber(1_700_000_000)).toBe(1_700_000_000_000_000);
  expect(readNumber(1_700_000_000_123)).toBe(1_700_000_000_123_000);
  expect(readSlowly("1700000000.5")).toBe(1_700_000_000_500_000);
  expect(readSlowly("Tue, 14 Nov 2023 22:13:20 GMT")).toBe(1_700_000_000_000_000);
  expect(readSlowly("Tue, 14 Nov 2023 22:13:20 +0100")).toBe(1_699_996_400_000_000);
  expect(readSlowly("never")).toBeNaN();
});

function slowly(text: string): number {
  return readSlowly(text);
}

test("reads ISO 8601's rarer spellings: basic, week and ordinal dates", () => {
  const moment = Date.UTC(2024, 1, 29, 12, 34, 56) * 1000;
  for (const text of [
    "20240229T123456Z",
    "20240229T143456+02:00",
    "2024-060T12:34:56Z",
    "2024-W09-4T12:34:56Z",
  ])
    expect(slowly(text)).toBe(moment);
  expect(slowly("2024W094 12:34:56")).toBe(moment);
  expect(slowly("2020-W53-7")).toBe(Date.UTC(2021, 0, 3) * 1000);
  expect(slowly("1969-W01-1")).toBe(Date.UTC(1968, 11, 30) * 1000);
  for (const wrong of [
    "2023-366",
    "2024-000",
    "2024-W54-1",
    "2024-W00-1",
    "20240230T000000Z",
    "20241301T0000Z",
  ])
    expect(slowly(wrong)).toBeNaN();
});

test("reads what other runtimes print, if it names its year", () => {
  const moment = Date.UTC(2024, 1, 29, 12, 34, 56) * 1000;
  for (const text of [
    "Thu Feb 29 2024 12:34:56 GMT+0000 (Coordinated Universal Time)",
    "Thu, 29 Feb 2024 07:34:56 EST",
    "Feb 29, 2024 12:34:56",
    "2/29/2024 12:34:56",
    " 2024-02-29T12:34:56Z ",
    "1709210096",
    "1709210096000",
  ])
    expect(slowly(text)).toBe(moment);
  expect(slowly("2024-02-28T24:00:00Z")).toBe(Date.UTC(2024, 1, 29) * 1000);
  for (const vague of ["yesterday 5", "soon", "29/02/2024", "10:30"]) expect(slowly(vague)).toBeNaN();
});

test("agrees with the runtime about ordinal and week dates", () => {
  fc.assert(
    fc.property(fc.integer({ min: -25_000, max: 80_000 }), (day) => {
      const date = new Date(day * 86_400_000);
      const year = date.getUTCFullYear();
      const ordinal = day - Date.UTC(year, 0, 1) / 86_400_000 + 1;
      expect(slowly(`${year}-${String(ordinal).padStart(3, "0")}`)).toBe(day * 86_400_000_000);
      // The Thursday of a week names its year.
      const weekday = ((date.getUTCDay() + 6) % 7) + 1;
      const thursday = new Date((day + 4 - weekday) * 86_400_000);
      const weekYear = thursday.getUTCFullYear();
      const week = Math.floor((thursday.getTime() - Date.UTC(weekYear, 0, 1)) / 604_800_000) + 1;
      expect(slowly(`${weekYear}-W${String(week).padStart(2, "0")}-${weekday}`)).toBe(day * 86_400_000_000);
    }),
  );
});
