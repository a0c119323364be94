// Lines over time with their numbers, and what is one number for each line.

import { shownNow } from "../clock.ts";
import { useZone } from "../session/zone.ts";
import { Bars } from "../ui/bars.tsx";
import { Chart, type Drawing } from "../ui/chart.tsx";
import { numberText, percentText, shortText } from "../ui/format.ts";
import { inkAt } from "../ui/ink.ts";
import { CsvButton, Table } from "../ui/table.tsx";
import { useDark } from "../ui/theme.ts";
import {
  isSummable,
  isUnfinished,
  nameOfSeries,
  namesOfTimes,
  timesOfDays,
  type TrendSeries,
} from "./results.ts";

interface TrendProps {
  series: TrendSeries[];
  display: string;
  small: boolean;
  height: number;
}

const drawings: Readonly<Record<string, Drawing>> = {
  ActionsBar: "bar",
  ActionsStackedBar: "bar",
  ActionsUnstackedBar: "bar",
  ActionsAreaGraph: "area",
};

/** What does not add up is not put on each other, nor what is below zero or of another time. */
function drawingOf(series: readonly TrendSeries[], display: string): Drawing {
  const isPlain = series.some(
    (one) =>
      one.compare_label ||
      one.data.some((value) => value < 0) ||
      (series.length > 1 && !isSummable(one, display)),
  );
  return isPlain ? "line" : (drawings[display] ?? "line");
}

/** The name of the last row of a trend's numbers. */
const sum = "Sum";

/** Letters of a line's name beneath the chart; the table's head has the whole of it. */
const legendLettersMax = 60;

/** Rows that are shown without being asked for. */
const openRowsMax = 31;

export function TrendView({ series, display, small, height }: TrendProps) {
  const days = series[0]?.days ?? [];
  const now = shownNow(useZone());
  // The time before has the colour of its series and a dashed line.
  const names = series.map(nameOfSeries);
  const current = series.map((one) => nameOfSeries({ ...one, compare_label: "" }));
  const colours = [...new Set(current)];
  const lines = series.map((one, i) => ({
    label: shortText(names[i]!, legendLettersMax),
    values: one.data,
    dashed: one.compare_label === "previous",
    colour: colours.indexOf(current[i]!),
  }));
  const label = `Lines from ${days[0] ?? ""} to ${days.at(-1) ?? ""}: ${lines.map((line) => line.label).join(", ")}`;
  const times = timesOfDays(days);
  const rowNames = times.length > 0 ? namesOfTimes(days) : (series[0]?.labels ?? days.map(String));
  const unfinished = isUnfinished(times, now);
  const sums = series.map((one) =>
    isSummable(one, display) ? one.data.reduce((before, value) => before + value, 0) : undefined,
  );
  const rows = rowNames.map((name, i) => ({
    name: unfinished && i === rowNames.length - 1 ? `${name} (not over)` : name,
    values: series.map(({ data }) => data[i]),
  }));
  if (sums.some((one) => one !== undefined)) rows.push({ name: sum, values: sums });
  const drawing = drawingOf(series, display);
  return (
    <>
      <Headline series={series} sums={sums} />
      {times.length > 0 && (
        <Chart
          {...{ label, times, lines, height, drawing, unfinished }}
          names={rows.map(({ name }) => name)}
        />
      )}
      <details class="numbers" open={times.length === 0 || (!small && rows.length <= openRowsMax)}>
        <summary>Numbers</summary>
        <Table
          caption="The numbers of the lines"
          rows={rows}
          id={({ name }) => name}
          columns={[
            {
              name: times.length > 0 ? "Time" : "Active in",
              cell: ({ name }) => (name === sum ? <strong>{sum}</strong> : name),
              fixed: true,
            },
            ...names.map((name, i) => ({
              name,
              cell: ({ values }: (typeof rows)[number]) =>
                values[i] === undefined ? "" : numberText(values[i]),
              number: true,
            })),
          ]}
        />
        {!small && (
          <CsvButton
            name="trend"
            columns={["Time", ...names]}
            rows={rows.map((row) => [row.name, ...row.values])}
          />
        )}
      </details>
    </>
  );
}

/** Sums that stand above a chart. */
const headlinesMax = 4;

/** The sum of each line that has one, with its change against the time before. */
function Headline({ series, sums }: { series: TrendSeries[]; sums: (number | undefined)[] }) {
  const shown = series.flatMap((one, i) => {
    const value = sums[i];
    return value === undefined || one.compare_label === "previous" ? [] : [{ one, value }];
  });
  if (shown.length === 0 || shown.length > headlinesMax) return null;
  const beforeOf = (one: TrendSeries) => {
    const name = nameOfSeries({ ...one, compare_label: "previous" });
    return sums[series.findIndex((other) => nameOfSeries(other) === name)];
  };
  return (
    <div class="bold-numbers headline">
      {shown.map(({ one, value }, i) => (
        <p key={i}>
          <span class="bold-number">{numberText(value)}</span>
          <span class="quiet">
            {nameOfSeries({ ...one, compare_label: "" })}
            {changeText(value, beforeOf(one))}
          </span>
        </p>
      ))}
    </div>
  );
}

function changeText(value: number, before: number | undefined): string {
  if (before === undefined) return "";
  if (before === 0) return " · none before";
  const change = Math.round(((value - before) / before) * 100);
  return ` · ${change > 0 ? "+" : change < 0 ? "−" : "±"}${Math.abs(change)} % (before: ${numberText(before)})`;
}

/** One number for each line: large where there is one, else side by side. */
export function TotalsView({ series, display }: { series: TrendSeries[]; display: string }) {
  const isDark = useDark();
  const totals = series.map((one) => ({ label: nameOfSeries(one), value: one.aggregated_value ?? 0 }));
  if (display === "BoldNumber") return <BoldNumbers totals={totals} />;
  const all = totals.reduce((before, { value }) => before + value, 0);
  const isPie = display === "ActionsPie" && all > 0 && totals.every(({ value }) => value >= 0);
  const bars = totals.map(({ label, value }, i) => ({
    label,
    value,
    text: isPie ? `${numberText(value)} · ${percentText(value, all)}` : numberText(value),
    colour: inkAt(i, isDark),
  }));
  let turned = 0;
  const slices = bars.map(({ value, colour }) => {
    const from = turned;
    turned += (value / all) * 100;
    return `${colour} ${from}% ${turned}%`;
  });
  return (
    <div class={isPie ? "pie" : ""}>
      {isPie && <div class="slices" style={{ background: `conic-gradient(${slices.join(", ")})` }} />}
      <Bars caption="The numbers of the series" bars={bars} />
    </div>
  );
}

function BoldNumbers({ totals }: { totals: { label: string; value: number }[] }) {
  return (
    <div class="bold-numbers">
      {totals.map(({ label, value }, i) => (
        <p key={i}>
          <span class="bold-number">{numberText(value)}</span> <span class="quiet">{label}</span>
        </p>
      ))}
    </div>
  );
}
