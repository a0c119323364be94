import { expect, test } from "bun:test";
import type { Clock } from "../../../src/core/clock.ts";
import { Fault } from "../../../src/core/fault.ts";
import { momentParameter } from "../../../src/http/fields/query.ts";

const clock: Clock = { now: () => Date.UTC(2026, 2, 31, 12, 30, 15, 250), elapsed: () => 0 };
const after = momentParameter("", clock);
const read = (text: string, project?: Parameters<typeof after.read>[2]) =>
  after.read(new URLSearchParams({ after: text }), "after", project);

test("an empty text is no moment; blanks are refused like any other text that is none", () => {
  expect(read("")).toBeUndefined();
  expect(() => read("  ")).toThrow("Datetime has wrong format.");
});

test("days, times without a zone and units are of the project's zone and weeks", () => {
  const tokyo = { timezone: "Asia/Tokyo", week_start: 1 };
  expect(read("2024-01-02", tokyo)).toBe("2024-01-01 15:00:00.000000");
  expect(read("2024-01-02T03:04", tokyo)).toBe("2024-01-01 18:04:00.000000");
  expect(read("2024-01-02T03:04Z", tokyo)).toBe("2024-01-02 03:04:00.000000");
  // 21:30 of Tuesday in Tokyo.
  expect(read("dStart", tokyo)).toBe("2026-03-30 15:00:00.000000");
  expect(read("wStart", tokyo)).toBe("2026-03-29 15:00:00.000000");
  expect(read("wStart")).toBe("2026-03-29 00:00:00.000000");
  expect(read("-1mEnd", tokyo)).toBe("2026-02-28 15:00:00.000000");
  expect(read("-1m", tokyo)).toBe("2026-02-28 12:30:15.250000");
});

test("ISO 8601 is read in its usual spellings, as UTC unless it says otherwise", () => {
  expect(read("2024-02-29")).toBe("2024-02-29 00:00:00.000000");
  expect(read("2024-01-02T03:04")).toBe("2024-01-02 03:04:00.000000");
  expect(read("2024-01-02 03:04:05")).toBe("2024-01-02 03:04:05.000000");
  expect(read("2024-01-02T03:04:05Z")).toBe("2024-01-02 03:04:05.000000");
  expect(read("2024-01-02T03:04:05+02:00")).toBe("2024-01-02 01:04:05.000000");
  expect(read("2024-01-02T03:04:05-0530")).toBe("2024-01-02 08:34:05.000000");
});

test("a plus that a query string turned into a blank is still a plus", () => {
  expect(after.read(new URLSearchParams("after=2024-01-02T03:04:05+02:00"), "after")).toBe(
    "2024-01-02 01:04:05.000000",
  );
});

test("microseconds are kept and finer digits dropped", () => {
  expect(read("2024-01-02T03:04:05.5Z")).toBe("2024-01-02 03:04:05.500000");
  expect(read("2024-01-02T03:04:05.123456789Z")).toBe("2024-01-02 03:04:05.123456");
});

test("relative moments count back from now", () => {
  expect(read("-2h")).toBe("2026-03-31 10:30:15.250000");
  expect(read("-7d")).toBe("2026-03-24 12:30:15.250000");
  expect(read("-2w")).toBe("2026-03-17 12:30:15.250000");
  expect(read("-1m")).toBe("2026-02-28 12:30:15.250000");
  expect(read("-1q")).toBe("2025-12-31 12:30:15.250000");
  expect(read("-2y")).toBe("2024-03-31 12:30:15.250000");
});

test("moments beyond what ClickHouse holds become the nearest it does", () => {
  expect(read("0001-01-01")).toBe("1900-01-01 00:00:00.000000");
  expect(read("9999-12-31T23:59:59-14:00")).toBe("2299-12-31 23:59:59.999999");
  expect(read("-9999y")).toBe("1900-01-01 00:00:00.000000");
});

test("anything else is refused, naming its key", () => {
  for (const text of [
    "yesterday",
    "2024-02-30",
    "2024-13-01",
    "2024-01-02T25:00",
    "-7",
    "7d",
    "-7x",
    "1700000000",
  ]) {
    let fault: unknown;
    try {
      read(text);
    } catch (thrown) {
      fault = thrown;
    }
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "invalid_input", attr: "after" });
  }
});
