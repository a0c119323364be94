// Persons by the interval in which they did something, and how many of them came back.

import type { RetentionCohort } from "../../../query/result.ts";
import {
  countReturned,
  daySeconds,
  markUnfinished,
  trimCohorts,
  wallClockAt,
} from "../../../query/results/figures.ts";
import { cellPersons, useFigureHref } from "../actors/figures.tsx";
import { nowMs } from "../clock.ts";
import { useZone } from "../session/session.ts";
import { Chart } from "../ui/chart.tsx";
import type { Line } from "../ui/chart/series.ts";
import { dayText, numberText, percentText } from "../ui/format.ts";
import { FigureLink } from "../ui/parts.tsx";

interface RetentionProps {
  cohorts: RetentionCohort[];
  /** PostHog's name of the kind; undefined where it is not known. */
  retentionType: string | undefined;
  /** On a dashboard: the table is closed beneath the curve. */
  small: boolean;
  height: number;
}

/** For each kind, the head of its first column, and a sentence about what is counted. */
const kindsOfRetention: Readonly<Record<string, readonly [head: string, sentence: string]>> = {
  retention_first_time: ["First time in", "Persons who did it for the first time ever and came back."],
  retention_recurring: [
    "Active in",
    "Everyone who did it in an interval, the first time or not, and came back.",
  ],
};

export function RetentionView({ cohorts: all, retentionType = "", small, height }: RetentionProps) {
  const cohorts = trimCohorts(all);
  const [head, sentence] = kindsOfRetention[retentionType] ?? ["Interval", "Persons who came back."];
  const hrefOfFigure = useFigureHref();
  const now = wallClockAt(nowMs(), useZone());
  const isHourly = cohorts[0]?.label.startsWith("Hour") === true;
  const offsets = (all[0]?.values ?? []).map((_, i) => i);
  const rowsOfValue = cohorts.filter(
    ({ breakdown_value: value }) => value === all[0]?.breakdown_value,
  ).length;
  const { isOpen, isUnfinished } = markUnfinished(cohorts, now);
  const rates = cohorts.flatMap(({ values: [begun, ...later] }) =>
    later.map(({ count }) => count / Math.max(1, begun?.count ?? 0)),
  );
  const highest = Math.max(...rates, 0.01);
  const lines = drawCurves(cohorts, offsets.length, now);
  const hasCurve = lines[0]!.values.filter((value) => value !== null).length > 1;
  const names = offsets.slice(1).map((i) => all[0]?.values[i]?.label ?? String(i));
  return (
    <>
      {renderReturned(countReturned(cohorts, 1, now))}
      <p class="quiet">{sentence}</p>
      {hasCurve && (
        <Chart
          label={`Lines from ${names[0]} to ${names.at(-1)}: ${lines.map((line) => line.label).join(", ")}`}
          times={names.map((_, i) => i * daySeconds)}
          names={names}
          lines={lines}
          height={small ? height : curveHeight}
          isOfTimes={false}
          named
        />
      )}
      <details class="numbers" open={!small || !hasCurve}>
        <summary>Numbers</summary>
        <div class="cohort scroll" tabIndex={0} role="group" aria-label="Retention">
          <table>
            <caption class="visually-hidden">Retention</caption>
            <thead>
              <tr>
                <th scope="col">{head}</th>
                {offsets.map((i) => (
                  <th key={i} scope="col" class="number">
                    {all[0]?.values[i]?.label ?? i}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {cohorts.map(({ date, values, breakdown_value: value }, row) => {
                const begin = dayText(date.slice(0, isHourly ? 16 : 10));
                const name = value === undefined ? begin : `${value || "None"} · ${begin}`;
                const hrefAt = (column: number) =>
                  hrefOfFigure(
                    (query) =>
                      cellPersons(query, {
                        row: row % rowsOfValue,
                        column,
                        last: cohorts.at(-1)!.date,
                        value,
                      }),
                    `${head} ${name}, ${values[column]?.label ?? column}`,
                    values[column]?.count,
                  );
                return (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    {offsets.map((i) =>
                      renderCell(values[i]?.count, values[0]?.count, {
                        isUnfinished: isUnfinished(row, i),
                        href: hrefAt(i),
                        highest: i === 0 ? firstShade : highest,
                      }),
                    )}
                  </tr>
                );
              })}
            </tbody>
            <tfoot>{renderMeans(offsets.map((i) => countReturned(cohorts, i, now)))}</tfoot>
          </table>
        </div>
        {isOpen && <p class="quiet">Dashed: in progress.</p>}
      </details>
    </>
  );
}

/** Pixels of the curve above the table. */
const curveHeight = 180;

/** How many per cent came back after each interval, of all rows where it is over; with a breakdown of each value, too. */
function drawCurves(cohorts: readonly RetentionCohort[], count: number, now: number): Line[] {
  const draw = (label: string, rows: readonly RetentionCohort[]) => ({
    label,
    values: Array.from({ length: count - 1 }, (_, i) => {
      const { began, back } = countReturned(rows, i + 1, now);
      return began === 0 ? null : Math.round((back / began) * 1000) / 10;
    }),
  });
  const byValue = Map.groupBy(cohorts, ({ breakdown_value }) => breakdown_value);
  const others = byValue.size > 1 ? [...byValue] : [];
  return [
    draw("All rows, %", cohorts),
    ...others.map(([value, rows]) => draw(`${value || "None"}, %`, rows)),
  ];
}

/** The part of those who came back after each interval, of all rows where it is over. */
function renderMeans(means: readonly ReturnType<typeof countReturned>[]) {
  return (
    <tr>
      <th scope="row">All rows</th>
      {means.map(({ began, back }, i) => (
        <td key={i} class="cell">
          {began > 0 && <strong>{percentText(back, began)}</strong>}
        </td>
      ))}
    </tr>
  );
}

/** How many came back in the next interval, of all rows where that is over. */
function renderReturned({ began, back }: ReturnType<typeof countReturned>) {
  if (began === 0) return null;
  return (
    <div class="bold-numbers headline">
      <p>
        <span class="bold-number">{percentText(back, began)}</span>
        <span class="quiet">
          {numberText(back)} of {numberText(began)} came back in the next interval, all rows together
        </span>
      </p>
    </div>
  );
}

interface CellLooks {
  isUnfinished: boolean;
  href: string | undefined;
  /** The rate of the strongest shade. */
  highest: number;
}

/** The first column is everybody: it has a quiet shade. */
const firstShade = 5;

/** @param first the row's first count. */
function renderCell(count: number | undefined, first = 0, { isUnfinished, href, highest }: CellLooks) {
  if (count === undefined) return <td class="cell" />;
  const rate = first === 0 ? 0 : count / first;
  // At most 30 % of the accent, so that the text keeps its contrast on light and on dark.
  const strength = Math.round(Math.min(1, rate / highest) * 30);
  return (
    <td
      class={isUnfinished ? "cell unfinished" : "cell"}
      style={{ background: `color-mix(in srgb, var(--accent) ${strength}%, transparent)` }}
    >
      <FigureLink href={href}>{numberText(count)}</FigureLink>
      <br />
      <small>{percentText(count, first)}</small>
    </td>
  );
}
