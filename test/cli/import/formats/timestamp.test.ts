import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { importTimestamp, readTimestamp, rfc3339Ms } from "../../../../src/cli/import/formats/timestamp.ts";

describe("rfc3339Ms", () => {
  test("agrees with the platform on every time of the years 1 to 9999", () => {
    const date = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });
    fc.assert(fc.property(date, (at) => expect(rfc3339Ms(at.toISOString())).toBe(at.getTime())));
  });

  test("reads offsets and fractions of any length", () => {
    expect(rfc3339Ms("2009-03-22T10:30:00+01:00")).toBe(Date.UTC(2009, 2, 22, 9, 30));
    expect(rfc3339Ms("2009-03-22T10:30:00.123456789-05:30")).toBe(Date.UTC(2009, 2, 22, 16, 0, 0, 123));
  });

  test("takes a leap second for the next minute's first", () => {
    expect(rfc3339Ms("2016-12-31T23:59:60Z")).toBe(Date.UTC(2017, 0, 1));
    expect(rfc3339Ms("2016-12-31T23:59:61Z")).toBeNaN();
  });

  test("knows no day that the calendar does not know", () => {
    for (const date of ["2023-02-29", "2024-02-30", "1900-02-29", "2024-13-01", "2024-00-10", "2024-04-31"]) {
      expect(rfc3339Ms(`${date}T00:00:00Z`)).toBeNaN();
    }
    expect(rfc3339Ms("2000-02-29T00:00:00Z")).toBe(Date.UTC(2000, 1, 29));
  });

  test("takes nothing else", () => {
    for (const text of [
      "",
      "2024-01-01",
      "2024-01-01T00:00:00",
      "2024-01-01T24:00:00Z",
      "2024-01-01T00:00:00Zx",
    ]) {
      expect(rfc3339Ms(text)).toBeNaN();
    }
    expect(rfc3339Ms("2024-01-01T00:00:00.Z")).toBeNaN();
    expect(rfc3339Ms("2024-01-01T00:00:00+0100")).toBeNaN();
  });
});

describe("readTimestamp", () => {
  test.each([
    ["2023-10-15 14:30:00.123456", "2023-10-15T14:30:00.123456Z"],
    ["2023-10-15 14:30:00", "2023-10-15T14:30:00.000Z"],
    ["2023-10-15T14:30", "2023-10-15T14:30:00.000Z"],
    ["2023-10-15t14:30:00z", "2023-10-15T14:30:00.000Z"],
    ["2023-10-15", "2023-10-15T00:00:00.000Z"],
    ["2023/10/15 14:30:00", "2023-10-15T14:30:00.000Z"],
    ["2023-10-15 14:30:00 UTC", "2023-10-15T14:30:00.000Z"],
    ["2023-10-15 14:30:00+02", "2023-10-15T12:30:00.000Z"],
    ["2023-10-15T14:30:00+0230", "2023-10-15T12:00:00.000Z"],
    ["Sun, 15 Oct 2023 14:30:00 +0200", "2023-10-15T12:30:00.000Z"],
    ["1697380200", "2023-10-15T14:30:00.000Z"],
    [1697380200, "2023-10-15T14:30:00.000Z"],
    [1697380200.5, "2023-10-15T14:30:00.500Z"],
    [1697380200123, "2023-10-15T14:30:00.123Z"],
    [1697380200123456, "2023-10-15T14:30:00.123456Z"],
    [1697380200123456000, "2023-10-15T14:30:00.123456Z"],
  ])("reads %p as %p", (value, text) => {
    expect(readTimestamp(value, "refused")?.text).toBe(text);
    expect(readTimestamp(value, "refused")?.ms).toBe(Date.parse(text));
  });

  test("leaves RFC 3339 as it is written", () => {
    expect(readTimestamp("2009-03-22T10:30:00.1234567+01:00", "refused")?.text).toBe(
      "2009-03-22T10:30:00.1234567+01:00",
    );
  });

  // segment-boneyard/segment-docs#5149: a library wrote 0 for every time.
  test("takes a later time before that of 0 seconds", () => {
    const rules = { nowMs: Date.UTC(2026, 0, 1), dates: "refused" } as const;
    const taken = (...values: unknown[]) => importTimestamp(values, rules);
    const later = "2024-05-06T08:11:12.000Z";
    const zeros = ["1970-01-01T00:00:00.000Z", "1970-01-01T01:00:00+01:00", "1970-01-01 00:00:00"];
    for (const zero of zeros) {
      expect(taken(zero, null, "soon", later)).toMatchObject({ text: later });
      expect(taken(zero, "soon")).toMatchObject({ ms: 0 });
      expect(taken(later, zero)).toMatchObject({ text: later });
    }
    expect(taken("1970-01-01T00:00:00.001Z", later)).toMatchObject({ ms: 1 });
  });

  test("does not guess", () => {
    for (const value of [
      undefined,
      null,
      "",
      "yesterday",
      "10/15/2023",
      "2023-02-30",
      true,
      {},
      Number.NaN,
      1e300,
    ]) {
      expect(readTimestamp(value, "refused")).toBeUndefined();
    }
  });
});
