// Persons by the interval in which they did something, and how many of them came back.

import type { RetentionCohort } from "../../../../query/result.ts";
import {
  countReturned,
  markUnfinished,
  trimCohorts,
  wallClockAt,
} from "../../../../query/results/figures.ts";
import { cellPersons, useFigureHref } from "../../actors/figures.tsx";
import { nowMs } from "../../clock.ts";
import { useZone } from "../../session/session.ts";
import { dayText, numberText, percentText } from "../../ui/format.ts";
import { shownValue } from "../results.ts";
import { findHighest, firstShade, renderCell } from "./retention_cell.tsx";
import { drawCurves, RetentionCurve } from "./retention_curve.tsx";

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
  const [first] = all;
  const letters = first?.label.startsWith("Hour") ? 16 : 10;
  const offsets = (first?.values ?? []).map((_, i) => i);
  const rowsOfValue = cohorts.filter((row) => row.breakdown_value === first?.breakdown_value).length;
  const { isOpen, isUnfinished } = markUnfinished(cohorts, now);
  const highest = findHighest(cohorts);
  const heads = offsets.map((i) => first?.values[i]?.label ?? String(i));
  const lines = drawCurves(cohorts, offsets.length, now);
  return (
    <>
      {renderReturned(countReturned(cohorts, 1, now))}
      <p class="quiet">{sentence}</p>
      {lines && <RetentionCurve names={heads.slice(1)} lines={lines} {...(small && { height })} />}
      <details class="numbers" open={!small || !lines}>
        <summary>Numbers</summary>
        <div class="cohort scroll" tabIndex={0} role="group" aria-label="Retention">
          <table>
            <caption class="visually-hidden">Retention</caption>
            <thead>
              <tr>
                <th scope="col">{head}</th>
                {heads.map((name) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {cohorts.map(({ date, values, breakdown_value: value }, row) => {
                const begin = dayText(date.slice(0, letters));
                const name = value === undefined ? begin : `${shownValue(value)} · ${begin}`;
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
