import { describe, expect, test } from "bun:test";
import { floorToInterval } from "../../src/core/dates.ts";
import { Fault } from "../../src/core/fault.ts";
import { addIntervals, listBuckets, readDateSpan, zonedIso } from "../../src/query/date_range.ts";

/** Wednesday the 3rd of April 2024, 15:30 in Berlin: three days after clocks were put forward. */
const today = { now: Date.UTC(2024, 3, 3, 13, 30), timezone: "Europe/Berlin" };

function span(date_from?: string | null, date_to?: string | null, hourly = false): [string, string] {
  const { from, to } = readDateSpan({ date_from: date_from ?? null, date_to: date_to ?? null }, today, {
    attr: "range",
    ...(hourly && { interval: "hour" as const }),
  });
  return [zonedIso(from), zonedIso(to)];
}

const tonight = "2024-04-04T00:00:00+02:00";

test("an explicit range is not rounded: a day is its start, what is relative that very moment", () => {
  const explicit = (date_from: string | null, date_to: string | null) => {
    const { from, to } = readDateSpan({ date_from, date_to, explicitDate: true }, today, { attr: "range" });
    return [zonedIso(from), zonedIso(to)];
  };
  const now = "2024-04-03T15:30:00+02:00";
  expect(explicit("-1d", null)).toEqual(["2024-04-02T15:30:00+02:00", now]);
  expect(explicit("-7d", "-1d")).toEqual(["2024-03-27T15:30:00+01:00", "2024-04-02T15:30:00+02:00"]);
  expect(explicit("2024-04-01", "2024-04-02")).toEqual([
    "2024-04-01T00:00:00+02:00",
    "2024-04-02T00:00:00+02:00",
  ]);
  expect(explicit("mStart", "2024-04-03T10:00")).toEqual([
    "2024-04-01T00:00:00+02:00",
    "2024-04-03T10:00:00+02:00",
  ]);
});

describe("a span", () => {
  const cases: [string | null, string | null, string, string][] = [
    [null, null, "2024-03-27T00:00:00+01:00", tonight],
    ["", "", "2024-03-27T00:00:00+01:00", tonight],
    ["-7d", null, "2024-03-27T00:00:00+01:00", tonight],
    ["-1d", "-1d", "2024-04-02T00:00:00+02:00", "2024-04-03T00:00:00+02:00"],
    ["-24h", null, "2024-04-02T15:30:00+02:00", tonight],
    ["-2w", null, "2024-03-20T00:00:00+01:00", tonight],
    ["-1m", null, "2024-03-03T00:00:00+01:00", tonight],
    ["-1q", null, "2024-01-03T00:00:00+01:00", tonight],
    ["-1y", null, "2023-04-03T00:00:00+02:00", tonight],
    ["dStart", null, "2024-04-03T00:00:00+02:00", tonight],
    ["-1dStart", "-1dEnd", "2024-04-02T00:00:00+02:00", "2024-04-03T00:00:00+02:00"],
    ["wStart", null, "2024-03-31T00:00:00+01:00", tonight],
    ["mStart", null, "2024-04-01T00:00:00+02:00", tonight],
    ["-1mStart", "-1mEnd", "2024-03-01T00:00:00+01:00", "2024-04-01T00:00:00+02:00"],
    ["qStart", null, "2024-04-01T00:00:00+02:00", tonight],
    ["yStart", null, "2024-01-01T00:00:00+01:00", tonight],
    ["2024-03-31", "2024-03-31", "2024-03-31T00:00:00+01:00", "2024-04-01T00:00:00+02:00"],
    ["2024-04-01T10:00", "2024-04-01 11:00:00", "2024-04-01T10:00:00+02:00", "2024-04-02T00:00:00+02:00"],
    ["2024-04-01", "2024-04-01T22:00:00Z", "2024-04-01T00:00:00+02:00", "2024-04-03T00:00:00+02:00"],
    ["-3d", "-24h", "2024-03-31T00:00:00+01:00", "2024-04-03T00:00:00+02:00"],
    ["-1mStart", "mStart", "2024-03-01T00:00:00+01:00", "2024-04-02T00:00:00+02:00"],
    [
      "2024-04-01T10:00:00Z",
      "2024-04-02T10:00:00+05:30",
      "2024-04-01T12:00:00+02:00",
      "2024-04-03T00:00:00+02:00",
    ],
  ];
  for (const [from, to, start, end] of cases)
    test(`from ${String(from)} to ${String(to)}`, () => {
      expect(span(from, to)).toEqual([start, end]);
    });

  test("by hour ends with the hour that runs", () => {
    expect(span("-2h", null, true)).toEqual(["2024-04-03T13:30:00+02:00", "2024-04-03T16:00:00+02:00"]);
    const written = span("2024-04-01T10:00", "2024-04-01T11:00", true);
    expect(written).toEqual(["2024-04-01T10:00:00+02:00", "2024-04-01T11:00:00+02:00"]);
  });

  test("of all begins with the day of the first event, or today without any", () => {
    const first = Date.UTC(2023, 0, 1, 23, 30);
    const { from } = readDateSpan({ date_from: "all" }, today, { first, attr: "range" });
    const broken = readDateSpan({ date_from: "all" }, today, { first: 1, attr: "range" });
    expect(zonedIso(broken.from)).toBe("1970-01-03T00:00:00+01:00");
    expect(zonedIso(from)).toBe("2023-01-02T00:00:00+01:00");
    expect(zonedIso(readDateSpan({ date_from: "all" }, today, { attr: "range" }).from)).toBe(
      "2024-04-03T00:00:00+02:00",
    );
  });

  const refused = [
    "yesterday",
    "7d",
    "-7x",
    "d",
    "2024-02-30",
    "2024-13-01",
    "-99999d",
    "1969-12-31",
    "2024-04-05",
  ];
  for (const from of refused)
    test(`is refused from ${from}`, () => {
      let refusal: unknown;
      try {
        span(from);
      } catch (thrown) {
        refusal = thrown;
      }
      expect(refusal).toBeInstanceOf(Fault);
      expect((refusal as Fault).attr).toBe("range__date_from");
    });
});

describe("buckets", () => {
  const at = (text: string) => Temporal.ZonedDateTime.from(`${text}[Europe/Berlin]`);
  const days = { from: at("2024-03-30T00:00"), to: at("2024-04-02T00:00") };

  test("of days are whole days whatever clocks do", () => {
    expect(listBuckets("day", days).map((one) => one.toPlainDate().toString())).toEqual([
      "2024-03-30",
      "2024-03-31",
      "2024-04-01",
    ]);
  });

  test("of hours leave out the hour that was not, and have twice the one that was", () => {
    const forward = { from: at("2024-03-31T00:00"), to: at("2024-04-01T00:00") };
    expect(listBuckets("hour", forward)).toHaveLength(23);
    const back = { from: at("2024-10-27T00:00"), to: at("2024-10-28T00:00") };
    expect(listBuckets("hour", back)).toHaveLength(25);
  });

  test("of weeks begin on Sundays, of months on first days", () => {
    expect(floorToInterval("week", at("2024-03-30T12:00")).toPlainDate().toString()).toBe("2024-03-24");
    expect(floorToInterval("week", at("2024-03-31T12:00")).toPlainDate().toString()).toBe("2024-03-31");
    expect(floorToInterval("month", at("2024-03-31T12:00")).toPlainDate().toString()).toBe("2024-03-01");
  });

  test("are counted from the first one, so that no month stays shorter", () => {
    expect(addIntervals("month", at("2024-01-01T00:00"), 2).toPlainDate().toString()).toBe("2024-03-01");
    expect(addIntervals("week", at("2024-03-24T00:00"), -1).toPlainDate().toString()).toBe("2024-03-17");
  });
});
