// A query's results as a picture with a table beneath: every number of the picture can be read as text.

import { Chart } from "../ui/chart.tsx";
import { durationText, numberText, percentText } from "../ui/format.ts";
import { Table } from "../ui/table.tsx";
import { TableView } from "./table_view.tsx";
import {
  type Cohort,
  type Figure,
  type FunnelStep,
  funnelsIn,
  isCohorts,
  isFigures,
  isTrends,
  nameOfSeries,
  type Results,
  timesOfDays,
  type TrendSeries,
} from "./results.ts";

interface ViewProps {
  results: Results;
  /** On a dashboard: the table is closed. */
  small?: boolean;
  /** Of the picture, in pixels. */
  height?: number;
  /** Names and types of the columns of a table. */
  columns?: readonly string[];
  types?: readonly string[];
  /** PostHog's name of the drawing. */
  display?: string;
  /** What is said where there are no results. */
  empty?: string;
}

export function ResultView(props: ViewProps) {
  const { results, small = false, height = 280, columns = [], types = [], display = "" } = props;
  if (results.length === 0) return <p class="quiet">{props.empty ?? "No such events in this time."}</p>;
  if (isCohorts(results)) return <RetentionView cohorts={results} />;
  const funnels = funnelsIn(results);
  if (funnels) return <FunnelView funnels={funnels} />;
  if (isFigures(results)) return <FiguresView figures={results} />;
  if (isTrends(results)) return <TrendView series={results} small={small} height={height} />;
  return <TableView rows={results} {...{ columns, types, display, height, small }} />;
}

/** The name of the last row of a trend's numbers. */
const sum = "Sum";

interface TrendProps {
  series: TrendSeries[];
  small: boolean;
  height: number;
}

function TrendView({ series, small, height }: TrendProps) {
  const days = series[0]?.days ?? [];
  // The time before has the colour of its series and a dashed line.
  const colours = [...new Set(series.map((one) => nameOfSeries({ ...one, compare_label: "" })))];
  const lines = series.map((one) => ({
    label: nameOfSeries(one),
    values: one.data,
    dashed: one.compare_label === "previous",
    colour: colours.indexOf(nameOfSeries({ ...one, compare_label: "" })),
  }));
  const total = (one: TrendSeries) => one.data.reduce((before, value) => before + value, 0);
  const label = `Lines from ${days[0] ?? ""} to ${days.at(-1) ?? ""}: ${lines.map((line) => line.label).join(", ")}`;
  const rows = [
    ...days.map((day, i) => ({
      day: typeof day === "string" ? day : (series[0]?.labels?.[i] ?? String(day)),
      values: series.map(({ data }) => data[i] ?? 0),
    })),
    { day: sum, values: series.map(total) },
  ];
  const times = timesOfDays(days);
  return (
    <>
      {times.length > 0 && <Chart label={label} times={times} lines={lines} height={height} />}
      <details class="numbers" open={!small || times.length === 0}>
        <summary>Numbers</summary>
        <Table
          caption="The numbers of the lines"
          rows={rows}
          id={({ day }) => day}
          columns={[
            {
              name: times.length > 0 ? "Time" : "Active in",
              cell: ({ day }) => (day === sum ? <strong>{sum}</strong> : day),
              fixed: true,
            },
            ...lines.map((line, i) => ({
              name: line.label,
              cell: ({ values }: { values: number[] }) => numberText(values[i] ?? 0),
              number: true,
            })),
          ]}
        />
      </details>
    </>
  );
}

/** "visitors" as "Visitors". */
const titled = (key: string) => key.slice(0, 1).toUpperCase() + key.slice(1);

function FiguresView({ figures }: { figures: Figure[] }) {
  const shown = (value: number | null, { kind }: Figure) => {
    if (value === null) return "";
    if (kind === "duration_s") return durationText(value);
    return kind === "percentage" ? percentText(value, 100) : numberText(value);
  };
  return (
    <Table
      caption="The figures of the site"
      rows={figures}
      id={({ key }) => key}
      columns={[
        { name: "Figure", cell: ({ key }) => titled(key), fixed: true },
        { name: "Value", cell: (one) => shown(one.value, one), number: true },
        { name: "Before", cell: (one) => shown(one.previous, one), number: true },
      ]}
    />
  );
}

function FunnelView({ funnels }: { funnels: FunnelStep[][] }) {
  return (
    <>
      {funnels.map((steps, i) => (
        <OneFunnel key={i} steps={steps} />
      ))}
    </>
  );
}

function OneFunnel({ steps }: { steps: FunnelStep[] }) {
  const first = steps[0]?.count ?? 0;
  const nameOf = (step: FunnelStep) => step.custom_name ?? step.name ?? "Any event";
  const before = (step: FunnelStep) => steps[step.order - 1]?.count ?? step.count;
  const value = steps[0]?.breakdown_value;
  return (
    <div class="funnel">
      {value !== undefined && <h3>{Array.isArray(value) ? value.join(" · ") : String(value)}</h3>}
      <ul class="bars" aria-hidden="true">
        {steps.map((step) => (
          <li key={step.order}>
            {step.order + 1}. {nameOf(step)} · {numberText(step.count)}
            <div class="track">
              <div class="bar" style={{ width: `${first === 0 ? 0 : (step.count / first) * 100}%` }} />
            </div>
          </li>
        ))}
      </ul>
      <Table
        caption="The steps of the funnel"
        rows={steps}
        id={(step) => step.order}
        columns={[
          { name: "Step", cell: (step) => `${step.order + 1}. ${nameOf(step)}` },
          { name: "Persons", cell: (step) => numberText(step.count), number: true },
          { name: "Of the first", cell: (step) => percentText(step.count, first), number: true },
          { name: "Of the step before", cell: (step) => percentText(step.count, before(step)), number: true },
          {
            name: "Median time",
            cell: ({ median_conversion_time: time }) => (time === null ? "–" : durationText(time)),
            number: true,
          },
        ]}
      />
    </div>
  );
}

function RetentionView({ cohorts }: { cohorts: Cohort[] }) {
  const longest = Math.max(...cohorts.map(({ values }) => values.length));
  const places = Array.from({ length: longest }, (_, i) => i);
  return (
    <div class="cohort scroll" tabIndex={0} role="group" aria-label="Retention">
      <table>
        <caption class="visually-hidden">Who came back, by when they were first seen</caption>
        <thead>
          <tr>
            <th scope="col">First seen</th>
            {places.map((i) => (
              <th key={i} scope="col" class="number">
                {cohorts[0]?.values[i]?.label ?? i}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map(({ date, values }) => (
            <tr key={date}>
              <th scope="row">{date.slice(0, 10)}</th>
              {places.map((i) => (
                <CohortCell key={i} count={values[i]?.count} first={values[0]?.count ?? 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CohortCell({ count, first }: { count: number | undefined; first: number }) {
  if (count === undefined) return <td class="cell" />;
  const share = first === 0 ? 0 : count / first;
  // At most 30 % of the accent, so that the text keeps its contrast on light and on dark.
  const strength = Math.round(share * 30);
  return (
    <td class="cell" style={{ background: `color-mix(in srgb, var(--accent) ${strength}%, transparent)` }}>
      {numberText(count)}
      <br />
      <small>{percentText(count, first)}</small>
    </td>
  );
}
