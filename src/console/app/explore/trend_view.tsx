// Lines over time with their numbers, and what is one number for each line.

import { FigureLink, useBehind } from "../actors/figure_link.tsx";
import { personsOfLine } from "../actors/figures.ts";
import { shownNow } from "../clock.ts";
import { navigate } from "../session/route.ts";
import { useZone } from "../session/zone.ts";
import { Chart, type Drawing } from "../ui/chart.tsx";
import { dayText, numberText, shortText } from "../ui/format.ts";
import { DataButtons, Table } from "../ui/table.tsx";
import { Headline } from "./headline.tsx";
import {
  isSummable,
  isUnfinished,
  nameOfSeries,
  namesOfTimes,
  timesOfDays,
  type TrendSeries,
} from "./results.ts";
import { wholeTime } from "./totals_view.tsx";

interface TrendProps {
  series: TrendSeries[];
  display: string;
  small: boolean;
  height: number;
  /** What the lines answer, where more may be asked. */
  query?: unknown;
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

export function TrendView({ series, display, small, height, query }: TrendProps) {
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
  const { hrefAt, pick } = useHrefs(series, rowNames);
  return (
    <>
      <Headline series={series} sums={sums} query={query} />
      {times.length > 0 && (
        <Chart
          {...{ label, times, lines, height, drawing, unfinished }}
          names={rows.map(({ name }) => dayText(name))}
          {...(pick && { pick })}
        />
      )}
      <details class="numbers" open={times.length === 0 || (!small && rows.length <= openRowsMax)}>
        <summary>Numbers</summary>
        <Table
          caption="The numbers of the lines"
          rows={rows.map((row, at) => ({ ...row, at }))}
          id={({ name }) => name}
          columns={[
            {
              name: times.length > 0 ? "Time" : "Active in",
              cell: ({ name }) => (name === sum ? <strong>{sum}</strong> : dayText(name)),
              fixed: true,
            },
            ...names.map((name, i) => ({
              name,
              cell: ({ values, at }: (typeof rows)[number] & { at: number }) =>
                values[i] !== undefined && (
                  <FigureLink href={hrefAt(i, at)}>{numberText(values[i])}</FigureLink>
                ),
              number: true,
            })),
          ]}
        />
        {!small && (
          <DataButtons
            name="trend"
            columns={["Time", ...names]}
            rows={rows.map((row) => [row.name, ...row.values])}
          />
        )}
      </details>
    </>
  );
}

/** Where the values of lines lead to; beyond the last value, the whole line. `pick` opens one, where any can be. */
function useHrefs(series: readonly TrendSeries[], names: readonly string[]) {
  const behind = useBehind();
  const hrefAt = (line: number, at: number) => {
    const one = series[line]!;
    const title = `${nameOfSeries(one)}, ${dayText(names[at] ?? wholeTime)}`;
    return behind((query) => personsOfLine(query, one, one.days[at]), title, one.data[at]);
  };
  const pick = (line: number, at: number) => {
    const href = hrefAt(line, at);
    if (href !== undefined) navigate(href);
  };
  const isAny = series.some(({ data }, line) => data.some((_, at) => hrefAt(line, at) !== undefined));
  return { hrefAt, pick: isAny ? pick : undefined };
}
