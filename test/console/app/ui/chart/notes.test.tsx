import { expect, test } from "bun:test";
import type { Note } from "../../../../../src/console/app/ui/chart/note.ts";
import { toMoment } from "../../../../../src/console/app/ui/chart/note_form.tsx";
import { groupNotes } from "../../../../../src/console/app/ui/chart/notes.tsx";
import { toTimes } from "../../../../../src/query/results/figures.ts";

const note = (date_marker: string | null, id = 1): Note => ({
  id,
  content: "",
  date_marker,
  scope: "project",
  dashboard_item: null,
  dashboard_id: null,
});

const indexes = (days: string[], zone: string, ...moments: (string | null)[]) =>
  moments.map((moment) => [...groupNotes([note(moment)], toTimes(days), zone).keys()]);

test("a note stands on the interval that its moment is in, in the project's zone", () => {
  const days = ["2026-03-01", "2026-03-02", "2026-03-03"];
  expect(
    indexes(days, "UTC", "2026-03-01T00:00:00Z", "2026-03-02T23:59:59Z", "2026-03-03T12:00:00Z"),
  ).toEqual([[0], [1], [2]]);
  expect(indexes(days, "America/New_York", "2026-03-02T03:00:00Z", "2026-03-02T05:00:00Z")).toEqual([
    [0],
    [1],
  ]);
});

test("notes beside the chart's times, and those without a moment, have no mark", () => {
  const days = ["2026-03-01", "2026-03-02"];
  expect(indexes(days, "UTC", "2026-02-28T23:59:00Z", "2026-03-03T00:00:00Z", null)).toEqual([[], [], []]);
  expect(indexes(["2026-03-01"], "UTC", "2026-03-01T22:00:00Z", "2026-03-02T00:00:00Z")).toEqual([[0], []]);
  expect(indexes(["2026-03-01", "2026-04-01"], "UTC", "2026-03-31T22:00:00Z")).toEqual([[0]]);
});

test("notes of one interval share its mark", () => {
  const notes = [note("2026-03-01T10:00:00Z"), note("2026-03-01T11:00:00Z", 2)];
  const [group] = groupNotes(notes, toTimes(["2026-03-01"]), "UTC").values();
  expect(group!.map(({ id }) => id)).toEqual([1, 2]);
});

test("a day of the form is the moment at which it begins in the project's zone, also where clocks change", () => {
  expect(toMoment("2026-03-02", "America/New_York")).toBe("2026-03-02T05:00:00.000Z");
  expect(toMoment("2026-03-09", "America/New_York")).toBe("2026-03-09T04:00:00.000Z");
  expect(toMoment("2026-03-29T12:30", "Europe/Berlin")).toBe("2026-03-29T10:30:00.000Z");
  expect(toMoment("2026-03-29", "Europe/Berlin")).toBe("2026-03-28T23:00:00.000Z");
});
