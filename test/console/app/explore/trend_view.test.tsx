// Lines over time and their numbers: sums of what adds up, values that are to come, what stands for another time.

import { afterEach, expect, setSystemTime, test } from "bun:test";
import type { DrawnLine } from "../../../../src/query/results/figures.ts";
import { closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { TrendView } = await inDocument(() => import("../../../../src/console/app/explore/trend_view.tsx"));

afterEach(async () => {
  await closePage();
  setSystemTime();
});

const line = (more: Partial<DrawnLine> = {}): DrawnLine => ({
  label: "paid",
  data: [1, 2, 4],
  days: ["2026-03-01", "2026-03-02", "2026-03-03"],
  action: { order: 0, name: "paid", math: "total" },
  ...more,
});
const persons = line({ data: [5, 5, 6], action: { order: 1, name: "seen", math: "dau" } });

async function rowsOf(series: DrawnLine[], display = "ActionsLineGraph"): Promise<string[][]> {
  const page = await drawPage(<TrendView {...{ series, display }} small={false} height={200} />);
  const rows = [...page.document.querySelectorAll(".scroll tbody tr")];
  return rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? ""));
}

test("events of all intervals add up, persons and averages do not", async () => {
  setSystemTime(new Date("2026-04-01T12:00:00Z"));
  expect(await rowsOf([line(), persons])).toEqual([
    ["Mar 1, 2026", "1", "5"],
    ["Mar 2, 2026", "2", "5"],
    ["Mar 3, 2026", "4", "6"],
    ["Sum", "7", ""],
  ]);
  expect((await rowsOf([persons])).at(-1)).toEqual(["Mar 3, 2026", "6"]);
  expect((await rowsOf([line()], "ActionsLineGraphCumulative")).at(-1)).toEqual(["Mar 3, 2026", "4"]);
});

test("the interval that is not over says so, and one to come has no value but that of the time before", async () => {
  setSystemTime(new Date("2026-03-02T12:00:00Z"));
  const before = line({ compare_label: "previous", data: [3, 3, 3] });
  const rows = await rowsOf([line({ compare_label: "current", data: [1, 2, 0] }), before]);
  expect(rows.map(([name]) => name)).toEqual([
    "Mar 1, 2026",
    "Mar 2, 2026 (in progress)",
    "Mar 3, 2026",
    "Sum",
  ]);
  expect(rows.map(([, ...values]) => values)).toEqual([
    ["1", "3"],
    ["2", "3"],
    ["", "3"],
    ["3", "9"],
  ]);
});

test("the change of an unfinished time is that against the same part of the one before", async () => {
  setSystemTime(new Date("2026-03-03T18:43:00Z"));
  const until = { date_to: "2026-02-28T18:43:00+00:00", data: [1, 2, 2], count: 5 };
  const before = line({ compare_label: "previous", data: [3, 3, 4], until });
  const series = [line({ compare_label: "current" }), before];
  const page = await drawPage(<TrendView {...{ series, display: "" }} small={false} height={200} />);
  expect(page.texts(".headline p")).toEqual(["7paid+40 % (before: 5 until 18:43)"]);
});

test.each([
  ["day", ["2026-02-22", "2026-02-23"], "Feb 22 – 23, 2026"],
  ["week", ["2026-02-15", "2026-02-22"], "Feb 15 – 28, 2026"],
  ["month", ["2026-02-01"], "Feb 1 – 28, 2026"],
  // Of a zone whose hours are in another day of UTC.
  ["hour", ["2026-02-22 00:00:00", "2026-02-22 01:00:00"], "Feb 22, 2026"],
])("lines that are compared by the %s are named with the days they are of", async (interval, days, named) => {
  setSystemTime(new Date("2026-04-01T12:00:00Z"));
  const before = line({ compare_label: "previous", days });
  const series = [line({ compare_label: "current", days }), before];
  const props = { series, display: "", interval, small: false, height: 200 };
  const page = await drawPage(<TrendView {...props} />);
  expect(page.texts(".u-legend .u-label")).toEqual([`paid, ${named}`, `paid (before), ${named}`]);
});

test("a running week is named up to today", async () => {
  setSystemTime(new Date("2026-03-03T12:00:00Z"));
  const series = [
    line({ compare_label: "current", days: ["2026-03-01"] }),
    line({ compare_label: "previous" }),
  ];
  const page = await drawPage(
    <TrendView {...{ series, display: "", interval: "week" }} small={false} height={200} />,
  );
  expect(page.texts(".u-legend .u-label")[0]).toBe("paid, Mar 1 – 3, 2026");
});

test("stickiness of nobody says so", async () => {
  const series = [line({ days: [], labels: ["1 day", "2 days"], data: [0, 0] })];
  const page = await drawPage(<TrendView {...{ series, display: "" }} small={false} height={200} />);
  expect(page.texts(".notice")).toEqual(["No such events in this time."]);
});

test("an only line is named beneath the chart where no number above has its name", async () => {
  const drawn = async (isUnnamed: boolean) => {
    const page = await drawPage(
      <TrendView series={[line()]} display="" small={false} height={200} isUnnamed={isUnnamed} />,
    );
    const names = page.texts(".u-legend .u-label");
    await closePage();
    return names;
  };
  expect([await drawn(false), await drawn(true)]).toEqual([[], ["paid"]]);
});

test("stickiness is bars of how many were active in so many intervals", async () => {
  const series = line({ days: [1, 2, 3], labels: ["1 day", "2 days", "3 days"], action: null });
  const page = await drawPage(<TrendView series={[series]} display="" small={false} height={200} />);
  expect(page.texts(".chart")).toEqual([]);
  expect(page.texts(".side-bars li").map((text) => /^(\d days?)\D*(\d)$/.exec(text)?.slice(1))).toEqual([
    ["1 day", "1"],
    ["2 days", "2"],
    ["3 days", "4"],
  ]);
});

test.each([
  [31, true, false],
  [32, false, false],
  [3, false, true],
])("a table of %d rows is open: %s", async (count, isOpen, small) => {
  const day = (i: number) => new Date(Date.UTC(2026, 0, 1 + i)).toISOString().slice(0, 10);
  const days = Array.from({ length: count }, (_, i) => day(i));
  const series = [line({ days, data: days.map(() => 1) })];
  const page = await drawPage(<TrendView series={series} display="" small={small} height={200} />);
  expect(page.find("details").hasAttribute("open")).toBe(isOpen);
});

test("a long name is cut beneath the chart and whole in the table's head", async () => {
  const name = "x".repeat(80);
  const page = await drawPage(
    <TrendView
      series={["other", name].map((event) => line({ action: { name: event } }))}
      display=""
      small={false}
      height={200}
    />,
  );
  expect(page.texts(".u-legend .u-label").at(-1)).toBe(`${"x".repeat(59)}…`);
  expect(page.texts("th").at(-1)).toBe(name);
});

test("a result without a line is an empty table, not an error", async () => {
  expect(await rowsOf([line({ data: [], days: [], labels: [] })])).toEqual([]);
});
