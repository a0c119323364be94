import { expect, setSystemTime, test } from "bun:test";
import {
  agoText,
  bytesText,
  clockTimeText,
  dayText,
  durationText,
  numberText,
  percentText,
  rangeText,
  timeText,
} from "../../../../src/console/app/ui/format.ts";

test("the time since a moment is shown in its largest unit", () => {
  const now = new Date("2026-06-01T12:00:00Z");
  setSystemTime(now);
  try {
    const ago = (seconds: number) => agoText(new Date(now.getTime() - seconds * 1000).toISOString());
    const day = 86_400;
    expect([ago(0), ago(59), ago(60), ago(3600), ago(47 * 3600)]).toEqual([
      "now",
      "59 s ago",
      "1 min ago",
      "1 h ago",
      "47 h ago",
    ]);
    expect([ago(2 * day), ago(59 * day), ago(61 * day), ago(729 * day), ago(2017 * day)]).toEqual([
      "2 days ago",
      "59 days ago",
      "2 months ago",
      "23 months ago",
      "5 years ago",
    ]);
    expect([agoText(null), agoText("no time")]).toEqual(["never", "no time"]);
  } finally {
    setSystemTime();
  }
});

test("days are words, with the time where there is one, and other texts stay", () => {
  expect(
    [
      "2026-03-01",
      "2026-11-01 01:00:00 (again)",
      "2026-03-01T14:30",
      "2026-03-01 00:00:30",
      "1 day",
      "Sum",
    ].map(dayText),
  ).toEqual([
    "Mar 1, 2026",
    "Nov 1, 2026, 01:00 (again)",
    "Mar 1, 2026, 14:30",
    "Mar 1, 2026 00:00:30",
    "1 day",
    "Sum",
  ]);
});

test("moments are the reader's, with months in words, and what is no moment stays", () => {
  const iso = "2026-03-15T12:03:04.567Z";
  const own = new Date(iso);
  const clock = own.toTimeString().slice(0, 8);
  expect([timeText(iso), clockTimeText(iso)]).toEqual([`Mar ${own.getDate()}, 2026, ${clock}`, clock]);
  expect([timeText(null), timeText("no time"), clockTimeText("no time")]).toEqual(["", "no time", ""]);
});

test("numbers are as precise as somebody wants to read them", () => {
  expect([numberText(0), numberText(3.14159), numberText(1234.5)]).toEqual(["0", "3.14", "1,235"]);
  expect([percentText(1, 3), percentText(1, 0)]).toEqual(["33.3 %", "–"]);
  expect([bytesText(0), bytesText(1536), bytesText(5 * 1024 ** 3)]).toEqual(["0 B", "1.5 KiB", "5 GiB"]);
  expect([durationText(0.25), durationText(59), durationText(200), durationText(7260)]).toEqual([
    "250 ms",
    "59 s",
    "3 min 20 s",
    "2 h 1 min",
  ]);
});

test("ranges that count back are words, and others stay", () => {
  expect(["-21d", "-3w", "-2h", "dStart", "2026-03-01", "-d"].map(rangeText)).toEqual([
    "21 days",
    "3 weeks",
    "2 hours",
    "dStart",
    "2026-03-01",
    "-d",
  ]);
});
